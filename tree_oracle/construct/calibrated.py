"""Calibrated TreeSpark, the *other* paper of that name (arXiv 2609.22098).

    p(token | parent) = sigmoid(a * logit(q) + b)        the chance that the target accepts, fitted to the draft's q

Best first on the product of p along the path (``tree_oracle.construct.best_first``); the tree ends before the first candidate
below the threshold. A node has at most ``branching`` children, its most probable tokens. For a > 0 the estimate grows with q,
so siblings keep their order; a token of q = 1 is estimated at 1 and one of q = 0 is never proposed. Ties: as in DDTree.
Estimates are float64, so ``admits`` takes products and thresholds for equal that float64 cannot tell apart.

This is the tree for greedy targets. For sampled ones the authors draw siblings without replacement and admit them by bounds
known before the draw; public material says too little of those bounds to build them here.

Budget: the authors' node_cap counts no root, as ours; cap and threshold depend on the load, the defaults illustrate them.
Scores are sums of log p, not of log q.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.best_first import BestFirst
from tree_oracle.construct.laws import AnyDraft, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.rounding import slack
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import whole_number


@dataclass(frozen=True, slots=True)
class CalibratedTreeSpark:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1, the slope is not above 0, or the threshold no probability.
    """

    budget: int = 32  # node_cap
    depth: int = 7
    branching: int = 8  # branch_cap
    slope: float = 0.668  # a
    offset: float = -0.459  # b
    threshold: float = 0.0  # depends on the load; 0 leaves the end to the budget

    def __post_init__(self) -> None:
        for name in ("budget", "depth", "branching"):
            whole_number(name, getattr(self, name), at_least=1)
        if not 0 < self.slope < np.inf or not np.isfinite(self.offset):
            raise UsageError(f"slope {self.slope} and offset {self.offset}; expected finite numbers, the slope above 0")
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"threshold is {self.threshold}; expected a probability")

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order in which its nodes were taken.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        return self._rule.build(draft, root)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some way to resolve equal estimates gives this tree."""
        return self._rule.admits(tree, draft, root)

    def estimates(self, edges: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """log p of log q, descending."""
        with np.errstate(divide="ignore", over="ignore"):  # a steep slope may take an estimate to 0
            logits = edges - np.log(-np.expm1(edges))  # +inf where q is 1; no digit of 1 - q is lost
            found = -np.logaddexp(0.0, -(self.slope * logits + self.offset))
        # Rounding in the logit must not turn siblings around.
        return np.asarray(np.minimum.accumulate(found))

    @property
    def _rule(self) -> BestFirst:
        return BestFirst(
            self.budget, self.depth, self.branching, self.estimates, self._too_unlikely, self._at_threshold, self._slack
        )

    def _too_unlikely(self, taken: int, mass: float, probability: float) -> bool:
        return probability < self.threshold

    def _at_threshold(self, taken: int, mass: float, probability: float) -> bool:
        if not probability or not self.threshold:
            return False
        apart = log(probability) - log(self.threshold)
        return abs(apart) <= self._slack(log(probability), log(self.threshold))

    def _slack(self, score: float, other: float) -> float:
        """An estimate's logarithm changes no faster than its argument a * logit + b, whose terms are each rounded.

        So it is off by at most 6 units in the last place of 1 + a + |b| + |log p|: two for the logit times a, one for each
        product and sum, and one for the logarithm.
        """
        levels = min(self.depth, self.budget + 1)
        return slack(levels, 1 + self.slope + abs(self.offset), score, other, ulps=6)


PUBLISHED = Published(
    name="calibrated-treespark",
    title="TreeSpark: calibrated, load-adaptive draft trees",
    source="arXiv 2609.22098; PopSoda2002/TreeSpark, treespark/tree.py",
    budget="node_cap counts no root, which is no row of the pass either",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PARENT,
    scope="DSpark drafts; greedy targets by this tree, sampled ones by draws without replacement, which it is not",
    closed_under_ties=True,
    make=CalibratedTreeSpark,
)
