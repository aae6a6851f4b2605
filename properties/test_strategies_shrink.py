"""Quality of the strategies: they reach what wakes faults, keep their bounds, and shrink to the smallest case there is."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from tree_oracle.record import UsageError
from tree_oracle.strategies import (
    ScriptedTree,
    candidate_trees,
    greedy_tables,
    invalid_trees,
    prefixes,
    scripted_trees,
    storage_orders,
    topological_orders,
)
from tree_oracle.tree import CandidateTree, TreeFault

pytestmark = pytest.mark.sweep

T = TypeVar("T")
VOCAB = 61

trees = candidate_trees(vocab_size=VOCAB)
distinct = candidate_trees(vocab_size=VOCAB, distinct_siblings=True)


# Rare shapes need more examples than the profile draws; a search ends at the first. Nobody reads the explain phase here.
SEARCH = settings(max_examples=3000, database=None, phases=[Phase.generate, Phase.shrink])


def smallest(strategy: st.SearchStrategy[T], condition: Callable[[T], Any]) -> T:
    """What Hypothesis reports as the simplest case that meets a condition, searched for from a fixed seed."""
    return find(strategy, condition, settings=SEARCH, random=Random(0))


def reached(strategy: st.SearchStrategy[T], condition: Callable[[T], Any]) -> bool:
    """Whether a case is met at all, before any shrinking."""
    try:
        find(strategy, condition, settings=settings(SEARCH, phases=[Phase.generate]), random=Random(0))
    except NoSuchExample:
        return False
    return True


def anything(_: object) -> bool:
    return True


def leaf_depths(tree: CandidateTree) -> set[int]:
    return {int(tree.depths[leaf]) for leaf in tree.leaves}


def twins(tree: CandidateTree) -> bool:
    edges = list(zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True))
    return len(set(edges)) < len(edges)


def cousins(tree: CandidateTree) -> bool:
    """Equal tokens under different parents, neither the root."""
    edges = set(zip(tree.parents.tolist()[1:], tree.tokens.tolist()[1:], strict=True))
    return len({token for _, token in edges}) < len(edges)


def level_by_level(tree: CandidateTree) -> bool:
    return bool((np.diff(tree.depths) >= 0).all())


def branch_by_branch(tree: CandidateTree) -> bool:
    return all(int(tree.parents[node]) in tree.path(node - 1) for node in range(1, len(tree)))


@pytest.mark.parametrize(
    ("strategy", "condition", "tokens", "parents"),
    [
        (trees, anything, [0], [-1]),
        (trees, lambda tree: len(tree) >= 3, [0, 0, 0], [-1, 0, 0]),
        (trees, lambda tree: len(leaf_depths(tree)) > 1, [0, 0, 0, 0], [-1, 0, 0, 1]),
        (trees, lambda tree: tree.max_depth >= 4, [0] * 5, [-1, 0, 1, 2, 3]),
        (trees, lambda tree: len(tree.leaves) >= 4, [0] * 5, [-1, 0, 0, 0, 0]),
        (trees, twins, [0, 0, 0], [-1, 0, 0]),
        (distinct, lambda tree: len(tree.leaves) >= 3, [0, 0, 1, 2], [-1, 0, 0, 0]),
        (trees, lambda tree: (tree.tokens[1:] >= 7).any(), [0, 7], [-1, 0]),
        (trees, lambda tree: not level_by_level(tree), [0, 0, 0, 0], [-1, 0, 1, 0]),
        (trees, lambda tree: not branch_by_branch(tree), [0, 0, 0, 0], [-1, 0, 0, 1]),
    ],
    ids=["any", "size", "unequal", "deep", "wide", "twins", "distinct", "token", "depth first", "breadth first"],
)  # fmt: skip
def test_trees_shrink_to_the_smallest_that_meets_a_condition(
    strategy: st.SearchStrategy[CandidateTree],
    condition: Callable[[CandidateTree], Any],
    tokens: list[int],
    parents: list[int],
) -> None:
    """The reported tree has as few nodes, as low parents and as small tokens as the condition allows."""
    assert smallest(strategy, condition) == CandidateTree(tokens, parents)


@pytest.mark.parametrize(
    "condition",
    [
        lambda tree: len(tree) == 12 and tree.max_depth == 11,
        lambda tree: len(tree) == 12 and tree.max_depth == 1,
        lambda tree: len(tree) == 12 and tree.max_depth > 3 and level_by_level(tree) and not branch_by_branch(tree),
        lambda tree: len(tree) == 12 and tree.max_depth > 3 and branch_by_branch(tree) and not level_by_level(tree),
        lambda tree: len(tree) == 12 and not branch_by_branch(tree) and not level_by_level(tree),
        lambda tree: len(leaf_depths(tree)) >= 4,
        lambda tree: twins(tree) and cousins(tree) and len(set(tree.tokens.tolist())) > 4,
    ],
    ids=["chain", "star", "breadth first", "depth first", "neither", "unequal", "twins and cousins"],
)
def test_full_trees_of_every_family_are_drawn(condition: Callable[[CandidateTree], Any]) -> None:
    """Each family of shapes is met at full size within the examples of one search."""
    assert reached(trees, condition)


@pytest.mark.parametrize("parents", [[-1, 0, a, b] for a in range(2) for b in range(3)])
def test_every_small_shape_is_reached(parents: list[int]) -> None:
    """Of the trees of four nodes none is left out."""
    assert reached(candidate_trees(vocab_size=VOCAB, max_nodes=4), lambda tree: tree.parents.tolist() == parents)


@given(st.data())
def test_trees_keep_their_bounds(data: st.DataObject) -> None:
    """Nodes, depth, vocabulary and distinctness are within what was asked for, however tight."""
    vocab_size = data.draw(st.integers(1, 3))
    max_depth = data.draw(st.none() | st.integers(1, 3))
    min_nodes = data.draw(st.integers(1, 2))
    bounds = {"vocab_size": vocab_size, "max_depth": max_depth, "min_nodes": min_nodes, "max_nodes": 9}
    siblings = data.draw(st.booleans())
    tree = data.draw(candidate_trees(**bounds, distinct_siblings=siblings))  # type: ignore[arg-type]
    assert min_nodes <= len(tree) <= 9
    assert max_depth is None or tree.max_depth <= max_depth
    assert (tree.tokens < vocab_size).all()
    assert not (siblings and twins(tree))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: candidate_trees(vocab_size=0), "vocab_size is 0; expected at least 1"),
        (
            lambda: candidate_trees(vocab_size=5, min_nodes=3, max_nodes=2),
            "trees of 3 to 2 nodes; expected 1 <= min_nodes <= max_nodes",
        ),
        (lambda: candidate_trees(vocab_size=5, max_depth=-1), "max_depth is -1; expected 0 or more"),
        (
            lambda: candidate_trees(vocab_size=2, min_nodes=8, max_depth=2, distinct_siblings=True),
            "min_nodes is 8, but a tree within these bounds has at most 7 nodes",
        ),
        (
            lambda: prefixes(vocab_size=5, min_size=0),
            "prefixes of 0 to 8 tokens; expected 1 <= min_size <= max_size",
        ),
    ],
)
def test_bounds_that_nothing_meets_are_refused(wrong: Callable[[], Any], message: str) -> None:
    """A strategy that could draw nothing is refused when it is made, with the bounds that clash."""
    with pytest.raises(UsageError) as caught:
        wrong()
    assert str(caught.value) == message


def test_a_fault_that_arrays_cannot_have_is_refused() -> None:
    """Asking for invalid arrays with a fault of log-probabilities is a usage error, not an empty strategy."""
    with pytest.raises(
        UsageError, match=r"^faults \['log-probability out of range'\]; expected some of \['wrong dtype'"
    ):
        invalid_trees(faults=[TreeFault.LOG_PROBABILITY])


@given(st.data())
def test_orders_are_what_they_are_called(data: st.DataObject) -> None:
    """Storage orders are permutations; topological ones store every parent before its children."""
    tree = data.draw(trees)
    order = data.draw(storage_orders(tree)).tolist()
    assert sorted(order) == list(range(len(tree)))
    order = data.draw(topological_orders(tree)).tolist()
    assert sorted(order) == list(range(len(tree)))
    assert all(order.index(int(tree.parents[node])) < order.index(node) for node in range(1, len(tree)))


def test_orders_shrink_to_the_order_of_the_tree() -> None:
    """Orders that need not differ do not, and those that must differ in one exchange."""
    star = CandidateTree([0, 0, 0], [-1, 0, 0])
    assert smallest(storage_orders(star), anything).tolist() == [0, 1, 2]
    assert smallest(storage_orders(star), lambda order: order[0] != 0).tolist() == [1, 0, 2]
    assert smallest(topological_orders(star), lambda order: order[1] != 1).tolist() == [0, 2, 1]


def test_prefixes_shrink_to_zeros() -> None:
    """The shortest prefix that meets a condition is reported, its tokens as small as may be."""
    assert smallest(prefixes(vocab_size=VOCAB), anything) == (0,)
    assert smallest(prefixes(vocab_size=VOCAB), lambda prefix: len(prefix) > 2) == (0, 0, 0)
    assert smallest(prefixes(vocab_size=VOCAB), lambda prefix: VOCAB - 1 in prefix) == (VOCAB - 1,)


@given(st.data())
def test_tables_answer_equal_histories_alike(data: st.DataObject) -> None:
    """Nodes with the same tokens from the root on have one row, and a table has one row per node."""
    tree = data.draw(candidate_trees(vocab_size=2))
    table = data.draw(greedy_tables(tree, 4))
    assert table.shape == (len(tree), 4)
    rows: dict[tuple[int, ...], list[float]] = {}
    for node in range(len(tree)):
        row = table[node].tolist()
        assert rows.setdefault(tuple(tree.tokens[list(tree.path(node))].tolist()), row) == row


def test_tables_hold_ties_and_shrink_to_zeros() -> None:
    """A tied maximum that is not the whole row is met, and a table that need not differ from zero does not."""
    pair = CandidateTree([0, 1], [-1, 0])
    tied = smallest(greedy_tables(pair, 3), lambda table: (table[1] == table[1].max()).sum() == 2)
    assert tied.tolist() == [[0, 0, 0], [0, 1, 1]]
    assert not smallest(greedy_tables(pair, 3), anything).any()


def test_scripted_trees_reach_scattered_goals() -> None:
    """A goal whose path skips slots is met and shrinks to two branches of which the first is the longer."""
    scattered = smallest(
        scripted_trees(vocab_size=VOCAB, distinct_siblings=True),
        lambda script: script.goal_depth > 1 and script.path != tuple(range(1, script.goal_depth + 1)),
    )
    assert scattered == ScriptedTree((-1, 0, 0, 1), (0, 0, 1, 0), goal=3, distinct_siblings=True)


@given(st.data())
def test_a_script_is_written_along_the_path_alone(data: st.DataObject) -> None:
    """Scripted tokens stand at the root and on the path; elsewhere a token changes only to stay unlike a sibling."""
    siblings = data.draw(st.booleans())
    script = data.draw(scripted_trees(vocab_size=3, distinct_siblings=siblings))
    path = data.draw(st.lists(st.integers(0, 2), min_size=script.goal_depth, max_size=script.goal_depth))
    tree = script.with_path_tokens(9, path)
    assert tree.parents.tolist() == list(script.parents)
    assert tree.tokens[list(tree.path(script.goal))].tolist() == [9, *path]
    assert not (siblings and twins(tree))
    for node in set(range(1, len(tree))) - set(script.path):
        on_path = [other for other in script.path if script.parents[other] == script.parents[node]]
        displaced = siblings and any(tree.tokens[other] == script.tokens[node] for other in on_path)
        assert displaced or tree.tokens[node] == script.tokens[node]


def test_a_script_of_the_wrong_length_is_refused() -> None:
    """One token is needed for every node of the path, no more and no fewer."""
    script = ScriptedTree((-1, 0, 1), (0, 0, 0), goal=2)
    with pytest.raises(UsageError, match=r"^1 tokens for a path of 2 nodes to node 2$"):
        script.with_path_tokens(0, [1])
