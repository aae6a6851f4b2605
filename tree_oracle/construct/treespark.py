"""TreeSpark's tree (its paper's Eq. 5 and Proposition 1): drafted level by level, then packed by score.

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
from tree_oracle.construct.laws import AnyDraft, Laws, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.sapling import Sapling
from tree_oracle.record import DraftLaw
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
        for done in range(self.depth):
            wider = min(level, self.frontier) * self.branching
            if wider == level:  # and so are all that follow
                return total + (self.depth - done) * level
            level, total = wider, total + wider
        return total

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The packed tree below a root that holds token ``root``.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        pool = self.pool(draft, root)
        order = packed_order(pool)
        packed = CandidateTree(*pool.tree.stored(order))
        tree, kept = packed.keep(range(min(self.budget + 1, len(order))))
        return Built(tree, frozen(pool.scores[order][kept]), pool_size=len(order) - 1)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some way to resolve the ties gives this tree; see ``tree_oracle.construct.admissible``."""
        return admits(self, tree, draft, root)

    def pool(self, draft: AnyDraft, root: int) -> Pool:
        """All candidates, from which packing chooses.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        laws, growing, proposing = Laws(draft), Sapling(root), [0]
        for _ in range(self.depth):
            level = [child for node in proposing for child in growing.branch(node, laws, self.branching)]
            # Sorting is stable, so of equal scores the first created is cut last.
            proposing = sorted(sorted(level, key=lambda node: -growing.scores[node])[: self.frontier])
            if not proposing:
                break
        return Pool(growing.tree(), frozen(np.array(growing.scores)))


def best_of(pool: Pool, budget: int) -> Built:
    """The first ``budget`` of the packed order, stored in creation order: how EAGLE and its heirs lay trees out."""
    tree, kept = pool.tree.keep(packed_order(pool)[: budget + 1].tolist())
    return Built(tree, frozen(pool.scores[kept]), pool_size=len(pool.scores) - 1)


def packed_order(pool: Pool) -> Int[np.ndarray, " n"]:
    """Slots of the pool by descending score, the shallower first among equals, then in creation order; the root first."""
    return np.lexsort((np.arange(len(pool.scores)), pool.tree.depths, -pool.scores))


PUBLISHED = Published(
    name="treespark",
    title="TreeSpark: learning to draft the trees you verify",
    source="the paper of that name whose base is DeepSpec",
    budget="N counts no root; B levels below the root",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PARENT,
    scope="DSpark drafts with k = 4, B = 7, N = 32 on Ascend, greedy targets; stochastic sampling was not evaluated",
    closed_under_ties=True,
    make=TreeSpark,
)
