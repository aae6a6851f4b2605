"""The in/out test: number the nodes in depth-first order; a node's subtree is then an interval.

    v sees u   <=>   enter[u] <= enter[v] < leave[u]

where ``enter[v]`` is the node's number, siblings by slot, and ``leave[v] - enter[v]`` the size of its subtree. Two integers a
node decide what n bits a row decide elsewhere. Size: 2 n entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import Field

_ENTER = Field("intervals", "enter")
_LEAVE = Field("intervals", "leave")


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Tokens by node, and the interval of its subtree."""

    tokens: Any
    enter: Any
    leave: Any


def encode_intervals(tree: CandidateTree) -> Intervals:
    """The intervals of a tree."""
    enter, leave = subtree_intervals(tree)
    return Intervals(tree.tokens, enter, leave)


def subtree_intervals(tree: CandidateTree) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """``enter`` and ``leave`` of each node."""
    parents, sizes = tree.parents.tolist(), [1] * len(tree)
    for node in range(len(tree) - 1, 0, -1):
        sizes[parents[node]] += sizes[node]
    enter, free = [0] * len(tree), [1] * len(tree)  # free[v]: where the next child of v begins
    for node in range(1, len(tree)):
        parent = parents[node]
        enter[node] = free[parent]
        free[parent] += sizes[node]
        free[node] = enter[node] + 1
    first = np.array(enter, dtype=np.int64)
    return first, first + np.array(sizes, dtype=np.int64)


def sees(enter: Int[np.ndarray, " n"], leave: Int[np.ndarray, " n"]) -> Bool[np.ndarray, "n n"]:
    """The test for every pair: ``[v, u]`` is true where v sees u."""
    looking = enter[:, None]
    return (enter <= looking) & (looking < leave)


def decode_intervals(intervals: Intervals) -> CandidateTree:
    """The tree: a node's parent is the innermost interval around its own.

    Raises:
        InvalidEncoding: numbers that are no permutation, intervals that cross, or nodes stored before their parents.
    """
    tokens = _ENTER.named("tokens").integers(intervals.tokens, (None,))
    n = len(tokens)
    enter = _ENTER.integers(intervals.enter, (n,))
    leave = _LEAVE.integers(intervals.leave, (n,))
    _ENTER.check((enter >= 0) & (enter < n), enter, f"a number from 0 to {n - 1}")
    again = np.ones(n, dtype=np.bool_)
    again[np.unique(enter, return_index=True)[1]] = False
    _ENTER.check(~again, enter, "each number once")
    _LEAVE.check((leave > enter) & (leave <= n), leave, f"more than enter, and {n} at most")
    return _ENTER.tree(tokens, _parents_of(enter, leave))


def _parents_of(enter: Int[np.ndarray, " n"], leave: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    parents = np.full(len(enter), -1, dtype=np.int64)
    numbers, ends = enter.tolist(), leave.tolist()
    around: list[int] = []  # the intervals that are open, the innermost last
    for node in np.argsort(enter).tolist():
        while around and ends[around[-1]] <= numbers[node]:
            around.pop()
        if around:
            parents[node] = around[-1]
            if ends[node] > ends[around[-1]]:
                raise _LEAVE.error(
                    (node,),
                    f"is {ends[node]}; expected {ends[around[-1]]} at most, where node {around[-1]} around it ends",
                )
        around.append(node)
    return parents
