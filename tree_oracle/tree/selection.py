"""Part of a tree, or all of it in another order: ``slots[new_slot] = old_slot``.

A selection that is prefix closed is a tree again, and nothing that its nodes could see is gone: every kept node has the
depth, the ancestors and so the history that it had.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.invalid import InvalidTree, TreeFault
from tree_oracle.tree.order import renamed
from tree_oracle.tree.validate import TreeArrays
from tree_oracle.tree.values import frozen


def kept_slots(parents: Int[np.ndarray, " n"], nodes: Set[int]) -> Int[np.ndarray, " m"]:
    """``nodes`` in slot order.

    Raises:
        InvalidTree: ``nodes`` is not prefix closed (ORPHAN) or empty (NO_ROOT).
    """
    if not nodes:
        raise InvalidTree(TreeFault.NO_ROOT, None, "no node is kept; expected at least the root")
    for node in sorted(nodes):
        if node != 0 and int(parents[node]) not in nodes:
            raise InvalidTree(TreeFault.ORPHAN, node, f"node {node} is kept without its parent {parents[node]}")
    return frozen(np.array(sorted(nodes), dtype=np.int64))


def selected(arrays: TreeArrays, slots: Int[np.ndarray, " m"]) -> TreeArrays:
    """The arrays of these slots alone, in this order, the parents renamed."""
    edges = arrays.edge_log_probs
    return TreeArrays(
        frozen(arrays.tokens[slots]),
        frozen(renamed(arrays.parents[slots], slots, len(arrays.parents))),
        None if edges is None else frozen(edges[slots]),
    )
