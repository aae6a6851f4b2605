"""A tree is a value: it cannot be changed, equal trees are equal and hash alike, and it survives every way of writing it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import TreeData
from tree_oracle.strategies import candidate_trees, topological_orders
from tree_oracle.tree import CandidateTree, InvalidTree

trees = candidate_trees(vocab_size=5)


@st.composite
def weighted_trees(draw: st.DrawFn) -> CandidateTree:
    """A tree with or without log-probabilities, zero probabilities included."""
    tree = draw(trees)
    if draw(st.booleans()):
        return tree
    edges = st.lists(st.floats(max_value=0.0), min_size=len(tree) - 1, max_size=len(tree) - 1)
    return CandidateTree(tree.tokens, tree.parents, [0.0, *draw(edges)])


def test_a_tree_cannot_be_changed() -> None:
    """No field can be set and no array written to, derived ones included."""
    tree = CandidateTree([0, 1], [-1, 0], [0.0, -1.0])
    with pytest.raises(FrozenInstanceError):
        tree.tokens = np.array([5, 5])  # type: ignore[misc]
    for array in (tree.tokens, tree.parents, tree.edge_log_probs, tree.depths, tree.ancestors):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_a_copy_cannot_be_changed_either(again: Callable[[CandidateTree], CandidateTree]) -> None:
    """Copies and pickles are equal to the tree and as read-only as it is."""
    tree = CandidateTree([0, 1], [-1, 0], [0.0, -1.0])
    twin = again(tree)
    assert twin == tree
    assert twin.edge_log_probs is not None
    assert not any(array.flags.writeable for array in (twin.tokens, twin.parents, twin.edge_log_probs))


@given(weighted_trees(), weighted_trees())
def test_trees_are_equal_when_all_their_entries_are(one: CandidateTree, other: CandidateTree) -> None:
    """Equality means equal tokens, parents and log-probabilities, and equal trees hash alike."""
    same = (
        one.tokens.tolist() == other.tokens.tolist()
        and one.parents.tolist() == other.parents.tolist()
        and (one.edge_log_probs is None) == (other.edge_log_probs is None)
        and (one.edge_log_probs is None or one.edge_log_probs.tolist() == other.edge_log_probs.tolist())  # type: ignore[union-attr]
    )
    assert (one == other) == same
    assert not same or hash(one) == hash(other)


def test_a_negative_zero_is_a_zero() -> None:
    """Log-probabilities of 0.0 and -0.0 make equal trees with equal hashes."""
    one, other = (CandidateTree([0, 1], [-1, 0], [zero, zero]) for zero in (0.0, -0.0))
    assert one == other
    assert len({one, other}) == 1


def test_a_tree_equals_no_other_thing() -> None:
    """Comparison with something that is no tree is false, not an error."""
    tree = CandidateTree([0, 1], [-1, 0])
    assert tree != tree.to_data()
    assert tree != [0, 1]


@given(weighted_trees())
def test_the_repr_builds_the_tree_again(tree: CandidateTree) -> None:
    """What a failing test prints can be pasted back."""
    assert eval(repr(tree), {"CandidateTree": CandidateTree, "inf": np.inf}) == tree


def test_the_repr_of_a_large_tree_is_short() -> None:
    """Above 64 nodes the repr counts instead of listing."""
    chain = CandidateTree([0] * 65, range(-1, 64))
    assert repr(chain) == "<CandidateTree of 65 nodes, 1 leaves, depth 64>"


@given(trees)
def test_a_record_holds_the_whole_tree(tree: CandidateTree) -> None:
    """Writing a tree as plain data and reading it gives the same tree."""
    data = tree.to_data()
    assert all(type(value) is int for value in (*data.tokens, *data.parents))
    assert CandidateTree.from_data(data) == tree


def test_a_record_is_checked_like_any_other_input() -> None:
    """A record that holds no tree is refused when it is read."""
    with pytest.raises(InvalidTree, match=r"^orphan: node 1 has parent 4"):
        CandidateTree.from_data(TreeData((0, 0), (-1, 4)))


@given(st.data())
def test_numbering_is_all_that_may_differ(data: st.DataObject) -> None:
    """A tree is the same up to numbering as each of its renumberings, and as another tree only where some order shows it."""
    tree = data.draw(weighted_trees())
    renumbered = CandidateTree(*tree.stored(data.draw(topological_orders(tree))))
    assert tree.same_up_to_numbering(renumbered)
    assert renumbered.same_up_to_numbering(tree)


def test_sameness_counts_equal_siblings_and_log_probabilities() -> None:
    """Two equal siblings are not three, and trees that differ in one log-probability, or have none, are not the same."""
    two, three = CandidateTree([0, 1, 1], [-1, 0, 0]), CandidateTree([0, 1, 1, 1], [-1, 0, 0, 0])
    assert not two.same_up_to_numbering(three)
    weighted = [
        CandidateTree(two.tokens, two.parents, [0.0, *edges]) for edges in ([-1.0, -2.0], [-2.0, -1.0], [-1.0, -1.0])
    ]
    assert weighted[0].same_up_to_numbering(weighted[1])
    assert not weighted[0].same_up_to_numbering(weighted[2])
    assert not weighted[0].same_up_to_numbering(two)


def nested(tree: CandidateTree, node: int = 0) -> tuple[int, list[object]]:
    """The tree as nested sorted lists, the plain definition of sameness."""
    return int(tree.tokens[node]), sorted((nested(tree, child) for child in tree.children(node)), key=repr)


few_tokens = candidate_trees(vocab_size=1, max_nodes=5) | candidate_trees(vocab_size=2, max_nodes=5)


@given(few_tokens, few_tokens)
def test_sameness_is_that_of_nested_multisets(one: CandidateTree, other: CandidateTree) -> None:
    """Two trees are the same up to numbering exactly when their nested multisets of children are equal."""
    assert one.same_up_to_numbering(other) == (nested(one) == nested(other))


@given(trees)
def test_children_paths_and_leaves_fit_the_parents(tree: CandidateTree) -> None:
    """Children are the nodes that name a parent, leaves those that nobody names, paths run from the root by parents."""
    parents = tree.parents.tolist()
    for node in range(len(tree)):
        assert list(tree.children(node)) == [child for child, parent in enumerate(parents) if parent == node]
        path = tree.path(node)
        assert (path[0], path[-1]) == (0, node)
        assert all(parents[child] == parent for parent, child in pairwise(path))
        assert set(np.flatnonzero(tree.ancestors[node])) == set(path[:-1])
    assert tree.leaves == tuple(sorted(set(range(len(tree))) - set(parents)))
    assert tree.paths == tuple(tree.path(leaf) for leaf in tree.leaves)
    assert tree.max_depth == max(len(path) for path in tree.paths) - 1
