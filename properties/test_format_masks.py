"""A dense mask in every form, entry by entry: polarity, orientation, prefix columns, the root's row, padding, dtype."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from format_oracle import visible
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.strategies import candidate_trees, storage_orders
from tree_oracle.tree import CandidateTree, InvalidTree
from tree_oracle.tree.formats import (
    Causality,
    DenseMask,
    InvalidEncoding,
    MaskForm,
    Orientation,
    Polarity,
    PrefixColumns,
    RootRow,
    decode_dense,
    encode_dense,
    parents_of,
)
from tree_oracle.tree.formats.field import Field

LOWEST = float(np.finfo(np.float32).min)
BOOL, INT8, FLOAT32, FLOAT64 = (np.dtype(kind) for kind in (np.bool_, np.int8, np.float32, np.float64))
# What (hidden, visible) look like.
WRITTEN: dict[tuple[Polarity, np.dtype[Any]], tuple[Any, Any]] = {
    (Polarity.ONE_ATTENDS, BOOL): (False, True),
    (Polarity.ONE_ATTENDS, INT8): (0, 1),
    (Polarity.ONE_ATTENDS, FLOAT32): (0.0, 1.0),
    (Polarity.ONE_HIDES, BOOL): (True, False),
    (Polarity.ONE_HIDES, INT8): (1, 0),
    (Polarity.ADDITIVE_INF, FLOAT32): (-np.inf, 0.0),
    (Polarity.ADDITIVE_MIN, FLOAT32): (LOWEST, 0.0),
    (Polarity.ADDITIVE_MIN, FLOAT64): (float(np.finfo(np.float64).min), 0.0),
    (Polarity.ADDITIVE_SUM, FLOAT32): (LOWEST, 0.0),
}
FORMS = [
    MaskForm(polarity, orientation, prefix, causality, root, dtype)
    for (polarity, dtype), orientation, prefix, causality, root in product(
        WRITTEN, Orientation, PrefixColumns, Causality, RootRow
    )
]
batches = st.lists(st.tuples(candidate_trees(vocab_size=3, max_nodes=6), st.integers(1, 5)), min_size=1, max_size=4)


def expected(trees: list[CandidateTree], lens: list[int], form: MaskForm) -> list[list[list[bool]]]:
    """Whether each row of each request attends to each column, by the rules of one request at a time."""
    longest, largest = max(lens) - 1, max(map(len, trees))
    out = []
    for tree, length in zip(trees, lens, strict=True):
        seen = visible(tree.parents.tolist())
        rows = []
        for v in range(largest):
            before = [v < len(tree) and longest - (length - 1) <= column for column in range(longest)]
            block = [v < len(tree) and u < len(tree) and seen[v][u] for u in range(largest)]
            if form.prefix is PrefixColumns.IMPLICIT:
                row = block[1:] if form.root is RootRow.PREFIX_ROW else block
            else:
                row = before + block
            rows.append(row)
        out.append(rows[1:] if form.root is RootRow.PREFIX_ROW else rows)
    return out


@given(batches, st.integers(0, 5))
def test_every_form_is_written_entry_by_entry_and_read_back(batch: list[tuple[CandidateTree, int]], first: int) -> None:
    """In each of 144 forms, a sixth of them at a time, a ragged batch is what the rules say, and its parents come back."""
    trees, lens = [tree for tree, _ in batch], [length for _, length in batch]
    for form in FORMS[first::6]:
        hidden, seen = WRITTEN[form.polarity, form.dtype]
        mask = encode_dense(trees, lens, form).mask
        assert mask.dtype == form.dtype
        turned = np.swapaxes(mask, 1, 2) if form.orientation is Orientation.KEY_QUERY else mask
        wanted = [[[seen if one else hidden for one in row] for row in rows] for rows in expected(trees, lens, form)]
        assert turned.tolist() == wanted, form
        stored = decode_dense(DenseMask(tuple(tree.tokens for tree in trees), mask), lens, form)
        assert [one.parents.tolist() for one in stored] == [tree.parents.tolist() for tree in trees]


@given(st.data())
def test_any_order_of_storage_is_read_where_the_mask_replaces_causality(data: st.DataObject) -> None:
    """A mask names parents in any order; below a causal mask an order with a parent after its child is refused there."""
    tree = data.draw(candidate_trees(vocab_size=3, max_nodes=8))
    order = data.draw(storage_orders(tree))
    tokens, parents, _ = tree.stored(order)
    block = np.array(visible(parents.tolist()))
    form = MaskForm(prefix=PrefixColumns.IMPLICIT)
    mask = DenseMask((tokens,), block[None])
    assert decode_dense(mask, [1], form)[0].parents.tolist() == parents.tolist()
    late = [node for node, parent in enumerate(parents.tolist()) if parent > node]
    narrows = MaskForm(prefix=PrefixColumns.IMPLICIT, causality=Causality.NARROWS)
    if not late:
        assert decode_dense(mask, [1], narrows)[0].parents.tolist() == parents.tolist()
    else:
        with pytest.raises(InvalidEncoding, match="looks ahead; expected parents first") as caught:
            decode_dense(mask, [1], narrows)
        assert caught.value.index == (0, late[0], int(parents[late[0]]))


def blocks_of_trees(n: int) -> dict[tuple[tuple[bool, ...], ...], list[int]]:
    """The visible block of every tree of n nodes in any storage order, and the parents that make it."""
    found = {}
    for parents in product(range(-1, n), repeat=n):
        try:
            CandidateTree.normalised([0] * n, list(parents))
        except InvalidTree:
            continue
        found[tuple(map(tuple, visible(parents)))] = list(parents)
    return found


def test_a_square_of_bits_is_taken_exactly_if_it_is_a_tree() -> None:
    """Of all squares of up to 3 x 3 bits those are read that are the visible block of some parents, and as those parents."""
    for n, trees in ((1, 1), (2, 2), (3, 9)):  # labelled rooted trees: n to the power n - 1
        known = blocks_of_trees(n)
        assert len(known) == trees
        for bits in product([False, True], repeat=n * n):
            block = tuple(bits[v * n : v * n + n] for v in range(n))
            if block in known:
                assert parents_of(np.array(block), Field("test", "block")).tolist() == known[block]
                continue
            with pytest.raises(InvalidEncoding):
                parents_of(np.array(block), Field("test", "block"))


def test_an_entry_between_the_two_values_is_refused_where_it_stands() -> None:
    """Half visible, NaN, the wrong infinity, the lowest value of another dtype: named with its index as stored."""
    tree = CandidateTree([5, 6, 7], [-1, 0, 0])
    cases: list[tuple[Polarity, Any, Any]] = [
        (Polarity.ONE_ATTENDS, FLOAT32, 0.5),
        (Polarity.ONE_ATTENDS, INT8, -1),
        (Polarity.ONE_HIDES, INT8, 2),
        (Polarity.ONE_ATTENDS, FLOAT32, np.nan),
        (Polarity.ADDITIVE_MIN, FLOAT32, -1e4),
        (Polarity.ADDITIVE_MIN, FLOAT32, -np.inf),
        (Polarity.ADDITIVE_INF, FLOAT32, LOWEST),
        (Polarity.ADDITIVE_SUM, FLOAT32, np.nan),
        (Polarity.ADDITIVE_MIN, FLOAT64, LOWEST),
    ]
    for polarity, dtype, value in cases:
        form = MaskForm(polarity, Orientation.KEY_QUERY, dtype=dtype)
        mask = encode_dense([tree], [3], form)
        mask.mask[0, 4, 1] = value  # the key of node 2, the query of node 1
        with pytest.raises(InvalidEncoding, match="expected 0 or") as caught:
            decode_dense(mask, [3], form)
        assert (caught.value.field, caught.value.index) == ("mask", (0, 4, 1))


def test_summed_minima_are_read_as_hidden() -> None:
    """Two lowest values that were added overflow to -inf: hidden under the polarity that says so."""
    tree = CandidateTree([5, 6, 7], [-1, 0, 0])
    form = MaskForm(Polarity.ADDITIVE_SUM, dtype=FLOAT32)
    mask = encode_dense([tree], [3], form)
    with np.errstate(over="ignore"):
        summed = mask.mask + mask.mask
    assert (summed == -np.inf).any()
    assert decode_dense(DenseMask(mask.tokens, summed), [3], form)[0].parents.tolist() == [-1, 0, 0]


def test_leaks_are_named_where_they_stand() -> None:
    """A sibling seen, an ancestor lost, itself hidden, the prefix lost, padding seen: each at its own entry."""
    trees = [CandidateTree([5, 6, 7, 8], [-1, 0, 0, 1]), CandidateTree([5], [-1])]
    lens, form = [3, 2], MaskForm()
    cases = {
        (0, 3, 4): "is visible; expected hidden, as for node 1, the deepest it sees",
        (0, 3, 2): "is hidden; expected visible, as for node 1, the deepest it sees",
        (0, 1, 3): "is hidden; expected a node to see itself",
        (0, 1, 0): "is hidden; expected otherwise, as it is the request's own prefix",
        (1, 0, 0): "is visible; expected otherwise, as it is padding",
        (1, 2, 2): "is visible; expected otherwise, as it is padding",
    }
    for index, detail in cases.items():
        mask = encode_dense(trees, lens, form)
        mask.mask[index] = not mask.mask[index]
        with pytest.raises(InvalidEncoding) as caught:
            decode_dense(mask, lens, form)
        assert (caught.value.index, caught.value.detail) == (index, detail)


@pytest.mark.parametrize("polarity", [Polarity.ADDITIVE_INF, Polarity.ADDITIVE_MIN, Polarity.ADDITIVE_SUM])
def test_a_form_whose_dtype_cannot_hold_it_is_refused(polarity: Polarity) -> None:
    """An additive mask of integers is no form."""
    with pytest.raises(UsageError, match="cannot have dtype bool; expected a floating type"):
        MaskForm(polarity)


def test_the_declared_form_is_the_one_that_counts() -> None:
    """The same bits under the other polarity, the other orientation or as integers are refused, never reinterpreted."""
    tree = CandidateTree([5, 6, 7, 8], [-1, 0, 0, 1])
    mask = encode_dense([tree], [1], MaskForm())
    for wrong in (
        MaskForm(Polarity.ONE_HIDES),
        MaskForm(orientation=Orientation.KEY_QUERY),
        MaskForm(dtype=INT8),
        MaskForm(root=RootRow.PREFIX_ROW),
    ):
        with pytest.raises(InvalidEncoding):
            decode_dense(mask, [1], wrong)
