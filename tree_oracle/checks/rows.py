"""When two rows are the same.

On an exact truth: bit for bit, after each row is shifted so that its maximum is 0 (a constant added to all logits changes
no probability and is no fault). Otherwise the largest difference must be within

    max(noise.allowed, 2 x error of the plain pass at this very history + noise.control)

The first is measured once, on a sample; errors have long tails, so a row that exceeds it is given what the plain pass itself
needs there. Rows that agree are evidence only where the noise has power: where a wrong
history may move a row by less, agreement is undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View
from tree_oracle.record import Finding, Status, TieRule, Truth, counted, row_gap

Row = Float[np.ndarray, " vocab"]
History = Sequence[int]


def same_row(seen: Row, true: Row, truth: Truth, history: History) -> bool:
    """Whether the rows agree as far as this truth can tell; ``history`` is that of the true row.

    Raises:
        NothingToJudge: as for ``within``.
    """
    return within(row_gap(seen, true), truth, history)


def within(gap: float, truth: Truth, history: History, *, rows: int = 1) -> bool:
    """Whether a difference of ``gap`` logits is no more than right rows of this history may show.

    ``rows``: how many rows may be off at once; two, where the order of two logits is what differs.

    Raises:
        NothingToJudge: undecided, because the plain pass itself is off by as much there as a wrong history would be. In a
            mixture of experts a rounding step may choose other experts.
    """
    if truth.exact:
        return gap == 0.0
    noise = truth.noise()
    if gap <= rows * noise.allowed:
        return True
    own = 2 * truth.error(history) + noise.control
    if gap > rows * own:
        return False
    if own >= noise.wrong_history > noise.allowed:
        raise NothingToJudge(
            Status.UNDECIDED,
            f"the plain pass is off by {truth.error(history):.3g} logits after {counted(len(history), 'token')}, "
            f"and a wrong token in the history may move a row by only {noise.wrong_history:.3g}",
        )
    return True


def has_power(truth: Truth) -> bool:
    """Whether rows that agree are evidence: a wrong history would have moved them by more than the noise."""
    return truth.exact or truth.noise().has_power


def need_power(truth: Truth) -> None:
    """Called where every row agrees, before that is taken for a pass.

    Raises:
        NothingToJudge: undecided, because wrong rows might agree as well.
    """
    if not has_power(truth):
        raise NothingToJudge(
            Status.UNDECIDED,
            f"the rows agree within the noise of this target, but that has no power: {truth.noise().powerless}",
        )


@dataclass(frozen=True, slots=True)
class Regret:
    """How an emitted token stands in the row that should have chosen it."""

    token: int
    best: int  # the one that the tie rule takes among the maxima
    gap: float  # largest logit minus the token's
    tie: bool  # bit-equal maxima, the token among them
    near: bool  # within twice what the row may be off by

    @property
    def legal(self) -> bool:
        """The token may be a right one."""
        return self.token == self.best or self.tie or self.near


def regret(token: int, row: Row, view: View, history: History) -> Regret:
    """Judge ``token`` by the row after ``history``, under the decoder's tie rule.

    A near tie needs two logits to swap places, each of which may be off: hence twice the room. Rows that were fed to the
    decoder are the same bits on both sides and leave no room.

    Raises:
        NothingToJudge: as for ``within``.
    """
    gap = float(row.max() - row[token])
    near = gap > 0.0 and view.case.rows is None and within(gap, view.truth, history, rows=2)
    maxima = np.flatnonzero(row == row.max())
    best = int(maxima[0] if view.tie_rule is TieRule.SMALLEST else maxima[-1])
    return Regret(token, best, gap, tie=gap == 0.0 and token != best, near=near)


def near_tie(found: Regret, round_: int, node: int) -> Finding:
    """The note that a token differs from the truth's within the noise: counted, never failed."""
    sentence = f"token {found.token} instead of {found.best}: a near tie, {found.gap:.3g} logits apart"
    return Finding(status=Status.PASSED, sentence=sentence, round=round_, node=node)
