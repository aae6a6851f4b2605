"""A tree held against a draft: how its nodes score, and what their parents propose that the tree lacks.

A node proposes its ``branching`` most probable tokens. Which tokens these are may be open, but not their log-probabilities:
the largest of the law, each as often as it occurs. So the children of a node are among its proposals, for some resolution of
ties, exactly when their log-probabilities are a part of that list, and the rest of the list is what the tree lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.laws import NOTHING, Laws, edges_of, histories_of
from tree_oracle.tree import CandidateTree

Weigh: TypeAlias = Callable[[Float[np.ndarray, " m"]], Float[np.ndarray, " m"]]


def unchanged(edges: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Log-probabilities as weights."""
    return edges


class Held(NamedTuple):
    """For each node, by slot."""

    scores: list[float]  # sum of the weights of the path
    weights: list[float]  # of the node's own edge; 0 for the root
    omitted: list[list[float]]  # weights of the proposals that are no children


def held(tree: CandidateTree, laws: Laws, branching: int, depth: int, weigh: Weigh = unchanged) -> Held | None:
    """The tree, no deeper than ``depth``, against the draft; None if a child is no proposal under any resolution of ties.

    Nodes at ``depth`` propose nothing, and the draft, which may have no law for what would be below them, is not asked.
    """
    histories = histories_of(tree)
    scores, own, omitted = [0.0] * len(tree), [0.0] * len(tree), list[list[float]]()
    for node in range(len(tree)):
        ranked = laws.top(histories[node], branching) if tree.depths[node] < depth else NOTHING
        weights = dict(zip(ranked.edges.tolist(), weigh(ranked.edges).tolist(), strict=True))
        children = tree.children(node)
        edges = edges_of(laws, ranked, histories[node], tree.tokens[list(children)].tolist())
        left = Counter(ranked.edges.tolist())
        left.subtract(edges)
        if min(left.values(), default=0) < 0:
            return None
        for child, edge in zip(children, edges, strict=True):
            own[child] = weights[edge]
            scores[child] = scores[node] + weights[edge]
        omitted.append([weights[edge] for edge in left.elements()])
    return Held(scores, own, omitted)
