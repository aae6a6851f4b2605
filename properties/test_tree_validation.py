"""What is no tree is refused, with the kind of fault and the node; what is a tree is taken, however it was handed in."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import TreeOracleError, UsageError
from tree_oracle.strategies import (
    candidate_trees,
    invalid_log_probs,
    invalid_trees,
)
from tree_oracle.tree import CandidateTree, InvalidTree, TreeFault

VOCAB = 5

# Parents that are mostly in range, so that trees, near-trees and nonsense all occur.
any_parents = st.integers(0, 6).flatmap(lambda n: st.lists(st.integers(-2, n), min_size=n, max_size=n))


def reaches_a_root(parents: list[int], node: int) -> bool:
    """Whether the chain of parents ends at -1, followed as far as a tree of this size can be deep."""
    for _ in parents:
        if not 0 <= node < len(parents):
            return False
        if parents[node] == -1:
            return True
        node = parents[node]
    return False


def is_tree(parents: list[int]) -> bool:
    return parents.count(-1) == 1 and all(reaches_a_root(parents, node) for node in range(len(parents)))


def accepts(build: Any, parents: list[int]) -> bool:
    try:
        build([0] * len(parents), parents)
    except InvalidTree:
        return False
    return True


@given(any_parents)
def test_the_constructor_takes_exactly_the_canonical_trees(parents: list[int]) -> None:
    """Parents are accepted if and only if they form a tree with the root first and every parent before its children."""
    canonical = is_tree(parents) and all(parent < node for node, parent in enumerate(parents))
    assert accepts(CandidateTree, parents) == canonical


@given(any_parents)
def test_normalised_takes_exactly_the_trees(parents: list[int]) -> None:
    """Parents are normalised if and only if one node has none and every node is below it."""
    assert accepts(CandidateTree.normalised, parents) == is_tree(parents)


@pytest.mark.parametrize("kind", [kind for kind in TreeFault if kind is not TreeFault.LOG_PROBABILITY])
@given(data=st.data())
def test_every_kind_of_fault_is_refused_as_what_it_is(kind: TreeFault, data: st.DataObject) -> None:
    """Arrays with one planted fault raise InvalidTree with its kind, and a node that exists where one is to blame."""
    wrong = data.draw(invalid_trees(vocab_size=VOCAB, faults=[kind]))
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(wrong.tokens, wrong.parents, vocab_size=VOCAB, distinct_siblings=True)
    assert caught.value.kind is kind
    assert caught.value.node is None or caught.value.node in range(len(wrong.parents))


@given(st.data())
def test_a_tree_in_another_order_is_only_misplaced(data: st.DataObject) -> None:
    """The one fault that normalising heals is a parent stored after its child."""
    wrong = data.draw(invalid_trees(vocab_size=VOCAB, faults=[TreeFault.PARENT_AFTER_CHILD]))
    tree, _ = CandidateTree.normalised(wrong.tokens, wrong.parents, vocab_size=VOCAB, distinct_siblings=True)
    assert len(tree) == len(wrong.tokens)


@given(st.data())
def test_a_log_probability_is_at_most_zero(data: st.DataObject) -> None:
    """NaN, anything above 0, and anything but 0 at the root is refused at its node."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    values, node = data.draw(invalid_log_probs(tree))
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(tree.tokens, tree.parents, values)
    assert (caught.value.kind, caught.value.node) == (TreeFault.LOG_PROBABILITY, node)


