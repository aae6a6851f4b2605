"""Scores for every node of a tree, full of ties.

A language model answers equal histories alike, so equal siblings share one row here as they do in a real target.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Float

from tree_oracle.record import TreeData
from tree_oracle.strategies.tokens import token_ids
from tree_oracle.tree import CandidateTree

_SCORES = 3  # so few that two of three rows over five tokens have a tied maximum


def greedy_tables(tree: CandidateTree | TreeData, vocab_size: int) -> st.SearchStrategy[Float[np.ndarray, "n vocab"]]:
    """Rows of 0.0, 1.0 and 2.0, float64, one per node and equal for equal histories; shrinks to zeros.

    Raises:
        UsageError: ``vocab_size`` is below 1.
    """
    token_ids(vocab_size)  # for its check alone
    histories = _histories(tree)
    shape = (max(histories) + 1, vocab_size)
    rows = arrays(np.float64, shape, elements=st.integers(0, _SCORES - 1).map(float))
    return rows.map(lambda distinct: distinct[histories])


def _histories(tree: CandidateTree | TreeData) -> list[int]:
    """A number for each node, equal exactly where the tokens from the root on are."""
    numbers: dict[tuple[int, int], int] = {}
    histories: list[int] = []
    for token, parent in zip(map(int, tree.tokens), map(int, tree.parents), strict=True):
        before = histories[parent] if parent >= 0 else -1
        histories.append(numbers.setdefault((before, token), len(numbers)))
    return histories
