"""Trees that grow one node at a time, each time by the best candidate whose parent is in the tree.

Entries of the queue are (-score, ranks of the path): the best score first, of equal ones the lexicographically smaller path
of ranks. With a node, its next sibling and its own first child enter, so the queue never holds more than one entry for each
node of the tree. Weights are at most 0: nothing that enters later scores better than what was taken, so that nodes are taken
by descending score and the first N of them are N best prefixes of all (Ringel and Romano, Proposition 2). The tree is prefix
closed whatever the ties, since a child enters after its parent was taken.

The tie rule is open to others. A tree is admissible exactly when its children are proposals, no candidate below a node of it
scores better than its worst node, and it ends where the policy ends. Sums of log-probabilities are compared as they are; where
weights or an end are computed in other ways, the policy says what float64 cannot tell apart, and either way is admitted
(``tree_oracle.construct.rounding``).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.admissible import paths_of
from tree_oracle.construct.held import Held, Weigh, held, unchanged
from tree_oracle.construct.laws import NOTHING, AnyDraft, Laws, Ranked
from tree_oracle.construct.policy import Built
from tree_oracle.construct.sapling import Sapling
from tree_oracle.tree import CandidateTree

# Whether the next node is taken: nodes taken before it, the sum of their probabilities, and the probability of this one.
Stop: TypeAlias = Callable[[int, float, float], bool]


def never(taken: int, mass: float, probability: float) -> bool:
    """The budget alone ends the tree; no end is uncertain."""
    return False


def exactly(score: float, other: float) -> float:
    """Scores are told apart by their last bit."""
    return 0.0


@dataclass(frozen=True, slots=True)
class BestFirst:
    """What policies of this kind differ in. ``stop`` is asked before each node is taken."""

    budget: int
    depth: int
    branching: int  # children of one node; the budget where the policy sets no limit
    weigh: Weigh = unchanged  # from log-probabilities, descending, to weights of at most 0, descending
    stop: Stop = never
    unsure: Stop = never  # of the same question: whether rounding might have answered it otherwise
    slack: Callable[[float, float], float] = exactly  # how far two scores may be apart and still count as equal

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order in which its nodes were taken.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        queue = _Queue(self, Laws(draft), root)
        mass = 0.0
        while queue.entries and len(queue.grown) <= self.budget:
            probability = exp(-queue.entries[0][0])
            if self.stop(len(queue.grown) - 1, mass, probability):
                break
            queue.take()
            mass += probability
        return queue.grown.built()

    def every(self, laws: Laws, root: int) -> Built:
        """The candidates of all trees that the budget ends: those of ``build``, then all that score as its worst node does.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        queue = _Queue(self, laws, root)
        scores = queue.grown.scores
        while queue.entries and (len(scores) <= self.budget or -queue.entries[0][0] == scores[self.budget]):
            queue.take()
        return queue.grown.built()

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some way to resolve ties gives this tree."""
        fits = tree.tokens[0] == root and len(paths_of(tree)) == len(tree) - 1 <= self.budget
        if not fits or tree.max_depth > self.depth:
            return False
        found = held(tree, Laws(draft), self.branching, self.depth, self.weigh)
        return found is not None and self._ends(found, tree.depths.tolist())

    def _ends(self, found: Held, depths: list[int]) -> bool:
        """Whether the best candidate that the tree lacks is no better than its worst node, and is rightly left out."""
        taken = sorted(found.scores[1:], reverse=True)
        lacking = [
            score + max(omitted)
            for score, omitted, depth in zip(found.scores, found.omitted, depths, strict=True)
            if omitted and depth < self.depth
        ]
        best = max(lacking, default=-np.inf)
        mass = 0.0
        for count, score in enumerate(taken):
            if self._better(best, score) or (
                self.stop(count, mass, exp(score)) and not self.unsure(count, mass, exp(score))
            ):
                return False
            mass += exp(score)
        if not lacking or len(taken) == self.budget:
            return True
        return self.stop(len(taken), mass, exp(best)) or self.unsure(len(taken), mass, exp(best))

    def _better(self, one: float, other: float) -> bool:
        return one > other and one - other > self.slack(one, other)


@dataclass(frozen=True, slots=True)
class _Offer:
    """A family of siblings in rank order, offered one after the other."""

    parent: int
    ranked: Ranked
    weights: Float[np.ndarray, " m"]


class _Queue:
    """The candidates that may be taken next."""

    def __init__(self, policy: BestFirst, laws: Laws, root: int) -> None:
        self._policy, self._laws = policy, laws
        self._offers: list[_Offer] = []  # by parent's slot
        self.grown = Sapling(root)
        self.entries: list[tuple[float, tuple[int, ...], int]] = []  # minus the score, ranks, parent's slot
        self._open(0, ())

    def take(self) -> None:
        """Add the best candidate; its next sibling and its first child become candidates."""
        _, ranks, parent = heapq.heappop(self.entries)
        offer, rank = self._offers[parent], ranks[-1]
        tokens, edges = offer.ranked
        node = self.grown.add(parent, int(tokens[rank]), float(edges[rank]), float(offer.weights[rank]))
        self._push(offer, (*ranks[:-1], rank + 1))
        self._open(node, ranks)

    def _open(self, node: int, ranks: tuple[int, ...]) -> None:
        ranked = NOTHING
        if self.grown.depth(node) < self._policy.depth:
            ranked = self._laws.top(self.grown.history(node), self._policy.branching)
        offer = _Offer(node, ranked, self._policy.weigh(ranked.edges))
        self._offers.append(offer)
        self._push(offer, (*ranks, 0))

    def _push(self, offer: _Offer, ranks: tuple[int, ...]) -> None:
        if ranks[-1] < len(offer.weights):
            score = self.grown.scores[offer.parent] + float(offer.weights[ranks[-1]])
            heapq.heappush(self.entries, (-score, ranks, offer.parent))
