"""TAPS: a scorer selects from a pool (arXiv 2606.00487; known from its abstract and second-hand notes).

    reach(v)   = product along the path of P(child accepted | parent reached), as the scorer estimates it
    utility(v) = reach(v) / cost(depth of v)

The pool is the N_pool most probable prefixes under the draft, at most K children to a node. Candidates come by descending
utility; each is taken together with those of its ancestors that are missing. One that no longer fits the budget with its
ancestors is passed over; the first below the threshold ends the tree. Ancestors come along, so the tree is prefix closed
whatever the ties. Utilities are compared as logarithms, which do not underflow, and are equal where float64 cannot tell them
apart (``tree_oracle.construct.rounding``).

The published tie rule is unknown. Here, of equal utilities the shallower comes first, then the one that stands earlier in the
pool. ``admits`` allows any order of equal utilities and any pool whose cut runs through equal prefixes. Of equal children at
the cut of K it puts those of the tree first, and then goes by token id. It decides so: a candidate of the pool that the tree
lacks must not have fitted when it came, with all nodes of the tree before it that are not worth less. For that neither the
other candidates nor the order among equals matter, so each is judged alone.

Budget: ours, N_max without the root; theirs is not public, and the default sizes only illustrate the rule. Stored as in the
pool; scores are sums of log P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.admissible import paths_of
from tree_oracle.construct.best_first import BestFirst
from tree_oracle.construct.draft import Law
from tree_oracle.construct.invalid import InvalidDraft
from tree_oracle.construct.laws import AnyDraft, History, Laws, Sight, histories_of
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.rounding import slack
from tree_oracle.construct.taps_selection import Preferring, Selection, Valued, by_worth
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import frozen, whole_number

# From a node's history, its children in the pool and the whole law below it to one chance for each child, which does not
# depend on what the other children are.
Scorer: TypeAlias = Callable[[History, Int[np.ndarray, " m"], Law], Float[np.ndarray, " m"]]


def draft_probability(history: History, tokens: Int[np.ndarray, " m"], law: Law) -> Float[np.ndarray, " m"]:
    """The draft's own probabilities: with equal costs this makes TAPS DDTree."""
    return np.asarray(np.exp(law[tokens]))


def equal_cost(depth: int) -> float:
    """Every depth costs the same."""
    return 1.0


@dataclass(frozen=True, slots=True)
class Taps:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1, or the threshold is below 0.
    """

    scorer: Scorer = draft_probability
    budget: int = 64  # N_max
    pool: int = 256  # N_pool
    branching: int = 16  # K
    depth: int = 15  # a block of 16
    cost: Callable[[int], float] = equal_cost
    threshold: float = 0.0

    def __post_init__(self) -> None:
        for name in ("budget", "pool", "branching", "depth"):
            whole_number(name, getattr(self, name), at_least=1)
        if not self.threshold >= 0:
            raise UsageError(f"threshold is {self.threshold}; expected a utility of at least 0")

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree in the order of the pool.

        Raises:
            InvalidDraft: a law of the draft is none.
            UsageError: the scorer gives no probabilities, or the cost is not above 0.
        """
        pool = self._valued(self._rule.build(draft, root), Laws(draft))
        tree = pool.built.tree
        order = np.lexsort((np.arange(len(tree)), tree.depths, pool.ranks))
        kept = {0}
        for node in order[order > 0].tolist():
            if not pool.reaches[node]:
                break
            missing = set(tree.path(node)) - kept
            if len(kept) + len(missing) <= self.budget + 1:
                kept |= missing
        chosen, slots = tree.keep(kept)
        return Built(chosen, frozen(pool.reach[slots]), pool_size=len(tree) - 1)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some pool and some order of equal utilities give this tree."""
        paths = paths_of(tree)
        if tree.tokens[0] != root or not len(paths) == len(tree) - 1 <= self.budget:
            return False
        laws = Laws(draft)
        pool = self._rule.every(Preferring(draft, histories_of(tree)[1:]), root)
        return Selection(self._valued(pool, laws), paths, self.pool, self.budget).holds

    @property
    def _rule(self) -> BestFirst:
        return BestFirst(self.pool, self.depth, self.branching)

    def _valued(self, pool: Built, laws: Laws) -> Valued:
        """What the scorer makes of the pool. Chances are right to one unit in the last place; the cost is one term more."""
        tree = pool.tree
        reach = self._reach(tree, histories_of(tree), laws)
        costs = np.array([0.0, *(log(self._cost(depth)) for depth in range(1, tree.max_depth + 1))])
        levels, size = tree.max_depth + 1, 1 + float(np.abs(costs).max())
        worth = reach - costs[tree.depths]
        ranks = by_worth(worth, lambda one, other: slack(levels, size, one, other))
        if not self.threshold:
            return Valued(pool, reach, ranks, reaches=worth <= inf, may_fall_short=worth > inf)
        over, near = worth - log(self.threshold), slack(levels, size, log(self.threshold))
        return Valued(pool, reach, ranks, reaches=over >= -near, may_fall_short=over <= near)

    def _reach(self, pool: CandidateTree, histories: list[History], laws: Laws) -> Float[np.ndarray, " n"]:
        """Log reach of each node."""
        reach = np.zeros(len(pool))
        for node, history in enumerate(histories):
            children = list(pool.children(node))
            if children:
                tokens, law = pool.tokens[children], laws.after(history)
                if tokens.max() >= len(law):
                    raise InvalidDraft(
                        f"the law after {history} has {len(law)} tokens now, and had token {tokens.max()} before; "
                        "expected the same answer to the same question"
                    )
                chances = np.asarray(self.scorer(history, tokens, law), dtype=np.float64)
                if chances.shape != (len(children),) or not ((chances >= 0) & (chances <= 1)).all():
                    raise UsageError(
                        f"the scorer after {history} gives {chances}; expected {len(children)} probabilities"
                    )
                with np.errstate(divide="ignore"):
                    reach[children] = reach[node] + np.log(chances)
        return reach

    def _cost(self, depth: int) -> float:
        cost = self.cost(depth)
        if not 0 < cost < float("inf"):
            raise UsageError(f"cost({depth}) is {cost}; expected a finite cost above 0")
        return cost


PUBLISHED = Published(
    name="taps",
    title="TAPS: scorer-driven selection from a pool",
    source="arXiv 2606.00487; abstract and second-hand notes, no program found",
    budget="not public; here N_max counts no root",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.DEPTH,
    scope="DFlash pools, claimed lossless by sample matching",
    closed_under_ties=True,
    make=Taps,
    own=("scorer", "cost"),
)
