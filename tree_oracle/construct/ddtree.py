"""DDTree: the N most probable prefixes of the draft (Ringel and Romano, arXiv 2604.12989).

    q(v) = product over the path of Q_d(token),    T = the N prefixes of the largest q,    E[accepted] <= sum of q over T

The draft is DFlash's, one law per depth (``MarginalDraft``); the rule asks nothing of it but that edges have probabilities of
at most 1, so parent- and path-conditioned drafts do as well (as in TreeFlash). Taken best first
(``tree_oracle.construct.best_first``); equal scores go to the lexicographically smaller path of ranks. Scores are sums in
float64 from the root down, where the published program subtracts one sibling and adds the next: sums may differ in the last
bits, and with them trees whose cut runs through near ties.

Budget: the authors' N counts no root, as ours. Their block of b positions gives b - 1 levels.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.construct.best_first import BestFirst
from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.record import DraftLaw
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number


@dataclass(frozen=True, slots=True)
class DDTree:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1.
    """

    budget: int = 64
    depth: int = 15  # a block of 16

    def __post_init__(self) -> None:
        for name in ("budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order in which its nodes were taken.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        return self._rule.build(draft, root)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether the tree is some N most probable prefixes, closed under parents."""
        return self._rule.admits(tree, draft, root)

    @property
    def _rule(self) -> BestFirst:
        # No node of the tree has a rank past the budget: all its better siblings would be in before it.
        return BestFirst(self.budget, self.depth, branching=self.budget)


PUBLISHED = Published(
    name="ddtree",
    title="DDTree: the most probable prefixes under a block draft",
    source="arXiv 2604.12989; liranringel/ddtree, ddtree.py",
    budget="N counts no root; a block of b gives b - 1 levels",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.DEPTH,
    scope="DFlash drafts, batch of one, greedy and sampled targets by sample matching",
    closed_under_ties=True,
    make=DDTree,
)