CHAIN = [-1, 0, 1]
MESSAGES: list[tuple[dict[str, Any], int | None, str]] = [
    (
        {"tokens": [0, 1, 2], "parents": [-1, 2, 1]},
        1,
        "cycle: node 1 is its own ancestor; its parent is 2",
    ),
    (
        {"tokens": [0, 1, 2], "parents": [-1, 0, 7]},
        2,
        "orphan: node 2 has parent 7; expected a slot from 0 to 2, or -1 for the root",
    ),
    (
        {"tokens": [0, 1], "parents": [-2, 0]},
        0,
        "orphan: node 0 has parent -2; expected a slot from 0 to 1, or -1 for the root",
    ),
    (
        {"tokens": [0, 1, 2], "parents": [-1, 0, -1]},
        2,
        "two roots: nodes 0 and 2 both have parent -1; expected exactly one root",
    ),
    (
        {"tokens": [0, 1], "parents": [1, 0]},
        None,
        "no root: none of 2 nodes has parent -1; expected exactly one",
    ),
    (
        {"tokens": [], "parents": []},
        None,
        "no root: none of 0 nodes has parent -1; expected exactly one",
    ),
    (
        {"tokens": [0, 1, 2], "parents": [-1, 2, 0]},
        1,
        "parent after child: node 1 is stored before its parent 2; expected parents first (CandidateTree.normalised sorts)",
    ),
    (
        {"tokens": [0, 1], "parents": [0, 0]},
        0,
        "self-parent: node 0 is its own parent; a root has parent -1",
    ),
    (
        {"tokens": [0, 1, 5], "parents": CHAIN, "vocab_size": 5},
        2,
        "token out of range: node 2 has token 5; expected 0 to 4",
    ),
    (
        {"tokens": [0, -1, 5], "parents": CHAIN},
        1,
        "token out of range: node 1 has token -1; expected 0 or more",
    ),
    (
        {"tokens": [0, True, 5], "parents": CHAIN},
        1,
        "wrong dtype: tokens[1] is True; expected an integer",
    ),
    (
        {"tokens": [0, 1, 2**63], "parents": CHAIN},
        2,
        f"wrong dtype: tokens[2] is {2**63}; expected an integer of 64 bits",
    ),
    (
        {"tokens": np.array([0, 2**63, 2], dtype=np.uint64), "parents": CHAIN},
        1,
        f"wrong dtype: tokens[1] is {2**63}; expected an integer of 64 bits",
    ),
    (
        {"tokens": "012", "parents": CHAIN},
        None,
        "wrong dtype: tokens is a str; expected a sequence or numpy array",
    ),
    (
        {"tokens": [0, 1, 2], "parents": np.array(CHAIN, dtype=np.float32)},
        None,
        "wrong dtype: parents has dtype float32; expected integers",
    ),
    (
        {"tokens": [0, 1], "parents": CHAIN},
        None,
        "wrong length: parents has 3 entries for 2 tokens; expected 2",
    ),
    (
        {"tokens": [0, 1, 2], "parents": np.array([CHAIN])},
        None,
        "wrong length: parents has shape (1, 3); expected one dimension",
    ),
    (
        {"tokens": [0, 1, 2, 1], "parents": [-1, 0, 0, 0], "distinct_siblings": True},
        3,
        "duplicate siblings: nodes 1 and 3 are children of node 0 with the same token 1",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": [0.0, -1.0, 0.5]},
        2,
        "log-probability out of range: node 2 has log-probability 0.5; expected at most 0.0",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": [0.0, float("nan"), 0.5]},
        1,
        "log-probability out of range: node 1 has log-probability NaN; expected at most 0.0",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": [-1.0, -1.0, -1.0]},
        0,
        "log-probability out of range: node 0 has log-probability -1.0; expected 0.0, as the root has no edge",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": [0.0, -1.0]},
        None,
        "wrong length: edge_log_probs has 2 entries for 3 tokens; expected 3",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": [0.0, None, 0.5]},
        1,
        "wrong dtype: edge_log_probs[1] is None; expected a real number",
    ),
    (
        {"tokens": [0, 1, 2], "parents": CHAIN, "edge_log_probs": np.array([0, -1, -1])},
        None,
        "wrong dtype: edge_log_probs has dtype int64; expected floats",
    ),
]


@pytest.mark.parametrize(("arguments", "node", "message"), MESSAGES, ids=[message for *_, message in MESSAGES])
def test_the_message_names_the_value_and_what_was_expected(
    arguments: dict[str, Any], node: int | None, message: str
) -> None:
    """A refusal says in one line which node is at fault, what it holds and what a tree needs."""
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(**arguments)
    assert str(caught.value) == message
    assert caught.value.node == node


def test_of_several_faults_the_first_in_the_listed_order_is_reported() -> None:
    """An orphan, a self-parent, two roots and a wrong token at once are reported as the orphan."""
    with pytest.raises(InvalidTree, match=r"^orphan: node 4 has parent 9"):
        CandidateTree([-1, 0, 0, 0, 0], [-1, 1, -1, 0, 9])


