"""When two rows are the same.

On an exact truth: bit for bit, after each row is shifted so that its maximum is 0 (a constant added to all logits changes
no probability and is no fault). Otherwise: the largest difference is at most ``noise.allowed``, as measured. Rows that agree
are evidence only where that noise has power: where a wrong history may move a row by less, agreement is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View
from tree_oracle.record import Finding, Status, TieRule, Truth

Row = Float[np.ndarray, " vocab"]


def distance(seen: Row, true: Row) -> float:
    """Largest difference of two rows up to a constant shift; infinite where one is NaN or infinite and the other is not."""
    with np.errstate(invalid="ignore"):
        mine, theirs = seen - seen.max(), true - true.max()
        gap = np.abs(mine - theirs)
    gap[mine == theirs] = 0.0  # equal infinities subtract to NaN
    return float(np.nan_to_num(gap, nan=np.inf).max())


def same_row(seen: Row, true: Row, truth: Truth) -> bool:
    """Whether the rows agree as far as this truth can tell."""
    return distance(seen, true) <= (0.0 if truth.exact else truth.noise().allowed)


def has_power(truth: Truth) -> bool:
    """Whether rows that agree are evidence: a wrong history would have moved them by more than the noise."""
    return truth.exact or truth.noise().has_power


def need_power(truth: Truth) -> None:
    """Called where every row agrees, before that is taken for a pass.

    Raises:
        NothingToJudge: undecided, because wrong rows might agree as well.
    """
    if not has_power(truth):
        noise = truth.noise()
        raise NothingToJudge(
            Status.UNDECIDED,
            f"the rows agree within the noise of this target, but that has no power: {noise.allowed:.3g} logits are allowed "
            f"and one wrong token in the history moved a row by only {noise.wrong_history:.3g}",
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


def regret(token: int, row: Row, view: View) -> Regret:
    """Judge ``token`` by the row, under the decoder's tie rule.

    A near tie needs two rows to swap places, each of which may be off by ``allowed``: hence twice. Rows that were fed to the
    decoder are the same bits on both sides and leave no room.
    """
    gap = float(row.max() - row[token])
    room = 0.0 if view.truth.exact or view.case.rows is not None else 2 * view.truth.noise().allowed
    maxima = np.flatnonzero(row == row.max())
    best = int(maxima[0] if view.tie_rule is TieRule.SMALLEST else maxima[-1])
    return Regret(token, best, gap, tie=gap == 0.0 and token != best, near=0.0 < gap <= room)


def near_tie(found: Regret, round_: int, node: int) -> Finding:
    """The note that a token differs from the truth's within the noise: counted, never failed."""
    sentence = f"token {found.token} instead of {found.best}: a near tie, {found.gap:.3g} logits apart"
    return Finding(status=Status.PASSED, sentence=sentence, round=round_, node=node)
