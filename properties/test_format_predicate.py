"""The FlexAttention predicate is the layout's mask, asked one pair at a time or all at once, whatever holds its tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree, lay_out
from tree_oracle.tree.formats import encode_predicate, sees, subtree_intervals, tabulated, tree_predicate

batches = st.lists(st.tuples(candidate_trees(vocab_size=3), st.integers(1, 9)), min_size=1, max_size=4)


@given(batches)
def test_it_is_the_layout_of_every_request(batch: list[tuple[CandidateTree, int]]) -> None:
    """In each request the columns that belong to it are the layout's, and every other column and row sees nothing."""
    trees, lens = [tree for tree, _ in batch], [length for _, length in batch]
    tables = encode_predicate(trees, lens)
    attends = tree_predicate(tables.enter_query, tables.enter_key, tables.leave_key)
    rows, columns = tables.enter_query.shape[1], tables.enter_key.shape[1]
    for b, (tree, length) in enumerate(batch):
        mask = tabulated(attends, b, rows, columns)
        first = max(lens) - length
        own = mask[: len(tree), first : first + length - 1 + len(tree)]
        assert np.array_equal(own, lay_out(tree, length).visible)
        assert mask.sum() == own.sum()


@given(batches)
def test_one_pair_at_a_time_is_the_same(batch: list[tuple[CandidateTree, int]]) -> None:
    """The predicate works on single integers and on tables that are plain objects with two indices, as tensors are."""
    tables = encode_predicate([tree for tree, _ in batch], [length for _, length in batch])
    lists = [
        {(b, i): int(x) for (b, i), x in np.ndenumerate(one)}
        for one in (tables.enter_query, tables.enter_key, tables.leave_key)
    ]
    plain, arrays = tree_predicate(*lists), tree_predicate(tables.enter_query, tables.enter_key, tables.leave_key)
    for b in range(len(batch)):
        rows, columns = tables.enter_query.shape[1], tables.enter_key.shape[1]
        whole = tabulated(arrays, b, rows, columns)
        assert [[bool(plain(b, 0, q, k)) for k in range(columns)] for q in range(rows)] == whole.tolist()


@given(candidate_trees(vocab_size=3))
def test_the_in_out_test_is_ancestry(tree: CandidateTree) -> None:
    """A node's number lies in another's interval exactly if the other is on its path; an interval is as long as the subtree."""
    enter, leave = subtree_intervals(tree)
    for node in range(len(tree)):
        assert np.flatnonzero(sees(enter, leave)[node]).tolist() == sorted(tree.path(node))
        assert leave[node] - enter[node] == len(tree.subtree(node))
