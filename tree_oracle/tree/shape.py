"""What follows from the parents alone: depth, children, ancestors, subtrees, prefix closure.

In canonical form a parent's slot is smaller than its child's, so one pass in slot order carries anything down the tree.
No function here calls itself: a chain of thousands of nodes is as good a tree as any.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.values import frozen


def depths_of(parents: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Edges between the root and each node; 0 for the root."""
    depths = [0] * len(parents)
    for node, parent in enumerate(parents.tolist()[1:], start=1):
        depths[node] = depths[parent] + 1
    return frozen(np.array(depths, dtype=np.int64))


def children_of(parents: Int[np.ndarray, " n"]) -> tuple[tuple[int, ...], ...]:
    """The children of each node in slot order, for any storage order."""
    children: list[list[int]] = [[] for _ in range(len(parents))]
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return tuple(map(tuple, children))


def ancestors_of(parents: Int[np.ndarray, " n"]) -> Bool[np.ndarray, "n n"]:
    """``[v, u]`` is true where u is an ancestor of v; no node is its own ancestor."""
    n = len(parents)
    ancestors = np.zeros((n, n), dtype=np.bool_)
    for node, parent in enumerate(parents.tolist()[1:], start=1):
        ancestors[node] = ancestors[parent]
        ancestors[node, parent] = True
    return frozen(ancestors)


def path_to(parents: Int[np.ndarray, " n"], node: int) -> tuple[int, ...]:
    """The nodes from the root down to ``node``, both included."""
    path = [node]
    while path[-1] != 0:
        path.append(int(parents[path[-1]]))
    return tuple(reversed(path))


def subtree_of(parents: Int[np.ndarray, " n"], top: int) -> tuple[int, ...]:
    """``top`` and all its descendants in slot order."""
    inside = {top}
    for node in range(top + 1, len(parents)):
        if int(parents[node]) in inside:
            inside.add(node)
    return tuple(sorted(inside))


def closure_of(parents: Int[np.ndarray, " n"], nodes: Iterable[int]) -> tuple[int, ...]:
    """The smallest prefix-closed set with these nodes, in slot order. The closure of nothing is nothing."""
    closed: set[int] = set()
    for node in nodes:
        while node >= 0 and node not in closed:
            closed.add(node)
            node = int(parents[node])
    return tuple(sorted(closed))
