"""Where a tree stands in one target pass: positions, visibility, and the row that judges each node.

For a prefix of L tokens, the root its last one, the pass has one row per node and L - 1 + n columns: first the cached
prefix tokens without the root, then the nodes by slot.

    positions[v]  = L - 1 + depth(v)                  depth, never slot
    visible[v]    = the whole prefix, the ancestors of v, v itself, and nothing else
    score_rows[v] = parent(v)                         row u is the law of the token *after* u
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import DTypeLike

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.order import checked_order, renamed
from tree_oracle.tree.values import Integers, frozen, whole_number


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The layout of one tree after one prefix; arrays read-only."""

    positions: Int[np.ndarray, " n"]
    visible: Bool[np.ndarray, "n columns"]
    score_rows: Int[np.ndarray, " n"]  # -1 for the root, which nothing in this pass judges; mask it before indexing


def lay_out(tree: CandidateTree, prefix_len: int) -> Layout:
    """The layout of ``tree`` after ``prefix_len`` committed tokens, the root among them.

    Raises:
        UsageError: ``prefix_len`` is no integer of at least 1.
    """
    n, cached = len(tree), whole_number("prefix_len", prefix_len, at_least=1) - 1
    visible = np.ones((n, cached + n), dtype=np.bool_)
    visible[:, cached:] = tree.ancestors | np.eye(n, dtype=np.bool_)
    return Layout(frozen(cached + tree.depths), frozen(visible), tree.parents)


def permuted(layout: Layout, order: Integers) -> Layout:
    """The layout of the same nodes stored as ``order[new_slot] = old_slot``; the cached columns stay where they are.

    Raises:
        UsageError: ``order`` is no permutation of the slots.
    """
    n = len(layout.positions)
    slots = checked_order(order, n)
    cached = layout.visible.shape[1] - n
    columns = np.concatenate([np.arange(cached), cached + slots])
    return Layout(
        frozen(layout.positions[slots]),
        frozen(layout.visible[np.ix_(slots, columns)]),
        frozen(renamed(layout.score_rows[slots], slots, n)),
    )


def additive(visible: Bool[np.ndarray, "n columns"], dtype: DTypeLike) -> Float[np.ndarray, "n columns"]:
    """0 where visible, the lowest finite value of ``dtype`` elsewhere. (-inf turns a row that sees nothing into NaN.)

    Raises:
        UsageError: ``visible`` is not boolean or ``dtype`` no floating type of numpy.
    """
    if visible.dtype != np.bool_:
        raise UsageError(f"visible has dtype {visible.dtype}; expected bool, true where a row attends")
    if not np.issubdtype(dtype, np.floating):
        raise UsageError(f"an additive mask cannot have dtype {np.dtype(dtype)}; expected a floating type")
    return np.where(visible, 0, np.finfo(dtype).min).astype(dtype)