def test_normalised_names_nodes_by_the_slots_handed_in() -> None:
    """A fault in a tree stored leaf first is reported at the caller's slot, not at the normalised one."""
    with pytest.raises(InvalidTree) as caught:
        CandidateTree.normalised([9, 1, 0], [1, 2, -1], vocab_size=5)
    assert (caught.value.kind, caught.value.node) == (TreeFault.TOKEN, 0)
    with pytest.raises(InvalidTree) as caught:
        CandidateTree.normalised([0, 1, 0], [1, 2, -1], [-1.0, -1.0, -1.0])
    assert (caught.value.kind, caught.value.node) == (TreeFault.LOG_PROBABILITY, 2)


def test_the_exception_is_typed_and_travels() -> None:
    """A refusal is both a TreeOracleError and a ValueError, and survives the way back from another process."""
    error = InvalidTree(TreeFault.CYCLE, 3, "node 3 is its own ancestor")
    assert isinstance(error, TreeOracleError)
    assert isinstance(error, ValueError)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.kind, copy.node) == (str(error), error.kind, error.node)


@given(st.data())
def test_any_integers_are_taken_and_copied(data: st.DataObject) -> None:
    """Lists, tuples and arrays of every integer width, strided ones too, give the same tree, which no later write changes."""
    tree = data.draw(candidate_trees(vocab_size=VOCAB))
    dtype = data.draw(st.sampled_from(["int8", "uint8", "int16", "int32", "int64", "uint64", ">i4"]))
    tokens = np.repeat(tree.tokens, 2).astype(dtype)[::2]
    parents = data.draw(st.sampled_from([tree.parents.tolist(), list(tree.parents), tuple(tree.parents), tree.parents]))
    again = CandidateTree(tokens, parents)
    tokens[:] = 3
    assert again == tree
    assert again.tokens.dtype == again.parents.dtype == np.dtype(np.int64)


@given(st.data())
def test_equal_siblings_are_refused_only_where_forbidden(data: st.DataObject) -> None:
    """A tree is accepted under ``distinct_siblings`` exactly when no two children of one node hold the same token."""
    tree = data.draw(candidate_trees(vocab_size=3))
    edges = list(zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True))
    twins = [node for node, edge in enumerate(edges) if edges.index(edge) != node]
    if not twins:
        assert CandidateTree(tree.tokens, tree.parents, distinct_siblings=True) == tree
        return
    with pytest.raises(InvalidTree) as caught:
        CandidateTree(tree.tokens, tree.parents, distinct_siblings=True)
    assert (caught.value.kind, caught.value.node) == (TreeFault.DUPLICATE_SIBLINGS, twins[0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda tree: tree.path(3), "node 3 does not exist; expected a slot from 0 to 2"),
        (lambda tree: tree.children(-1), "node -1 does not exist; expected a slot from 0 to 2"),
        (lambda tree: tree.subtree(True), "node True does not exist; expected a slot from 0 to 2"),
        (lambda tree: tree.closure([0, 1.0]), "node 1.0 does not exist; expected a slot from 0 to 2"),
        (lambda tree: tree.draw(mark=5), "node 5 does not exist; expected a slot from 0 to 2"),
        (lambda tree: tree.draw(max_lines=1), "max_lines is 1; expected an integer of at least 2"),
        (lambda tree: tree.prune(0), "the root cannot be pruned: it is the last committed token"),
        (lambda tree: tree.stored([0, 1, 1]), "order [0, 1, 1] is no permutation of the slots 0 to 2"),
        (lambda tree: tree.stored([0, 1, 2.0]), "order[2] is 2.0; expected an integer"),
        (lambda _: CandidateTree([0], [-1], vocab_size=0), "vocab_size is 0; expected an integer of at least 1"),
        (lambda _: CandidateTree([0], [-1], vocab_size=True), "vocab_size is True; expected an integer of at least 1"),
    ],
)
def test_a_question_that_makes_no_sense_is_a_usage_error(wrong: Any, message: str) -> None:
    """Nodes, orders and bounds that do not exist are named, with what was expected."""
    with pytest.raises(UsageError) as caught:
        wrong(CandidateTree([0, 1, 2], CHAIN))
    assert str(caught.value) == message
