"""Sequoia's static trees: the shape of a given size that accepts most, by dynamic programming (Chen et al., arXiv 2402.12374).

Given p_b, the chance that the b-th child of a node is the one accepted, whatever its token, the expected length of the
accepted path, the root counted as 1, is the sum over all nodes of the product of p along their ranks. Let T(m, l, b) be its
largest value over trees of m nodes (the root included), at most l levels (the root's included), whose root has b children:

    T(1, l, 0) = 1
    T(m, l, 1) = 1 + p_1 * max_b' T(m - 1, l - 1, b')
    T(m, l, b) = max over 1 <= y < m of  T(y, l, b - 1) + p_b * max_b' T(m - y, l - 1, b')

Of equal values the smallest y and the smallest b are taken. Which of several best *shapes* is built is so decided; the shape
is a ``RankTree``, and its tokens are drawn without replacement for sampled targets, or the most probable ones.

Budget: the authors' m counts the root and l counts its level: m - 1 nodes and l - 1 levels here. p is measured on the pair of
models at hand; the default only illustrates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.draws import SEED_0, Draw
from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.rank_fit import Ranks
from tree_oracle.construct.rank_tree import RankTree
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number

_IMPOSSIBLE = -np.inf
_MOST_CELLS = 2**22  # half a minute; 768 nodes of up to 32 children at 20 levels take an eighth of it


class Programme:
    """The tables, up to ``nodes`` nodes and ``levels`` levels, the root and its level counted.

    Raises:
        UsageError: a bound is no integer of at least 1, no chances, or one that is no probability.
    """

    def __init__(self, acceptance: Sequence[float], nodes: int, levels: int) -> None:
        self._nodes = whole_number("nodes", nodes, at_least=1)
        self._levels = whole_number("levels", levels, at_least=1)
        self._chances = np.array(acceptance, dtype=np.float64)
        if not len(acceptance) or not ((self._chances >= 0) & (self._chances <= 1)).all():
            raise UsageError(f"acceptance is {tuple(acceptance)}; expected at least one probability")
        shape = self._levels + 1, len(acceptance) + 1, self._nodes + 1
        if math.prod(shape) > _MOST_CELLS:
            raise UsageError(
                f"{nodes} nodes, {levels} levels and {len(acceptance)} chances; expected tables of at most {_MOST_CELLS} cells"
            )
        self._table: Float[np.ndarray, "levels children nodes"] = np.full(shape, _IMPOSSIBLE)
        self._split: Int[np.ndarray, "levels children nodes"] = np.zeros(shape, dtype=np.int64)
        for level in range(1, self._levels + 1):
            self._fill(level)

    def value(self, nodes: int, levels: int) -> float:
        """The expected length, the root counted as 1, of the best tree; -inf if there is no tree of this size."""
        self._check(nodes, levels)
        return float(self._table[levels, :, nodes].max())

    def choices(self, nodes: int, levels: int) -> tuple[Ranks, ...]:
        """The rank paths of the best tree, by level.

        Raises:
            UsageError: outside the tables, a tree of one node, or no tree of this size has so few levels and children.
        """
        self._check(nodes, levels)
        if nodes == 1 or self.value(nodes, levels) == _IMPOSSIBLE:
            raise UsageError(f"no tree of {nodes} nodes and {levels} levels below {len(self._chances)} chances")
        found: list[Ranks] = []
        todo: list[tuple[Ranks, int, int]] = [((), nodes, levels)]
        while todo:
            ranks, size, level = todo.pop()
            for rank, part in enumerate(self._parts(size, level)):
                found.append((*ranks, rank))
                todo.append(((*ranks, rank), part, level - 1))
        return tuple(sorted(found, key=lambda ranks: (len(ranks), ranks)))

    def cheapest(self, draft_cost: float, verify_cost: Callable[[int], float]) -> tuple[int, int]:
        """Nodes and levels that minimise (levels * draft_cost + verify_cost(nodes)) / T, the first of equal ones."""
        sizes = [(nodes, levels) for nodes in range(1, self._nodes + 1) for levels in range(1, self._levels + 1)]
        possible = [size for size in sizes if self.value(*size) > _IMPOSSIBLE]
        return min(possible, key=lambda size: (size[1] * draft_cost + verify_cost(size[0])) / self.value(*size))

    def _fill(self, level: int) -> None:
        self._table[level, 0, 1] = 1
        best = self._table[level - 1].max(axis=0)  # by the size of one child's subtree
        for children, chance in enumerate(self._chances.tolist(), start=1):
            gain = np.full_like(best, _IMPOSSIBLE)
            np.multiply(chance, best, out=gain, where=best > _IMPOSSIBLE)  # 0 * inf is no number
            before = self._table[level, children - 1]
            for nodes in range(2, self._nodes + 1):
                # Entry y - 1: the root and the children before have y nodes, the last child's subtree has nodes - y.
                values = before[1:nodes] + gain[nodes - 1 : 0 : -1]
                where = int(values.argmax())
                self._table[level, children, nodes] = values[where]
                self._split[level, children, nodes] = where + 1

    def _parts(self, nodes: int, level: int) -> list[int]:
        """The sizes of the subtrees below the root of the best tree, by rank."""
        children, parts = int(self._table[level, :, nodes].argmax()), list[int]()
        while children:
            rest = int(self._split[level, children, nodes])
            parts.append(nodes - rest)
            nodes, children = rest, children - 1
        return parts[::-1]

    def _check(self, nodes: int, levels: int) -> None:
        if not 1 <= nodes <= self._nodes or not 1 <= levels <= self._levels:
            raise UsageError(
                f"{nodes} nodes and {levels} levels; expected 1 to {self._nodes} and 1 to {self._levels}, the root counted"
            )


@dataclass(frozen=True)
class Sequoia:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1, no chances, one that is no probability, or no such tree.
    """

    acceptance: tuple[float, ...] = (0.5, 0.25, 0.125, 0.0625)  # p_1, p_2, ...
    budget: int = 63
    depth: int = 8  # the most levels
    draw: Draw | None = SEED_0  # None: the most probable tokens, for greedy targets

    def __post_init__(self) -> None:
        for name in ("budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)
        _ = self.shape

    @cached_property
    def shape(self) -> RankTree:
        """The tree of ranks: the grow map."""
        size = self.budget + 1, min(self.depth, self.budget) + 1  # no tree has more levels than nodes
        return RankTree(Programme(self.acceptance, *size).choices(*size), self.draw)

    @property
    def branching(self) -> int:
        return len(self.acceptance)

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree, level by level.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        return self.shape.build(draft, root)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether the tree has this policy's shape and tokens; see ``RankTree.admits``."""
        return self.shape.admits(tree, draft, root)


PUBLISHED = Published(
    name="sequoia",
    title="Sequoia: static trees by dynamic programming",
    source="Infini-AI-Lab/Sequoia, tree_search.py and Tree/SpecTree.py",
    budget="m counts the root and l its level",
    law=DraftLaw.WITHOUT_REPLACEMENT,
    sees=Sight.PATH,
    scope="autoregressive draft models; sampled targets by draws without replacement, greedy ones by the best tokens",
    closed_under_ties=True,
    make=Sequoia,
    own=("acceptance", "draw"),
)
