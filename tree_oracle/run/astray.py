"""Leading a second decoder astray, to learn whether the passes of plain decoding were those of a drafter.

A drafter that is the target itself, without a cache, makes the passes of plain decoding. So a new decoder is asked the same,
and every pass over the text up to one place answers with a wrong last row (``tree_oracle.decoder.tap_slip``):

    the text is as it was, and a pass scored the wrong token    that row was a draft's, and was verified
    the text is another one                                     that row decided

One place of the first kind is enough: a token behind a draft is decided by the pass that verified it, so other places are of
the second kind. Places at the beginning of the text are tried.

Where passes that score a draft were seen, and steps of several tokens are all that says that they decide something, the places
before the last token of a step are tried: if each of them is of the second kind, the drafts decide nothing.

The decoder under test itself is never led astray, since it may remember what it was answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tree_oracle.checks.drive import drive
from tree_oracle.checks.passes import Passes, Text, passes_of, texts_of
from tree_oracle.checks.view import by_request
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, Round, TreeOracleError
from tree_oracle.run.recurs import NewDecoder

_PLACES = 2  # the second one for a decoder that decodes its first token plainly
_STEPS = 4  # tokens of steps, of which one at least must not be decided alone
_ENOUGH = 8  # tokens of each text, behind which a wrong draft has long been put right


class Astray:
    """Second decoders, one for each wrong row."""

    def __init__(self, make: NewDecoder | None, vocab_size: int) -> None:
        """``make``: makes a decoder and the model that it runs; None: nobody can."""
        self._make, self._vocab_size = make, vocab_size

    def passes(self, case: Case, rounds: Sequence[Round]) -> Passes:
        """What passes that are those of plain decoding show after all; themselves where nobody can tell."""
        texts, found = texts_of(case, rounds), Passes.PLAIN
        for place in range(min(_PLACES, *(len(emitted) for _, emitted in texts))):
            tried = self._tried(case, texts, [(*prompt, *emitted[:place]) for prompt, emitted in texts])
            if tried is Passes.DRAFT:
                return tried
            found = tried or found
        return found

    def decides_alone(self, case: Case, rounds: Sequence[Round]) -> bool:
        """Whether the tokens of the first steps of several tokens are each decided by a pass over the text before it alone."""
        texts = texts_of(case, rounds)
        behind = [one for own in by_request(rounds) for one in _before_the_last(texts[own[0].request][0], own)][:_STEPS]
        return bool(behind) and all(self._tried(case, texts, [text]) is Passes.LED for text in behind)

    def _tried(self, case: Case, texts: list[Text], misled: list[tuple[int, ...]]) -> Passes | None:
        """What wrong rows over these texts show; None where they were not answered, or no second decoder gets through."""
        if self._make is None or case.limits is None or case.law is not None:  # what is drawn follows no best token
            return None
        short = msgspec.structs.replace(case.limits, max_new_tokens=min(case.limits.max_new_tokens, _ENOUGH))
        return _answer(self._make, msgspec.structs.replace(case, limits=short), self._vocab_size, texts, misled)


def _answer(
    make: NewDecoder, case: Case, vocab_size: int, texts: list[Text], misled: list[tuple[int, ...]]
) -> Passes | None:
    from tree_oracle.decoder.tap_count import counted  # resolved here, since they load torch
    from tree_oracle.decoder.tap_slip import is_over, slipped

    assert case.limits is not None
    due = [(prompt, emitted[: case.limits.max_new_tokens]) for prompt, emitted in texts]
    try:
        decoder, model = make()
        with counted(model) as calls, slipped(model, misled, case.limits.eos_ids) as slips:
            answered = drive(decoder, Seam.GENERATE, case, vocab_size)
    except TreeOracleError:
        return None
    if not slips.made or slips.made < sum(is_over(call, misled) for call in calls):
        return None
    if texts_of(case, answered) != due:
        return Passes.LED
    return Passes.DRAFT if passes_of(calls, due) is Passes.DRAFT else None


def _before_the_last(prompt: tuple[int, ...], rounds: Sequence[Round]) -> Iterator[tuple[int, ...]]:
    """The text before each token of a step but its last, as far as that is tried."""
    text = prompt
    for round_ in rounds:
        for place in range(len(round_.emitted) - 1):
            if len(text) + place < len(prompt) + _ENOUGH:
                yield (*text, *round_.emitted[:place])
        text = (*text, *round_.emitted)
