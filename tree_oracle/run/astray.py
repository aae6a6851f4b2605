"""Leading a second decoder astray, to learn whether the passes of plain decoding were those of a drafter.

A drafter that is the target itself, without a cache, makes the passes of plain decoding. So a new decoder is asked the same,
and every pass over the text up to one place answers with a wrong last row (``tree_oracle.decoder.tap_slip``):

    the text is as it was, and a pass scored the wrong token    that row was a draft's, and was verified
    the text is another one                                     that row decided

One place of the first kind is enough: a token behind a draft is decided by the pass that verified it, so other places are of
the second kind. Places at the beginning of the text are tried. The decoder under test itself is never led astray, since it may
remember what it was answered.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tree_oracle.checks.drive import drive
from tree_oracle.checks.passes import Passes, Text, passes_of, texts_of
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, Round, TreeOracleError
from tree_oracle.run.recurs import NewDecoder

_PLACES = 2  # the second one for a decoder that decodes its first token plainly
_ENOUGH = 8  # tokens of each text, behind which a wrong draft has long been put right


class Astray:
    """Second decoders, one for each wrong row."""

    def __init__(self, make: NewDecoder | None, vocab_size: int) -> None:
        """``make``: makes a decoder and the model that it runs; None: nobody can."""
        self._make, self._vocab_size = make, vocab_size

    def passes(self, case: Case, rounds: Sequence[Round]) -> Passes:
        """What passes that are those of plain decoding show after all; themselves where nobody can tell."""
        found = Passes.PLAIN
        if self._make is None or case.limits is None or case.law is not None:  # what is drawn follows no best token
            return found
        short = msgspec.structs.replace(case.limits, max_new_tokens=min(case.limits.max_new_tokens, _ENOUGH))
        case, texts = msgspec.structs.replace(case, limits=short), [(p, e[:_ENOUGH]) for p, e in texts_of(case, rounds)]
        for place in range(min(_PLACES, *(len(emitted) for _, emitted in texts))):
            tried = self._tried(self._make, case, texts, place)
            if tried is Passes.DRAFT:
                return tried
            found = tried or found
        return found

    def _tried(self, make: NewDecoder, case: Case, texts: list[Text], place: int) -> Passes | None:
        """What one wrong row shows; None where it was not answered, or the decoder breaks down."""
        from tree_oracle.decoder.tap_count import counted  # resolved here, since they load torch
        from tree_oracle.decoder.tap_slip import is_over, slipped

        assert case.limits is not None
        misled = [(*prompt, *emitted[:place]) for prompt, emitted in texts]
        try:
            decoder, model = make()
            with counted(model) as calls, slipped(model, misled, case.limits.eos_ids) as slips:
                answered = drive(decoder, Seam.GENERATE, case, self._vocab_size)
        except TreeOracleError:
            return None
        if not slips.made or slips.made < sum(is_over(call, misled) for call in calls):
            return None
        if texts_of(case, answered) != texts:
            return Passes.LED
        return Passes.DRAFT if passes_of(calls, texts) is Passes.DRAFT else None
