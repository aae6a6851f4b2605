"""Positions count depth, and a node sees the prefix, its own ancestors and itself: by following parents, one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.strategies import candidate_trees, storage_orders
from tree_oracle.tree import CandidateTree, Layout, additive, lay_out, permuted

trees = candidate_trees(vocab_size=5)
prefix_lens = st.integers(1, 9)


def depth(parents: list[int], node: int) -> int:
    return 0 if parents[node] == -1 else 1 + depth(parents, parents[node])


def sees(parents: list[int], node: int, other: int) -> bool:
    """Whether ``other`` is ``node`` or stands above it."""
    return node == other or (parents[node] != -1 and sees(parents, parents[node], other))


def expected(parents: list[int], prefix_len: int) -> tuple[list[int], list[list[bool]]]:
    """Positions and visibility of nodes in any storage order."""
    nodes = range(len(parents))
    positions = [prefix_len - 1 + depth(parents, node) for node in nodes]
    visible = [[True] * (prefix_len - 1) + [sees(parents, node, other) for other in nodes] for node in nodes]
    return positions, visible


@given(trees, prefix_lens)
def test_the_layout_follows_from_parents_alone(tree: CandidateTree, prefix_len: int) -> None:
    """Positions, visible sets and judging rows are those of the parent pointers, followed node by node."""
    layout = lay_out(tree, prefix_len)
    parents = tree.parents.tolist()
    assert (layout.positions.tolist(), layout.visible.tolist()) == expected(parents, prefix_len)
    assert layout.score_rows.tolist() == parents
    assert layout.positions.dtype == layout.score_rows.dtype == np.dtype(np.int64)
    assert layout.visible.dtype == np.dtype(np.bool_)


@given(st.data())
def test_the_layout_of_another_order_is_the_permuted_one(data: st.DataObject) -> None:
    """Permuting a layout gives what the shuffled arrays themselves say; cached columns stay where they are."""
    tree = data.draw(trees)
    prefix_len = data.draw(prefix_lens)
    order = data.draw(storage_orders(tree))
    parents = tree.stored(order).parents.tolist()
    layout = permuted(lay_out(tree, prefix_len), order)
    assert (layout.positions.tolist(), layout.visible.tolist()) == expected(parents, prefix_len)
    assert layout.score_rows.tolist() == parents


@given(st.integers(1, 9), prefix_lens)
def test_a_chain_is_ordinary_causal_attention(nodes: int, prefix_len: int) -> None:
    """A tree of one branch has consecutive positions and the lower triangle as its mask, element for element."""
    layout = lay_out(CandidateTree([0] * nodes, range(-1, nodes - 1)), prefix_len)
    total = prefix_len - 1 + nodes
    assert layout.positions.tolist() == list(range(prefix_len - 1, total))
    assert np.array_equal(layout.visible, np.tri(total, dtype=bool)[prefix_len - 1 :])


@given(st.data())
def test_a_node_sees_as_much_as_its_position_says(data: st.DataObject) -> None:
    """The number of visible columns is the position plus one, whatever the shape."""
    layout = lay_out(data.draw(trees), data.draw(prefix_lens))
    assert np.array_equal(layout.visible.sum(axis=1), layout.positions + 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_additive_mask_is_finite(dtype: type[np.floating[Any]]) -> None:
    """0 where visible and the lowest finite value elsewhere, in the dtype asked for."""
    visible = lay_out(CandidateTree([0, 1, 2], [-1, 0, 0]), 2).visible
    mask = additive(visible, dtype)
    assert mask.dtype == dtype
    assert (mask[visible] == 0).all()
    assert (mask[~visible] == np.finfo(dtype).min).all()
    assert np.isfinite(mask).all()


def test_a_layout_cannot_be_written_to() -> None:
    """Arrays of a layout, permuted or not, are read-only."""
    layout = lay_out(CandidateTree([0, 1], [-1, 0]), 2)
    for one in (layout, permuted(layout, [1, 0])):
        for array in (one.positions, one.visible, one.score_rows):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def a_layout() -> Layout:
    return lay_out(CandidateTree([0, 1], [-1, 0]), 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: lay_out(CandidateTree([0], [-1]), 0), "prefix_len is 0; expected an integer of at least 1"),
        (lambda: lay_out(CandidateTree([0], [-1]), 2.0), "prefix_len is 2.0; expected an integer of at least 1"),  # type: ignore[arg-type]
        (lambda: permuted(a_layout(), [0]), "order [0] is no permutation of the slots 0 to 1"),
        (lambda: permuted(a_layout(), [0, -1]), "order [0, -1] is no permutation of the slots 0 to 1"),
        (
            lambda: additive(a_layout().visible, np.int64),
            "an additive mask cannot have dtype int64; expected a floating type",
        ),
        (
            lambda: additive(np.zeros((1, 1)), np.float32),
            "visible has dtype float64; expected bool, true where a row attends",
        ),
    ],
)
def test_what_cannot_be_laid_out_is_named(wrong: Any, message: str) -> None:
    """A prefix without a root, an order that is none and a mask of the wrong kind are usage errors."""
    with pytest.raises(UsageError) as caught:
        wrong()
    assert str(caught.value) == message
