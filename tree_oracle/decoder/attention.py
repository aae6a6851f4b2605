"""The reference attention operator: every node over the keys that its row of the mask shows.

Law: with S(v) the columns that node v may see (the cached prefix, its ancestors, itself; within the window if there is one, by
position), ``out[h, v] = sum over j in S(v) of softmax over S(v) of (q[h, v] . k[g, j] / sqrt(width)) * v[g, j]``, where query
head h reads group g = h // (heads / groups).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.tree import CandidateTree, lay_out

Heads: TypeAlias = Float[np.ndarray, "heads n width"]
Visible: TypeAlias = Bool[np.ndarray, "n columns"]


@dataclass(frozen=True, slots=True)
class AttentionLayout:
    """The layout of one tree, with the window that its layer has."""

    positions: Int[np.ndarray, " n"]
    visible: Visible  # True where the row sees the column, the window taken into account
    window: int = 0  # so many positions, the row's own among them; 0: no window


# (q, k, v, tree, prefix_len, layout): the outputs.
Attend = Callable[[Heads, Heads, Heads, CandidateTree, int, AttentionLayout], Heads]


def attention_layout(tree: CandidateTree, prefix_len: int, window: int = 0) -> AttentionLayout:
    """The layout of ``tree`` after ``prefix_len`` committed tokens; a window hides columns by position, not by slot."""
    layout = lay_out(tree, prefix_len)
    columns = np.concatenate([np.arange(prefix_len - 1), layout.positions])
    visible = layout.visible
    if window:
        visible = visible & (layout.positions[:, None] - columns[None, :] < window)
    return AttentionLayout(layout.positions, visible, window)


def attend(q: Heads, k: Heads, v: Heads, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Heads:
    """Attention under the mask of ``layout``."""
    return masked(q, k, v, layout.visible)


def masked(q: Heads, k: Heads, v: Heads, visible: Visible) -> Heads:
    """Attention in float32 over the visible columns; a row that sees nothing averages over all of them.

    That is what a mask of large negative numbers gives, and real kernels do.
    """
    k, v = (np.repeat(rows, len(q) // len(rows), axis=0) for rows in (k, v))
    scores = np.where(visible, q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[-1])), np.finfo(np.float32).min)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights @ v / weights.sum(axis=-1, keepdims=True))
