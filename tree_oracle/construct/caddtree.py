"""CaDDTree: DDTree that ends where one more node costs more time than it brings (arXiv 2606.01813).

    theta(n) = (1 + sum of q over the first n nodes) / (C_d + C_v(n))        expected tokens for each unit of time

Nodes are taken as in DDTree, and the tree ends before a node that would not raise theta: theta(n + 1) <= theta(n). Where C_v
is convex theta has one hill, so the first stop is at its top. How equal scores are resolved cannot move the end: theta sees
the values alone. theta is computed in float64, and where two of them cannot be told apart ``admits`` takes either end.

Budget: the authors' n counts no root, as ours. C_d and C_v are measured on the machine (theirs by convex regression for the
context length at hand); the default costs only illustrate the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tree_oracle.construct.best_first import BestFirst
from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.rounding import slack
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number


def linear_cost(nodes: int) -> float:
    """An illustration: a pass over the root alone takes 1, and 64 nodes more take as long again."""
    return 1 + nodes / 64


@dataclass(frozen=True, slots=True)
class CaDDTree:
    """The policy. Costs are in one unit of time of any size.

    Raises:
        UsageError: a bound is no integer of at least 1, or the draft's cost is below 0.
    """

    budget: int = 256
    depth: int = 15  # a block of 16
    draft_cost: float = 0.25  # C_d
    verify_cost: Callable[[int], float] = linear_cost  # C_v of the number of nodes without the root

    def __post_init__(self) -> None:
        for name in ("budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)
        if not 0 <= self.draft_cost < float("inf"):
            raise UsageError(f"draft_cost is {self.draft_cost}; expected a finite time of at least 0")

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order in which its nodes were taken.

        Raises:
            InvalidDraft: a law of the draft is none.
            UsageError: ``verify_cost`` gives no positive time.
        """
        return self._rule.build(draft, root)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether the tree is one that DDTree allows at this size, and is as large as the rule asks."""
        return self._rule.admits(tree, draft, root)

    @property
    def _rule(self) -> BestFirst:
        return BestFirst(self.budget, self.depth, branching=self.budget, stop=self._no_gain, unsure=self._as_much)

    def _no_gain(self, taken: int, mass: float, probability: float) -> bool:
        return self._theta(taken + 1, mass + probability) <= self._theta(taken, mass)

    def _as_much(self, taken: int, mass: float, probability: float) -> bool:
        """Whether the two are equal but for the rounding of ``taken + 1`` probabilities, the sums over them and a quotient.

        A probability is off by as much as its logarithm, a sum over the levels of its path: p |log p| is less than 1.
        """
        before, after = self._theta(taken, mass), self._theta(taken + 1, mass + probability)
        return abs(after - before) <= before * slack(taken + min(self.depth, taken) + 2, 1.0, 0.0)

    def _theta(self, nodes: int, mass: float) -> float:
        return (1 + mass) / self._cost(nodes)

    def _cost(self, nodes: int) -> float:
        cost = self.verify_cost(nodes)
        if not 0 < cost < float("inf"):
            raise UsageError(f"verify_cost({nodes}) is {cost}; expected a finite time above 0")
        return self.draft_cost + cost


PUBLISHED = Published(
    name="caddtree",
    title="CaDDTree: DDTree with a cost-aware end",
    source="arXiv 2606.01813; ZhangShuai1230/CaDDTree, caddtree.py and cost_model.py",
    budget="n counts no root; a block of b gives b - 1 levels",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.DEPTH,
    scope="DFlash drafts, batch of one, costs fitted on one device",
    closed_under_ties=True,
    make=CaDDTree,
    own=("draft_cost", "verify_cost"),
)
