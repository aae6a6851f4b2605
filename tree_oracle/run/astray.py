"""Leading second decoders astray, to learn by which passes of the target a text is decided.

A drafter that is the target itself, without a cache, makes the passes of plain decoding; and a pass that scores a draft may be
made while nobody looks at what it answers. So a new decoder is asked the same, on a model that answers some passes with wrong
rows (``tree_oracle.decoder.tap_slip``):

    wrong rows in every pass that scores a draft       the text is another one    a draft is verified
                                                       it is as it was            those passes do not decide it
    a wrong last row in a pass over the text up to     the text is another one    that row decided
    one place                                          it is as it was            a draft's, if the wrong token is verified

Whoever verifies is led astray by the first of these: the row of the root says another token, whatever the drafts are. One that
decodes plainly behind a refused draft is not, but makes other passes then. Where text and passes stay the same, the places
before tokens are tried that are claimed to be accepted: if each of them decides, plain decoding does, and the drafts are for
show, whatever is told of them. If not, whoever tells something else heeded them; and where rounds are the same too, a wrong
draft that was put right is believed if wrong rows in the passes that score it change the text. Where nothing changes anything,
something decides that was not seen. A decoder that breaks down on wrong rows alone has looked at them, and nobody can say what
for: its own word is left.

The decoder under test itself is never led astray, since it may remember what it was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from msgspec.structs import replace

from tree_oracle.checks.drive import drive
from tree_oracle.checks.passes import Passes, Plainly, Text, passes_of, texts_of
from tree_oracle.checks.view import by_request
from tree_oracle.decoder import Seam
from tree_oracle.record import Call, Case, DecoderError, Round, TreeOracleError
from tree_oracle.run.recurs import NewDecoder

_PLACES = 2  # the second one for a decoder that decodes its first token plainly
_STEPS = 4  # tokens of steps, of which one at least must not be decided alone
_ENOUGH = 8  # tokens of each text, behind which a wrong draft has long been put right

Picks = Callable[[list[Text]], Callable[[Call], bool]]  # what tells, call after call, which passes answer wrongly


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a decoder that was led astray answered."""

    strays: bool  # another text
    rounds: tuple[Round, ...]
    calls: list[Call]
    drafted: bool  # a pass scored what was no part of the text
    broke: bool = False  # it broke down instead, and the rest says nothing

    @property
    def told(self) -> list[tuple[object, ...]]:
        """What the decoder says of its rounds."""
        return [(r.emitted, r.tokens, r.parents, r.accepted, r.work) for r in self.rounds]


class Astray:
    """Second decoders, one for each trial."""

    def __init__(self, make: NewDecoder | None, vocab_size: int) -> None:
        """``make``: makes a decoder and the model that it runs; None: nobody can."""
        self._make, self._vocab_size = make, vocab_size

    @staticmethod
    def can_tell(case: Case) -> bool:
        """Whether a wrong row must change the text: not where it is drawn, or where other things choose among its tokens."""
        return case.limits is not None and case.law is None and case.processors is None

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
        behind = list(islice(_accepted(texts, rounds), _STEPS))
        return bool(behind) and all(self._tried(case, texts, [text]) is Passes.LED for text in behind)

    def heeded(self, case: Case, rounds: Sequence[Round]) -> Passes | None:
        """Whether passes that score a draft are heeded, where some were seen; None where nobody can tell."""
        texts = texts_of(case, rounds)
        wrong = self._ask(case, texts, _drafts, every_row=True)
        if wrong is None or wrong.strays:
            return None if wrong is None else Passes.DRAFT
        usual = self._ask(case, texts, _usual)
        if usual is None or usual.broke or wrong.broke:
            return Passes.UNHEEDED if usual and not usual.broke else None
        if usual.calls != wrong.calls:
            return Passes.DRAFT
        if self.decides_alone(case, rounds):
            return Passes.IGNORED
        if usual.told != wrong.told:
            return Passes.DRAFT
        behind = islice(_accepted(texts, rounds), _STEPS)
        drafted = any(self._tried(case, texts, [text]) is Passes.DRAFT for text in behind)
        return Passes.DRAFT if drafted else Passes.UNHEEDED

    def _tried(self, case: Case, texts: list[Text], misled: list[tuple[int, ...]]) -> Passes | None:
        """What wrong rows over these texts show; None where they were not answered, or no second decoder gets through."""
        from tree_oracle.decoder.tap_slip import is_over  # resolved here, since it loads torch

        answer = self._ask(case, texts, lambda due: partial(is_over, texts=misled))
        if answer is None or answer.broke or answer.strays:
            return Passes.LED if answer and answer.strays else None
        if not answer.drafted:
            return None

        def either(due: list[Text]) -> Callable[[Call], bool]:
            drafts = _drafts(due)
            return lambda call: bool(drafts(call) | is_over(call, misled))

        wrong = self._ask(case, texts, either, every_row=True)
        if wrong is None or wrong.broke:
            return None
        return Passes.DRAFT if wrong.strays else Passes.UNHEEDED

    def _ask(self, case: Case, texts: list[Text], picks: Picks, *, every_row: bool = False) -> _Answer | None:
        """What a second decoder answers; None where none gets through, or a pass was not answered wrongly as it should be."""
        from tree_oracle.decoder.tap_count import counted  # resolved here, since they load torch
        from tree_oracle.decoder.tap_slip import slipped

        if self._make is None or case.limits is None or not self.can_tell(case):
            return None
        short = replace(case.limits, max_new_tokens=min(case.limits.max_new_tokens, _ENOUGH))
        due = [(prompt, emitted[: short.max_new_tokens]) for prompt, emitted in texts]
        try:
            decoder, model = self._make()
            with counted(model) as calls, slipped(model, picks(due), short.eos_ids, every_row=every_row) as slips:
                rounds = drive(decoder, Seam.GENERATE, replace(case, limits=short), self._vocab_size)
        except DecoderError:
            return _Answer(strays=False, rounds=(), calls=[], drafted=False, broke=True)
        except TreeOracleError:
            return None
        picked = sum(map(picks(due), calls))
        if slips.made != picked or (picks is not _usual and not picked):
            return None
        drafted = passes_of(calls, due) in (Passes.DRAFT, Passes.TWICE)
        return _Answer(texts_of(case, rounds) != due, rounds, list(calls), drafted)


def _drafts(due: list[Text]) -> Callable[[Call], bool]:
    """Every pass that scores a draft."""
    return Plainly(due).scores_a_draft


def _usual(due: list[Text]) -> Callable[[Call], bool]:
    """No pass: how it answers where it is not led astray."""
    return lambda call: False


def _accepted(texts: Sequence[Text], rounds: Sequence[Round]) -> Iterator[tuple[int, ...]]:
    """The text before each token that is claimed to be accepted, as far as that is tried; if there is none, before each."""
    every = [one for own in by_request(rounds) for one in _before(texts[own[0].request][0], own)]
    accepted = [text for text, last in every if not last]
    yield from accepted or [text for text, _ in every]


def _before(prompt: tuple[int, ...], rounds: Sequence[Round]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """The text before each token, as far as that is tried, and whether that token is the last of its step."""
    text = prompt
    for round_ in rounds:
        for place in range(len(round_.emitted)):
            if len(text) + place < len(prompt) + _ENOUGH:
                yield (*text, *round_.emitted[:place]), place == len(round_.emitted) - 1
        text = (*text, *round_.emitted)
