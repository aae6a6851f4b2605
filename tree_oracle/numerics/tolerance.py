"""From measured errors to a tolerance, and what it is worth.

    allowed = 2 x largest error of the plain pass + largest change in a control without any tree

It is made from one half of the rows and tried on the other, so that nothing is judged by itself:

    feasible   no plain row of the other half exceeds it: what the ordinary pass cannot meet may not be asked of a tree pass
    power      every wrong history exceeds it; separation = smallest effect / allowed
    chance     with n control rows, about N / (n + 1) of N judged rows exceed the largest control by chance; above 1: undecided

A tree row above it is then held against the plain row of the same history, 2 x its own error + floor: errors have long tails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.numerics.cell import Effect, Tolerance, Verdict
from tree_oracle.record import UsageError, counted

Gaps = Float[np.ndarray, " k"]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The gaps behind a tolerance. ``tree`` and ``plain`` are of the same histories, row by row."""

    sequential: Gaps  # of the plain pass, on the half that the rule is made from
    control: Gaps  # changes in all controls
    tree: Gaps
    plain: Gaps
    effects: Mapping[str, Gaps]  # of wrong histories, by kind


def tolerance(found: Evidence) -> Tolerance:
    """The rule with its figures.

    Raises:
        UsageError: there are no plain rows, or not one plain row for each row of the tree.
    """
    if not len(found.sequential) or len(found.tree) != len(found.plain):
        raise UsageError(
            f"{counted(len(found.sequential), 'plain row')} to make a rule from, {counted(len(found.tree), 'tree row')} with "
            f"{len(found.plain)} plain ones; expected at least 1, and one for each"
        )
    sequential, floor = float(found.sequential.max()), float(found.control.max(initial=0.0))
    allowed = 2 * sequential + floor
    smallest = min((float(kind.min()) for kind in found.effects.values() if len(kind)), default=0.0)
    over = found.tree > allowed
    return Tolerance(
        allowed=allowed,
        sequential=sequential,
        floor=floor,
        controls=len(found.sequential),
        judged=len(found.tree),
        by_chance=len(found.tree) / (len(found.sequential) + 1),
        exceeded=int(over.sum()),
        unexplained=int((over & (found.tree > 2 * found.plain + floor)).sum()),
        plain_exceeded=int((found.plain > allowed).sum()),
        separation=smallest / allowed if allowed > 0 else 0.0,
    )


def effects(found: Mapping[str, Gaps], allowed: float) -> dict[str, Effect]:
    """What wrong histories of each kind do."""
    return {
        kind: Effect(
            n=len(moved),
            smallest=float(moved.min()),
            median=float(np.median(moved)),
            caught=int((moved > allowed).sum()),
        )
        for kind, moved in found.items()
        if len(moved)
    }


def verdict(found: Tolerance, moved: Mapping[str, Effect], *, exact: bool) -> tuple[Verdict, str]:
    """What the tolerance is worth, and the sentence that says so."""
    tried, caught = sum(one.n for one in moved.values()), sum(one.caught for one in moved.values())
    if exact and (found.allowed > 0 or found.exceeded):
        return (
            Verdict.EXCEEDED,
            f"{found.exceeded} of {counted(found.judged, 'row')} differ; on the exact model none may",
        )
    if found.by_chance > 1:
        return Verdict.UNDECIDED, (
            f"{counted(found.controls, 'control row')} for {found.judged} judged: about {found.by_chance:.2g} exceed by chance"
        )
    if found.plain_exceeded:
        return Verdict.INFEASIBLE, (
            f"the plain pass exceeds {found.allowed:.3g} logits in {found.plain_exceeded} of {counted(found.judged, 'row')}"
        )
    if found.unexplained:
        return Verdict.EXCEEDED, (
            f"{found.unexplained} of {counted(found.judged, 'tree row')} are off by more than {found.allowed:.3g} logits, and "
            f"by more than twice the plain pass's error there"
        )
    if caught < tried or not tried:
        return Verdict.OVERLAP, (
            f"noise and faults overlap: {found.allowed:.3g} logits are allowed, and {tried - caught} of {tried} wrong "
            f"histories move a row by no more"
        )
    if exact:
        return Verdict.EXACT, f"{counted(found.judged, 'row')} bit for bit; all {tried} wrong histories change theirs"
    return Verdict.USABLE, (
        f"{found.allowed:.3g} logits: the plain pass meets it in all of {counted(found.judged, 'row')}, and the least of "
        f"{tried} wrong histories is {found.separation:.3g} times as far off"
    )
