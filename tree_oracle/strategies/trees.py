"""Candidate trees of every shape: chains, stars, level by level, branch by branch, branches of unequal length, repeated
labels under different parents and, unless forbidden, equal siblings.

A tree is drawn as a list of numbered parents and tokens, one choice each, so that taking an element away takes a node away.
Trees shrink to few nodes, then to parents near the root and to token 0.
"""

from __future__ import annotations

from math import isqrt

from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.strategies.growth import SHAPES, Growth, capacity
from tree_oracle.strategies.tokens import token_ids
from tree_oracle.tree import CandidateTree


def candidate_trees(
    *,
    vocab_size: int,
    max_nodes: int = 12,
    min_nodes: int = 1,
    max_depth: int | None = None,
    distinct_siblings: bool = False,
) -> st.SearchStrategy[CandidateTree]:
    """Trees of ``min_nodes`` to ``max_nodes`` nodes, the root counted, without log-probabilities.

    Raises:
        UsageError: no tree meets the bounds.
    """
    tokens = token_ids(vocab_size)
    if not 1 <= min_nodes <= max_nodes:
        raise UsageError(f"trees of {min_nodes} to {max_nodes} nodes; expected 1 <= min_nodes <= max_nodes")
    if max_depth is not None and max_depth < 0:
        raise UsageError(f"max_depth is {max_depth}; expected 0 or more")
    most = capacity(vocab_size, max_depth, distinct_siblings)
    if most is not None and min_nodes > most:
        raise UsageError(f"min_nodes is {min_nodes}, but a tree within these bounds has at most {most} nodes")

    def grown(root: int, shape: str, steps: list[tuple[int, int]]) -> CandidateTree:
        growth = Growth(vocab_size, max_depth, distinct_siblings, [root])
        for pick, token in steps:
            growth.add(shape, pick, token)
        return growth.tree()

    steps = st.lists(st.tuples(_picks(max_nodes), tokens), min_size=min_nodes - 1, max_size=max_nodes - 1)
    return st.builds(grown, tokens, st.sampled_from(list(SHAPES)), steps)


def _picks(count: int) -> st.SearchStrategy[int]:
    """Numbers below ``count``, p drawn 2 (count - p) - 1 times out of count^2; shrinks to 0.

    A pick beyond the last parent means the last one. Evenly drawn picks would nearly always be beyond it while the tree is
    small, and so begin every tree with a chain.
    """
    last = count * count - 1
    return st.integers(0, last).map(lambda number: count - 1 - isqrt(last - number))
