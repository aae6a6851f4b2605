"""A tree that is still growing, in the order in which its nodes are created, the root first."""

from __future__ import annotations

import numpy as np

from tree_oracle.construct.laws import History, Laws
from tree_oracle.construct.policy import Built
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import frozen


class Sapling:
    """Nodes with their histories and their scores: sums from the root down, so a parent never scores below its child."""

    def __init__(self, root: int) -> None:
        self.scores = [0.0]
        self._tokens, self._parents, self._edges = [root], [-1], [0.0]
        self._histories: list[History] = [(root,)]

    def __len__(self) -> int:
        return len(self._tokens)

    def history(self, node: int) -> History:
        """The tokens from the root's to the node's own."""
        return self._histories[node]

    def depth(self, node: int) -> int:
        return len(self._histories[node]) - 1

    def add(self, parent: int, token: int, edge: float, weight: float | None = None) -> int:
        """Add a child and say where it is. ``weight`` is what it adds to the score, if not its log-probability ``edge``."""
        self._tokens.append(token)
        self._parents.append(parent)
        self._edges.append(edge)
        self._histories.append((*self._histories[parent], token))
        self.scores.append(self.scores[parent] + (edge if weight is None else weight))
        return len(self._tokens) - 1

    def branch(self, node: int, laws: Laws, count: int) -> range:
        """Add the ``count`` most probable children of a node, and say where they are."""
        first = len(self)
        ranked = laws.top(self.history(node), count)
        for token, edge in zip(ranked.tokens.tolist(), ranked.edges.tolist(), strict=True):
            self.add(node, token, edge)
        return range(first, len(self))

    def tree(self) -> CandidateTree:
        return CandidateTree(self._tokens, self._parents, self._edges)

    def built(self, pool_size: int | None = None) -> Built:
        """The tree as it stands. Where nothing else was drafted, its own nodes are the pool."""
        size = len(self) - 1 if pool_size is None else pool_size
        return Built(self.tree(), frozen(np.array(self.scores)), size)
