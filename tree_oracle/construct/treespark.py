"""TreeSpark's tree (systems.md sections 1 and 8): drafted level by level, then packed by score.

    s(root) = 0,    s(v) = s(parent(v)) + log Q_d(v)(token(v) | token(parent(v)))                              (Eq. 5)

Drafting: F_0 is the root alone. At each depth d = 1..B every node of F_(d-1) proposes its k most probable tokens, all of
which enter the pool; F_d is the best of them by score. Packing: the pool by descending score, the shallower first among
equals, then in creation order; the first N are the tree. Creation order, which also cuts the frontier: parents in their own
creation order, the children of one parent by descending probability, equal ones by ascending token id.

Proposition 1. Any initial segment of the packed order is prefix closed: a log-probability is at most 0, so a parent's score
is at least its child's (also in floating point, where rounding is monotone), and where they are equal the parent is the
shallower one. Without the depth rule it fails, but only below an edge of probability 1.

N counts no root; with the defaults there are at most 100 candidates, and 33 rows in the target pass. Scores are float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.admissible import admits
from tree_oracle.construct.draft import Draft, law_of
from tree_oracle.construct.policy import Built
from tree_oracle.construct.top import top
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import frozen, whole_number


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Everything that was drafted, in creation order, the root first."""

    tree: CandidateTree
    scores: Float[np.ndarray, " n"]


@dataclass(frozen=True, slots=True)
class TreeSpark:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1.
    """

    branching: int = 4  # k, children that a node proposes
    frontier: int = 4  # nodes of one level that propose; TreeSpark has the same k for both
    budget: int = 32  # N
    depth: int = 7  # B

    def __post_init__(self) -> None:
        for name in ("branching", "frontier", "budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)

    @property
    def most_candidates(self) -> int:
        """The largest pool there can be."""
        level, total = 1, 0
        for _ in range(self.depth):
            level = min(level, self.frontier) * self.branching
            total += level
        return total

    def build(self, draft: Draft, root: int) -> Built:
        """The packed tree below a root that holds token ``root``.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        pool = self.pool(draft, root)
        order = packed_order(pool)
        packed = CandidateTree(*pool.tree.stored(order))
        tree, kept = packed.keep(range(min(self.budget + 1, len(order))))
        return Built(tree, frozen(pool.scores[order][kept]), pool_size=len(order) - 1)

    def admits(self, tree: CandidateTree, draft: Draft, root: int) -> bool:
        """Whether some way to resolve the ties gives this tree; see ``tree_oracle.construct.admissible``."""
        return admits(self, tree, draft, root)

    def pool(self, draft: Draft, root: int) -> Pool:
        """All candidates, from which packing chooses.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        growth = _Growth(draft, root)
        proposing = [0]
        for depth in range(1, self.depth + 1):
            level = [child for node in proposing for child in growth.expand(node, depth, self.branching)]
            proposing = growth.best(level, self.frontier)
        return growth.pool()


def packed_order(pool: Pool) -> Int[np.ndarray, " n"]:
    """Slots of the pool by descending score, the shallower first among equals, then in creation order; the root first."""
    return np.lexsort((np.arange(len(pool.scores)), pool.tree.depths, -pool.scores))


class _Growth:
    """A pool that is still growing, in creation order."""

    def __init__(self, draft: Draft, root: int) -> None:
        self._draft = draft
        self._tokens, self._parents = [root], [-1]
        self._edges, self._scores = [0.0], [0.0]
        self._proposed: dict[tuple[int, int], list[tuple[int, float]]] = {}  # by depth and parent token

    def expand(self, node: int, depth: int, branching: int) -> range:
        """Add the children of ``node``, and say where they are."""
        first = len(self._tokens)
        for token, edge in self._proposals(depth, self._tokens[node], branching):
            self._tokens.append(token)
            self._parents.append(node)
            self._edges.append(edge)
            self._scores.append(self._scores[node] + edge)
        return range(first, len(self._tokens))

    def best(self, level: list[int], count: int) -> list[int]:
        """The best nodes of a level by score, earlier ones first among equals; in creation order."""
        return sorted(sorted(level, key=lambda node: -self._scores[node])[:count])

    def pool(self) -> Pool:
        tree = CandidateTree(self._tokens, self._parents, self._edges)
        return Pool(tree, frozen(np.array(self._scores)))

    def _proposals(self, depth: int, parent_token: int, branching: int) -> list[tuple[int, float]]:
        # Asked once: nodes of equal token and depth get the same bits, and a large vocabulary is gone through less often.
        asked = (depth, parent_token)
        if asked not in self._proposed:
            law = law_of(self._draft, depth, parent_token)
            tokens = top(law, branching)
            self._proposed[asked] = list(zip(tokens.tolist(), law[tokens].tolist(), strict=True))
        return self._proposed[asked]
