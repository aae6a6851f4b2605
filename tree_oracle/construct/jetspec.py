"""JetSpec: fan-out expansion, a whole family at a time (arXiv 2606.18394).

Again and again the best leaf is taken and given all its w most probable children at once, until the budget is full; the last
family is cut to what fits, its least probable members left out. So this is not DDTree: the last families bring in siblings
that score worse than candidates elsewhere. Of equal scores the earlier created is expanded first. A node only ever hangs from
one that is in the tree, so the tree is prefix closed whatever the ties.

``admits`` lets any of equally good leaves be expanded first, and any of equally probable tokens be the last of a family.

Budget: the authors' budget counts the root; see ``JetSpec.published``. Width and budget are theirs to choose: the defaults
illustrate them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from tree_oracle.construct.admissible import paths_of
from tree_oracle.construct.held import Held, held
from tree_oracle.construct.laws import AnyDraft, Laws, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.sapling import Sapling
from tree_oracle.record import DraftLaw
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number


@dataclass(frozen=True, slots=True)
class JetSpec:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1.
    """

    branching: int = 4  # w
    budget: int = 63
    depth: int = 15  # a block of 16

    def __post_init__(self) -> None:
        for name in ("branching", "budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)

    @classmethod
    def published(cls, *, budget: int, width: int, depth: int) -> JetSpec:
        """The policy by its authors' numbers, whose budget counts the root.

        Raises:
            UsageError: ``budget`` is below 2, another number below 1.
        """
        return cls(branching=width, budget=whole_number("budget", budget, at_least=2) - 1, depth=depth)

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order of expansion.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        laws, growing, leaves = Laws(draft), Sapling(root), [(0.0, 0)]
        while leaves and len(growing) <= self.budget:
            _, node = heapq.heappop(leaves)
            room = self.budget + 1 - len(growing)
            for child in growing.branch(node, laws, min(self.branching, room)):
                if growing.depth(child) < self.depth:
                    heapq.heappush(leaves, (-growing.scores[child], child))
        return growing.built()

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some way to resolve ties gives this tree.

        The scores of expanded nodes fall, so the last of them is a worst one, has no expanded child, and alone may lack some
        of its family, the least probable. When it was taken no other leaf scored better.
        """
        fits = tree.tokens[0] == root and len(paths_of(tree)) == len(tree) - 1 <= self.budget
        if not fits or tree.max_depth > self.depth:
            return False
        found = held(tree, Laws(draft), self.branching, self.depth)
        return found is not None and self._expanded_in_order(tree, found)

    def _expanded_in_order(self, tree: CandidateTree, found: Held) -> bool:
        inner = [node for node in range(len(tree)) if tree.children(node)]
        waiting = [
            node
            for node in range(len(tree))
            if not tree.children(node) and found.omitted[node] and tree.depths[node] < self.depth
        ]
        partial = [node for node in inner if found.omitted[node]]
        if len(tree) - 1 < self.budget:
            return not waiting and not partial
        return any(self._may_be_last(node, tree, found, inner, waiting) for node in inner if {*partial} <= {node})

    def _may_be_last(self, node: int, tree: CandidateTree, found: Held, inner: list[int], waiting: list[int]) -> bool:
        scores, children = found.scores, tree.children(node)
        family = [found.weights[child] for child in children]
        return (
            not {*children} & {*inner}
            and all(scores[node] <= scores[other] for other in inner)
            and all(scores[node] >= scores[other] for other in waiting if other not in children)
            and max(found.omitted[node], default=-np.inf) <= min(family)
        )


PUBLISHED = Published(
    name="jetspec",
    title="JetSpec: fan-out expansion",
    source="arXiv 2606.18394; hao-ai-lab/JetSpec, jetspec/tree/baselines/accum_logp.py",
    budget="budget and num_nodes count the root; the root has depth 0",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.DEPTH,
    scope="causal-in-block parallel heads with one list of tokens for each depth; greedy and sampled targets by matching",
    closed_under_ties=True,
    make=JetSpec,
)
