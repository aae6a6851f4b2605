"""Level order: by depth, and within a depth the children of one parent together, parents in their own order.

Encodings that name a node by the ranks on its path (choices, Medusa buffers, pools) store this order and no other. Sorting the
rank paths by (length, ranks) gives the same.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import first_false
from tree_oracle.tree.values import frozen


def in_level_order(tree: CandidateTree) -> tuple[CandidateTree, Int[np.ndarray, " n"]]:
    """The tree stored level by level, and ``order`` with ``order[new_slot] = old_slot``. Siblings keep their order."""
    order = [0]
    for node in order:  # grows while it is read: a queue
        order.extend(tree.children(node))
    slots = frozen(np.array(order, dtype=np.int64))
    return CandidateTree(*tree.stored(slots)), slots


def check_level_order(tree: CandidateTree) -> None:
    """Refuse a tree that is stored in another order.

    Raises:
        UsageError: it is.
    """
    # Parents that never go down put siblings together, parents in order, and so levels one after another.
    wrong = first_false(np.diff(tree.parents) >= 0)
    if wrong is not None:
        node = wrong[0] + 1
        raise UsageError(
            f"node {node}, below node {tree.parents[node]}, is stored after one below node {tree.parents[node - 1]};"
            " expected level order (in_level_order renumbers)"
        )


def ranks_of(tree: CandidateTree) -> Int[np.ndarray, " n"]:
    """The place of each node among its siblings in level order, from 0; the root has 0."""
    nodes = np.arange(len(tree))
    first = np.searchsorted(tree.parents, tree.parents, side="left")
    ranks: Int[np.ndarray, " n"] = nodes - first
    return ranks
