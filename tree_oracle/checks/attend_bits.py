"""Which one bit of the mask a wrong row of a balanced case tells of.

Law: with N and Z the weighted sum of values and the sum of weights over the keys that node v may see, the row in which bit j
alone is wrong is (N + w_j value_j) / (Z + w_j) where j leaks, and (N - w_j value_j) / (Z - w_j) where it is lost. Codes differ
in more than half of their coordinates, so that hardly two columns make the same row (``attend_balanced``).
"""

from __future__ import annotations

import numpy as np

from tree_oracle.checks.attended import SeenAttention


def wrong_bit(seen: SeenAttention, head: int, node: int) -> int | None:
    """The column whose bit alone, inverted, makes the row that was answered; None if there is none.

    It may be off by twice the room: what a wrong row holds is larger than what is due, and rounding with it.
    """
    group = seen.inputs.group(head)
    keys, values = seen.inputs.k[group].astype(np.float64), seen.inputs.v[group].astype(np.float64)
    weights = np.exp(keys @ seen.inputs.q[head, node].astype(np.float64) / np.sqrt(keys.shape[-1]))
    own = np.isin(np.arange(len(keys)), seen.own[node])
    step = np.where(own, -weights, weights)[:, None]
    total = weights[own].sum() + step
    made = weights[own] @ values[own] + step * values
    rows = np.divide(made, total, out=np.full_like(made, np.inf), where=np.abs(total) > weights.min() / 2)
    off = np.abs(rows - seen.out[head, node]).max(axis=-1)
    return int(off.argmin()) if off.min() <= 2 * seen.room else None
