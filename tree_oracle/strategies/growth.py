"""How a tree grows node by node in canonical form, and which parents each family of shapes allows the next node.

``any`` reaches every tree. The others are families of their own because chance alone hardly ever meets a large one: of the
forty million ways to choose the parents of 12 nodes one gives a chain and one a star.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tree_oracle.tree import CandidateTree


@dataclass
class Growth:
    """A tree that is still growing, and the bounds that it must keep."""

    vocab_size: int
    max_depth: int | None
    distinct_siblings: bool
    tokens: list[int]
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    used: list[set[int]] = field(default_factory=lambda: [set()])  # tokens of each node's children

    def add(self, shape: str, pick: int, token: int) -> None:
        """Add a node below the open parent number ``pick``, or the last one; none where no parent is open."""
        parents = [node for node in SHAPES[shape](self) if self._open(node)] or self._all_open()
        if not parents:
            return
        parent = parents[min(pick, len(parents) - 1)]
        while self.distinct_siblings and token in self.used[parent]:
            token = (token + 1) % self.vocab_size
        self.used[parent].add(token)
        self.used.append(set())
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)

    def tree(self) -> CandidateTree:
        return CandidateTree(
            self.tokens, self.parents, vocab_size=self.vocab_size, distinct_siblings=self.distinct_siblings
        )

    def _open(self, node: int) -> bool:
        full = self.distinct_siblings and len(self.used[node]) == self.vocab_size
        return not full and (self.max_depth is None or self.depths[node] < self.max_depth)

    def _all_open(self) -> list[int]:
        return [node for node in range(len(self.parents)) if self._open(node)]


def _any(growth: Growth) -> list[int]:
    return list(range(len(growth.parents)))


def _chain(growth: Growth) -> list[int]:
    return [len(growth.parents) - 1]


def _star(_: Growth) -> list[int]:
    return [0]


def _level_by_level(growth: Growth) -> list[int]:
    # In this order parents never go down from one slot to the next.
    return list(range(max(growth.parents[-1], 0), len(growth.parents)))


def _branch_by_branch(growth: Growth) -> list[int]:
    # In this order the next node hangs from the path to the last one.
    path, node = [], len(growth.parents) - 1
    while node >= 0:
        path.append(node)
        node = growth.parents[node]
    return path[::-1]


SHAPES: dict[str, Callable[[Growth], list[int]]] = {
    "any": _any,
    "chain": _chain,
    "star": _star,
    "level by level": _level_by_level,
    "branch by branch": _branch_by_branch,
}


def capacity(vocab_size: int, max_depth: int | None, distinct_siblings: bool) -> int | None:
    """The most nodes that a tree within these bounds can have; None: any number."""
    if max_depth == 0:
        return 1
    if max_depth is None or not distinct_siblings:
        return None
    return sum(int(vocab_size**depth) for depth in range(max_depth + 1))
