"""What a node's score should be, and how far a right one may be off.

Error bound: a log-softmax over V entries computed in a precision with unit roundoff e from logits of size at most M is off by
no more than about e (V + 2 M + 4): the shift by the maximum and the final subtraction each cost e M, the V exponentials and
their sum cost e (V + 3) relative (N. Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2). Scores are read
as float32 at best, so e = 2^-24 is taken, doubled since a logit that is rounded moves both terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.rows import Row, within
from tree_oracle.record import ScoreKind, Truth

_FLOAT32_ROUNDOFF = 2.0**-24


def true_scores(rows: Float[np.ndarray, "n vocab"], token: int, kind: ScoreKind) -> Float[np.ndarray, " n"]:
    """The score that ``token`` would have under each row."""
    if kind is ScoreKind.LOGIT:
        return rows[:, token]
    high = rows.max(axis=1)
    logs = rows[:, token] - high - np.log(np.exp(rows - high[:, None]).sum(axis=1))
    return np.asarray(np.exp(logs) if kind is ScoreKind.PROBABILITY else logs)


def same_score(seen: float, true: float, row: Row, *, kind: ScoreKind, truth: Truth, history: Sequence[int]) -> bool:
    """Whether a score is the right one under ``row``, the row after ``history``, as far as this truth can tell.

    A right score may be off by the rounding of the softmax and by twice what its row is off by.

    Raises:
        NothingToJudge: the plain pass itself is off by too much there.
    """
    gap = score_distance(seen, true, kind)
    rounding = softmax_room(row)
    return gap <= rounding or within(gap - rounding if not truth.exact else gap, truth, history, rows=2)


def softmax_room(row: Row) -> float:
    """How far a right score of a right row may be off: see the first lines of this module."""
    largest = float(np.abs(row[np.isfinite(row)]).max(initial=0.0))
    return 2 * _FLOAT32_ROUNDOFF * (len(row) + 2 * largest + 4)


def score_distance(seen: float, true: float, kind: ScoreKind) -> float:
    """The difference in logits: probabilities are compared by their logarithms, so that small ones count too."""
    if np.isnan(seen):
        return float("inf")
    if kind is not ScoreKind.PROBABILITY:
        return 0.0 if seen == true else abs(seen - true)
    if seen <= 0.0:
        return 0.0 if true <= np.finfo(np.float32).tiny else float("inf")
    return abs(float(np.log(seen)) - float(np.log(true)))
