"""What errors do to decisions: divergence of the laws, argmax flips against the margin, ties and near ties.

    KL(v)      = sum_t p_t (log p_t - log q_t)     p from the true row, q from the row seen; nats
    margin(v)  = largest true logit - second largest, 0 for a tie
    flip(v)    : the row seen has its maximum elsewhere than the true one

Moving every logit by at most e changes a difference of two by at most 2e, so no flip has a margin above twice the gap of its
row, and a row is a *near tie* while its margin is at most twice the error that is allowed.
"""

from __future__ import annotations

import msgspec
import numpy as np
from jaxtyping import Bool, Float
from scipy.special import log_softmax  # type: ignore[import-untyped, unused-ignore]

from tree_oracle.numerics.distance import Gaps, Rows


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a choice changes, over all rows of one pass."""

    rows: int
    flips: int
    widest_flip: float  # largest true margin at which the choice changed, 0 without a flip
    ties: int  # rows seen with several bit-equal maxima
    near_ties: int  # rows whose true margin is at most twice the allowed error: rounding alone may change the choice
    kl_mean: float
    kl_max: float


def divergences(seen: Rows, true: Rows) -> Gaps:
    """KL of the law seen from the true one, row by row, in nats; never below 0."""
    log_p, log_q = log_softmax(true, axis=1), log_softmax(seen, axis=1)
    return np.asarray(np.maximum((np.exp(log_p) * (log_p - log_q)).sum(axis=1), 0.0))


def margins(true: Rows) -> Gaps:
    """Largest minus second largest logit; infinite for a vocabulary of one."""
    if true.shape[1] < 2:
        return np.full(len(true), np.inf)
    second, first = np.partition(true, (-2, -1), axis=1)[:, -2:].T
    return np.asarray(first - second)


def flips(seen: Rows, true: Rows) -> Bool[np.ndarray, " k"]:
    """Where the true maxima, all of them, are not among those seen. Breaking a true tie the other way is no flip."""
    best = true == true.max(axis=1, keepdims=True)
    chosen = seen == seen.max(axis=1, keepdims=True)
    return np.asarray(~(best & chosen).any(axis=1))


def tied(rows: Rows) -> Bool[np.ndarray, " k"]:
    """Rows with several bit-equal maxima."""
    return np.asarray((rows == rows.max(axis=1, keepdims=True)).sum(axis=1) > 1)


def by_margin(
    changed: Bool[np.ndarray, " k"], room: Float[np.ndarray, " k"], bins: int = 8
) -> list[tuple[float, float, int, int]]:
    """Flips against the margin: (from, to, rows, flips) for bins with about equally many rows, the smallest margins first."""
    order = np.argsort(room, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    return [(float(room[part[0]]), float(room[part[-1]]), len(part), int(changed[part].sum())) for part in parts]
