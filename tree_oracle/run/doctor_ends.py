"""The doctor lets a text end, by an end token and by a cap, and looks whether the rounds say so.

A round need not show ``end``. But a session that ends by itself and does not say so is then handed a tree that it has no
request for, and breaks down: the adapter left something out, and nothing is wrong with the decoder.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks.drive_session import refusal_after_an_end
from tree_oracle.checks.view import tells_rounds
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, DecoderError, Limits, TreeData, TreeOracleError, Truth
from tree_oracle.run.battery import Battery
from tree_oracle.run.examined import Examined
from tree_oracle.run.small_trees import PREFIX

_ENDS = 3  # tokens until a text ends: inside the second round of the driven trees
_UNSAID = "no round shows end where the text ends by {}: STOP-03 cannot be judged through this adapter"


def examine_ends(battery: Battery, seam: Seam) -> Iterator[Examined]:
    """One line for a seam through which texts end; none for the others."""
    if seam not in (Seam.SESSION, Seam.GENERATE):
        return
    silent: list[str] = []
    for how, case in ending_cases(battery.subject.truth, driven=seam is Seam.SESSION):
        try:
            shown = _shows_its_end(battery, seam, case)
        except TreeOracleError as error:
            wrong = not isinstance(error, DecoderError) or "show end in that round" in str(error)
            yield Examined(seam=seam.value, what="ends", good=False if wrong else None, sentence=f"{how}: {error}")
            return
        silent += [] if shown else [how]
    if silent:
        yield Examined(seam=seam.value, what="ends", good=None, sentence=_UNSAID.format(" and by ".join(silent)))
    else:
        yield Examined(seam=seam.value, what="ends", good=True, sentence="a text ends by an end token and by a cap")


def ending_cases(truth: Truth, *, driven: bool) -> Iterator[tuple[str, Case]]:
    """A text that ends after ``_ENDS`` tokens by an end token, and one by a cap; ``driven``: on trees, more than it takes."""
    text = truth.greedy(PREFIX, Limits(_ENDS)).tokens
    # One right token in each of the first two; every root but the first is what the text has come to by then.
    trees = tuple(TreeData((PREFIX[-1], token), (-1, 0)) for token in (text[0], text[-1], 0, 0, 0)) if driven else ()
    yield "an end token", Case(prefix=PREFIX, trees=trees, limits=Limits(2 * _ENDS, (text[-1],)))
    yield "a cap", Case(prefix=PREFIX, trees=trees, limits=Limits(_ENDS))


def _shows_its_end(battery: Battery, seam: Seam, case: Case) -> bool:
    """Whether a round that shows anything of itself says that the text ends; a text of bare tokens ends by ending.

    Raises:
        AdapterError, DecoderError, Unsupported: as for ``drive``; and what a session says that is asked to go on.
    """
    rounds = battery.driver.rounds(seam, case)
    if seam is Seam.GENERATE:
        return not tells_rounds(rounds) or any(round_.end is not None for round_ in rounds)
    said = refusal_after_an_end(battery.subject.decoder, case, battery.subject.truth.vocab_size)
    if said:
        raise DecoderError(said)
    return said is None
