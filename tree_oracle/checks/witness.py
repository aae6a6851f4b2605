"""Evidence that speculation ran.

A text can be right because no draft was ever verified. A round is evidence if it shows its tree or its accepted nodes, or
if it emits several tokens at once beside other rounds of its request. One lump of tokens is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tree_oracle.checks.displaced import accepted_in, branches, displaces, followed
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View
from tree_oracle.metrics import Coverage, MetricError, count_round, coverage, position_rates, why_ended
from tree_oracle.record import Ended, HandedOn, Round, Status, Witness, count_endings

NO_WITNESS = "no witness that speculation ran: no round shows a draft"


class NoWitness(NothingToJudge):
    """Nothing is wrong, and nothing in these rounds shows that a draft was verified."""

    def __init__(self) -> None:
        super().__init__(Status.NOT_OBSERVABLE, NO_WITNESS)


def witness_of(rounds: Sequence[Round]) -> Witness:
    """Rounds, drafted and accepted tokens, as far as the rounds show them."""
    count = Counter(round_.request for round_ in rounds)
    verify = [round_ for round_ in rounds if _shows_a_round(round_, alone=count[round_.request] == 1)]
    rates = position_rates([[round_ for round_ in verify if _can_be_counted(round_)]])
    requests = [[r for r in rounds if r.request == number] for number in sorted({r.request for r in rounds})]
    covered, built_on = _coverage(requests), [round_ for round_ in followed(rounds) if accepted_in(round_)]
    return Witness(
        rounds=len(verify),
        drafted=sum(len(r.tokens) - 1 if r.tokens is not None else max(len(r.emitted) - 1, 0) for r in verify),
        accepted=sum(len(r.accepted) if r.accepted is not None else max(len(r.emitted) - 1, 0) for r in verify),
        emitted=sum(len(r.emitted) for r in verify),
        reached=tuple(accepting for accepting, _ in rates),
        proposed=tuple(proposing for _, proposing in rates),
        known=tuple(depth.known for depth in covered),
        pooled=tuple(depth.pool for depth in covered),
        packed=tuple(depth.packed for depth in covered),
        ended=count_endings(_endings(verify)),
        handed_on=HandedOn(sum(map(branches, verify)), len(built_on), sum(map(displaces, built_on))),
    )


def _coverage(requests: Sequence[Sequence[Round]]) -> tuple[Coverage, ...]:
    try:
        return coverage(requests)
    except MetricError:
        return ()


def _endings(rounds: Sequence[Round]) -> Iterator[Ended]:
    """Why each round ended, as far as that can be told; a wrong decoder may show a path that ends for no reason."""
    for round_ in rounds:
        try:
            yield Ended(why_ended(round_).value, 1)
        except MetricError:
            continue


def refuse_plain(view: View) -> None:
    """Return if a draft was verified in these rounds; one that is handed over counts.

    Raises:
        NoWitness: a decoder that drafts by itself shows no node below a root.
    """
    if not view.case.trees and not any(len(round_.tokens or ()) > 1 for round_ in view.rounds):
        raise NoWitness


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
