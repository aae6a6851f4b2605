"""Storage orders. An order is a permutation with ``order[new_slot] = old_slot``.

Canonical order: again and again take the smallest stored slot whose parent has been taken already, the root first. Of
all orders with every parent before its children this is the lexicographically smallest, so a tree that is in
canonical form already keeps its order, and any other is disturbed only where a child was stored before its parent.
"""

from __future__ import annotations

import heapq

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.invalid import InvalidTree
from tree_oracle.tree.shape import children_of
from tree_oracle.tree.validate import NO_PARENT
from tree_oracle.tree.values import Integers, frozen, integers


def canonical_order(parents: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The canonical order of a valid tree in any storage order."""
    children = children_of(parents)
    ready = [int((parents == NO_PARENT).argmax())]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for child in children[node]:
            heapq.heappush(ready, child)
    return frozen(np.array(order, dtype=np.int64))


def checked_order(order: Integers, n: int) -> Int[np.ndarray, " n"]:
    """The order as an array.

    Raises:
        UsageError: not a permutation of 0 to n - 1.
    """
    try:
        slots = integers("order", order)
    except InvalidTree as error:
        raise UsageError(error.detail) from error
    if not np.array_equal(np.sort(slots), np.arange(n)):
        raise UsageError(f"order {slots.tolist()} is no permutation of the slots 0 to {n - 1}")
    return slots


def renamed(slots: Int[np.ndarray, " m"], kept: Int[np.ndarray, " k"], n: int) -> Int[np.ndarray, " m"]:
    """The entries of ``slots`` under their new names, where ``kept[new_slot]`` is one of n old slots; -1 stays -1."""
    new_name = np.full(n + 1, NO_PARENT, dtype=np.int64)  # one more than n, so that -1 finds itself at the end
    new_name[kept] = np.arange(len(kept))
    found: Int[np.ndarray, " m"] = new_name[slots]
    return found
