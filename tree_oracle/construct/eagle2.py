"""EAGLE-2 and EAGLE-3 (arXiv 2406.16858, 2503.01840): beams of cumulative log-probability, then a rerank of the pool.

    s(v) = s(parent(v)) + log q(token(v) | path to parent(v))

The root proposes its k best tokens; then, as often as the depth says, each of the k best nodes of the last level proposes its
k best, all of which enter the pool. The best N of the pool by score are the tree, stored in the order in which the pool was
made: level by level. The published program leaves ties to ``torch.topk``. Here, as in TreeSpark, the shallower comes first
and then the earlier created, which never leaves a child without its parent; by score alone one can be: below an edge of
probability 1 a child scores as its parent does. ``admits`` allows every *closed* set that the score alone allows.

Budget: the authors' total_token counts the root, and their depth d gives d + 1 levels; see ``Eagle2.published``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.construct.admissible import admits
from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.treespark import TreeSpark, best_of
from tree_oracle.record import DraftLaw
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number


@dataclass(frozen=True, slots=True)
class Eagle2:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1.
    """

    branching: int = 10  # k, for children and for the beam
    budget: int = 59
    depth: int = 8

    def __post_init__(self) -> None:
        for name in ("branching", "budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)

    @classmethod
    def published(cls, *, total_token: int = 60, depth: int = 7, top_k: int = 10) -> Eagle2:
        """The policy by its authors' numbers.

        Raises:
            UsageError: ``total_token`` is below 2, another number below 1 (``depth`` below 0).
        """
        return cls(
            whole_number("top_k", top_k, at_least=1),
            whole_number("total_token", total_token, at_least=2) - 1,
            whole_number("depth", depth, at_least=0) + 1,
        )

    @property
    def frontier(self) -> int:
        return self.branching

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree, level by level.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        return best_of(self._drafting.pool(draft, root), self.budget)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some order of equal scores gives this tree; sets that are not closed are no trees."""
        return admits(self._drafting, tree, draft, root, shallower_first=False)

    @property
    def _drafting(self) -> TreeSpark:
        """TreeSpark drafts the same pool."""
        return TreeSpark(self.branching, self.frontier, self.budget, self.depth)


PUBLISHED = Published(
    name="eagle2",
    title="EAGLE-2 and EAGLE-3: dynamic draft trees",
    source="SafeAILab/EAGLE, eagle/model/cnets.py (topK_genrate)",
    budget="total_token counts the root; depth d gives d + 1 levels",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PATH,
    scope="autoregressive feature drafts, total_token 60, depth 7, k 10; greedy and sampled targets by the point-mass rule",
    closed_under_ties=False,
    make=Eagle2,
    aliases=("eagle3", "hass"),
)
