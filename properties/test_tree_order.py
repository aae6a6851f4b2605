"""The order in which a tree is stored is nobody's business: positions, visible sets, rows and what is emitted stay."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees, storage_orders, topological_orders
from tree_oracle.tree import CandidateTree, lay_out
from tree_oracle.verify import walk

VOCAB = 5


def row_after(history: tuple[int, ...]) -> np.ndarray:
    """A language model as a table: small integers that depend on the whole history."""
    return np.random.default_rng(list(history)).integers(0, 3, VOCAB).astype(float)


def rows_of(tree: CandidateTree) -> np.ndarray:
    return np.stack([row_after(tuple(tree.tokens[list(tree.path(node))])) for node in range(len(tree))])


def shuffled(tree: CandidateTree, order: np.ndarray) -> tuple[list[int], list[int]]:
    """Tokens and parents with old slot ``order[i]`` at new slot i, by looking each one up."""
    place = {int(old): new for new, old in enumerate(order)}
    tokens = [int(tree.tokens[old]) for old in order]
    parents = [place.get(int(tree.parents[old]), -1) for old in order]
    return tokens, parents


@given(st.data())
def test_any_storage_order_gives_the_same_tree(data: st.DataObject) -> None:
    """Normalising a shuffled tree gives the same tree up to numbering, and the order maps every node to its own token."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    tokens, parents = shuffled(tree, data.draw(storage_orders(tree)))
    again, order = CandidateTree.normalised(tokens, parents)
    assert again.same_up_to_numbering(tree)
    assert again.tokens.tolist() == [tokens[old] for old in order]
    new_place = {int(old): new for new, old in enumerate(order)}
    assert again.parents.tolist() == [new_place.get(parents[old], -1) for old in order]


@given(st.data())
def test_log_probabilities_travel_with_their_nodes(data: st.DataObject) -> None:
    """After shuffling and normalising every node still has the log-probability that it was drafted with."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    edges = [0.0, *(-0.5 * node for node in range(1, len(tree)))]
    tokens, parents, stored = CandidateTree(tree.tokens, tree.parents, edges).stored(data.draw(storage_orders(tree)))
    again, order = CandidateTree.normalised(tokens, parents, stored)
    assert stored is not None
    assert again.edge_log_probs is not None
    assert again.edge_log_probs.tolist() == [stored[old] for old in order]
    assert sorted(again.edge_log_probs) == sorted(edges)


@given(st.data())
def test_a_shuffled_tree_has_the_same_layout_rows_and_walk(data: st.DataObject) -> None:
    """Node by node, position, visible set, judging row and logits row do not depend on the storage order."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    shuffle = data.draw(storage_orders(tree))
    again, order = CandidateTree.normalised(*shuffled(tree, shuffle))
    old = shuffle[order]  # old[v] is the node of ``tree`` that ``again`` calls v
    before, after = lay_out(tree, 3), lay_out(again, 3)
    rows_before, rows_after = rows_of(tree), rows_of(again)
    for node, was in enumerate(old):
        assert after.positions[node] == before.positions[was]
        assert {int(old[u]) for u in np.flatnonzero(after.visible[node, 2:])} == set(
            np.flatnonzero(before.visible[was, 2:])
        )
        assert before.score_rows[was] == (old[after.score_rows[node]] if node else -1)
        assert np.array_equal(rows_after[node], rows_before[was])


@given(st.data())
def test_the_emission_does_not_depend_on_the_order(data: st.DataObject) -> None:
    """Where siblings are distinct every storage order emits the same tokens."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB, distinct_siblings=True))
    again, _ = CandidateTree.normalised(*shuffled(tree, data.draw(storage_orders(tree))))
    assert walk(again, rows_of(again)).emitted(again) == walk(tree, rows_of(tree)).emitted(tree)


@given(st.data())
def test_equal_siblings_change_only_how_much_is_emitted(data: st.DataObject) -> None:
    """With equal siblings one order may emit less, never anything else, and the longest match is the same."""
    tree = data.draw(candidate_trees(vocab_size=2))
    again, _ = CandidateTree.normalised(*shuffled(tree, data.draw(storage_orders(tree))))
    one, other = walk(tree, rows_of(tree)), walk(again, rows_of(again))
    assert one.longest == other.longest
    assert all(a == b for a, b in zip(one.emitted(tree), other.emitted(again), strict=False))


@given(st.data())
def test_canonical_order_is_the_smallest_with_parents_first(data: st.DataObject) -> None:
    """Of all orders with every parent before its children, normalising takes the lexicographically smallest."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB, max_nodes=6))
    tokens, parents = shuffled(tree, data.draw(storage_orders(tree)))
    _, order = CandidateTree.normalised(tokens, parents)
    allowed = (
        candidate
        for candidate in itertools.permutations(range(len(tree)))  # in lexicographic order
        if all(parents[v] == -1 or candidate.index(parents[v]) < candidate.index(v) for v in range(len(tree)))
    )
    assert tuple(order) == next(allowed)


@given(st.data())
def test_a_tree_with_parents_first_keeps_its_order(data: st.DataObject) -> None:
    """Any order with parents before children is left alone: breadth first, depth first or neither."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    tokens, parents = shuffled(tree, data.draw(topological_orders(tree)))
    again, order = CandidateTree.normalised(tokens, parents)
    assert order.tolist() == list(range(len(tree)))
    assert again == CandidateTree(tokens, parents)


@given(st.data())
def test_stored_arrays_are_the_shuffled_ones(data: st.DataObject) -> None:
    """``stored`` agrees with looking every node up by hand."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    order = data.draw(storage_orders(tree))
    stored = tree.stored(order)
    assert (stored.tokens.tolist(), stored.parents.tolist()) == shuffled(tree, order)
    assert stored.edge_log_probs is None
