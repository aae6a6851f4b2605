"""OPT-Tree: layers are drafted until the best n nodes of all gain too little (Wang et al., arXiv 2406.17276).

    w(v) = product of q over the path,    W_d = sum of the n largest w within the first d layers

Each layer keeps the n best of the n x n children of the last. Drafting ends after layer d when W_d - W_(d-1) is at most the
threshold, or at the depth; the n best nodes of all layers are the tree, stored layer by layer. No beam can cut a node of the
tree: each of its betters at the cut would be in the tree instead. So this is DDTree with a depth of its own choosing.

The published program multiplies float32 probabilities and has no tie rule: products that underflow are equal, and so are a
node and its child of probability 1, so that a child can be kept without its parent. Here scores are sums of log-probabilities
in float64, which do not underflow; of equal scores the shallower comes first, then the earlier created. ``admits`` allows
every *closed* set that the score alone allows; the depth follows from values, so ties cannot change it.

Budget: the authors' nodes count no root, as ours. The threshold depends on what a layer costs; the default illustrates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tree_oracle.construct.admissible import admits
from tree_oracle.construct.laws import AnyDraft, Laws, Sight
from tree_oracle.construct.policy import Built
from tree_oracle.construct.published import Published
from tree_oracle.construct.sapling import Sapling
from tree_oracle.construct.top import top
from tree_oracle.construct.treespark import Pool, TreeSpark, best_of
from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import frozen, whole_number


@dataclass(frozen=True, slots=True)
class OptTree:
    """The policy.

    Raises:
        UsageError: a bound is no integer of at least 1, or the threshold is below 0.
    """

    budget: int = 50  # n
    depth: int = 10  # the most layers
    threshold: float = 0.2  # the least gain of a layer that is followed by another

    def __post_init__(self) -> None:
        for name in ("budget", "depth"):
            whole_number(name, getattr(self, name), at_least=1)
        if not self.threshold >= 0:
            raise UsageError(f"threshold is {self.threshold}; expected a gain of at least 0")

    def build(self, draft: AnyDraft, root: int) -> Built:
        """The tree, layer by layer.

        Raises:
            InvalidDraft: a law of the draft is none.
        """
        pool, _ = self._drafted(draft, root)
        return best_of(pool, self.budget)

    def admits(self, tree: CandidateTree, draft: AnyDraft, root: int) -> bool:
        """Whether some order of equal scores gives this tree; sets that are not closed are no trees."""
        _, layers = self._drafted(draft, root)
        bounds = TreeSpark(self.budget, self.budget, self.budget, layers)
        return admits(bounds, tree, draft, root, shallower_first=False)

    def _drafted(self, draft: AnyDraft, root: int) -> tuple[Pool, int]:
        """All layers, and how many there are."""
        laws, growing, before, layers = Laws(draft), Sapling(root), 0.0, 0
        nodes: Sequence[int] = [0]
        while layers < self.depth:
            nodes = self._layer(laws, growing, nodes)
            layers += 1
            mass = self._mass(growing)
            if mass - before <= self.threshold:
                break
            before = mass
        return Pool(growing.tree(), frozen(np.array(growing.scores))), layers

    def _layer(self, laws: Laws, growing: Sapling, parents: Sequence[int]) -> Sequence[int]:
        """Add the best children of a layer, and say where they are."""
        families = [(parent, laws.top(growing.history(parent), self.budget)) for parent in parents]
        sizes = [len(ranked.tokens) for _, ranked in families]
        if not sum(sizes):
            return []
        owner = np.repeat(np.array(parents), sizes)
        tokens = np.concatenate([ranked.tokens for _, ranked in families])
        edges = np.concatenate([ranked.edges for _, ranked in families])
        kept = np.sort(top(np.array(growing.scores)[owner] + edges, self.budget))
        return [
            growing.add(parent, token, edge)
            for parent, token, edge in zip(
                owner[kept].tolist(), tokens[kept].tolist(), edges[kept].tolist(), strict=True
            )
        ]

    def _mass(self, growing: Sapling) -> float:
        scores = np.array(growing.scores[1:])
        return float(np.exp(-np.sort(-scores)[: self.budget]).sum())


PUBLISHED = Published(
    name="opt-tree",
    title="OPT-Tree: adaptive draft trees",
    source="Jikai0Wang/OPT-Tree, opt_classic/tree.py and utils.py",
    budget="nodes count no root; layers are levels below the root",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PATH,
    scope="autoregressive drafts; greedy and sampled targets by sample matching",
    closed_under_ties=False,
    make=OptTree,
)
