"""Evidence that speculation ran.

A text can be right because no draft was ever verified. A round is evidence if it shows its tree or its accepted nodes, or
if it emits several tokens at once beside other rounds. One lump of tokens is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from tree_oracle.metrics import MetricError, count_round, position_rates
from tree_oracle.record import Round, Witness


def witness_of(rounds: Sequence[Round]) -> Witness:
    """Rounds, drafted and accepted tokens, as far as the rounds show them."""
    verify = [round_ for round_ in rounds if _shows_a_round(round_, alone=len(rounds) == 1)]
    rates = position_rates([[round_ for round_ in verify if _can_be_counted(round_)]])
    return Witness(
        rounds=len(verify),
        drafted=sum(len(r.tokens) - 1 if r.tokens is not None else max(len(r.emitted) - 1, 0) for r in verify),
        accepted=sum(len(r.accepted) if r.accepted is not None else max(len(r.emitted) - 1, 0) for r in verify),
        emitted=sum(len(r.emitted) for r in verify),
        reached=tuple(accepting for accepting, _ in rates),
        proposed=tuple(proposing for _, proposing in rates),
    )


def _can_be_counted(round_: Round) -> bool:
    """A wrong decoder may show a path that is none, which other checks report."""
    try:
        count_round(round_)
    except MetricError:
        return False
    return True


def _shows_a_round(round_: Round, *, alone: bool) -> bool:
    if round_.tokens is not None or round_.accepted is not None:
        return True
    return not alone and len(round_.emitted) > 1
