"""Proposition 2: the verifier emits what plain greedy decoding emits, for any prefix-closed tree."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.strategies import candidate_trees, greedy_tables, scripted_trees
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import InvalidRows, walk

VOCAB = 5
seeds = st.integers(0, 999)
twins = candidate_trees(vocab_size=1) | candidate_trees(vocab_size=2)  # siblings are often equal
trees = candidate_trees(vocab_size=VOCAB)
distinct = candidate_trees(vocab_size=VOCAB, distinct_siblings=True)


def history(tree: CandidateTree, node: int) -> tuple[int, ...]:
    """The tokens from the root to a node, by following parents."""
    return () if node < 0 else (*history(tree, int(tree.parents[node])), int(tree.tokens[node]))


def target(seed: int, path: tuple[int, ...]) -> np.ndarray:
    """A language model as a table: integer logits (so ties are common) that depend on the whole history."""
    return np.random.default_rng([seed, *path]).integers(0, 3, VOCAB).astype(float)


def rows_of(tree: CandidateTree, seed: int) -> np.ndarray:
    return np.stack([target(seed, history(tree, node)) for node in range(len(tree))])


def choice(row: np.ndarray) -> int:
    """The smallest token among those with the largest score."""
    return min(token for token in range(len(row)) if all(row[token] >= other for other in row))


def greedy(seed: int, root: int, count: int) -> list[int]:
    """Plain greedy decoding, one token after another."""
    context: tuple[int, ...] = (root,)
    for _ in range(count):
        context = (*context, choice(target(seed, context)))
    return list(context[1:])


@given(trees, seeds)
def test_the_walk_emits_a_prefix_of_plain_greedy_decoding(tree: CandidateTree, seed: int) -> None:
    """Whatever the tree holds, its accepted tokens and bonus are the next greedy tokens, ties included."""
    emitted = walk(tree, rows_of(tree, seed)).emitted(tree)
    assert list(emitted) == greedy(seed, int(tree.tokens[0]), len(emitted))


@given(distinct, seeds)
def test_the_walk_stops_only_where_the_tree_does(tree: CandidateTree, seed: int) -> None:
    """No node of the tree holds the bonus below the last accepted one: the walk ends at a leaf or a missing child."""
    outcome = walk(tree, rows_of(tree, seed))
    last = (0, *outcome.accepted)[-1]
    assert outcome.bonus not in tree.tokens[list(tree.children(last))]
    assert outcome.longest == len(outcome.accepted)


@given(st.data())
def test_accepted_nodes_are_a_path_of_matches(data: st.DataObject) -> None:
    """Each accepted node is a child of the one before, holds its choice, and is the first of equal siblings to do so."""
    tree = data.draw(twins)
    rows = data.draw(greedy_tables(tree, 2))
    outcome = walk(tree, rows)
    here = 0
    for node in outcome.accepted:
        assert node == min(v for v in tree.children(here) if tree.tokens[v] == choice(rows[here]))
        here = node
    assert outcome.bonus == choice(rows[here])


@given(st.data())
def test_longest_is_the_longest_match_in_the_tree(data: st.DataObject) -> None:
    """``longest`` is the depth of the deepest node whose every step from the root is the target's choice."""
    tree = data.draw(twins)
    rows = data.draw(greedy_tables(tree, 2))
    matched = [
        len(path) - 1
        for path in (tree.path(node) for node in range(len(tree)))
        if all(tree.tokens[child] == choice(rows[parent]) for parent, child in pairwise(path))
    ]
    outcome = walk(tree, rows)
    assert outcome.longest == max(matched)
    assert len(outcome.accepted) in matched


def test_a_later_twin_may_have_matched_more() -> None:
    """The first of two equal siblings is followed even where only the second has the next token below it."""
    tree = CandidateTree([0, 1, 1, 2], [-1, 0, 0, 2])
    outcome = walk(tree, np.eye(3)[[1, 2, 2, 0]])
    assert (outcome.accepted, outcome.bonus, outcome.longest) == ((1,), 2, 2)
    assert outcome.emitted(tree) == (1, 2)


@given(st.data())
def test_a_new_leaf_never_shortens_acceptance(data: st.DataObject) -> None:
    """Where siblings are distinct, one more node leaves the accepted path as it was or makes it longer."""
    tree = data.draw(distinct)
    seed = data.draw(seeds)
    parent = data.draw(st.integers(0, len(tree) - 1))
    token = data.draw(st.integers(0, VOCAB - 1))
    siblings = tree.tokens[list(tree.children(parent))]
    before = walk(tree, rows_of(tree, seed)).accepted
    grown = CandidateTree([*tree.tokens, token], [*tree.parents, parent])
    after = walk(grown, rows_of(grown, seed)).accepted
    assert token in siblings or after[: len(before)] == before


@given(st.data())
def test_a_scripted_path_is_accepted(data: st.DataObject) -> None:
    """With the greedy tokens written along the path to the goal the walk passes through the goal, whichever node it is."""
    script = data.draw(scripted_trees(vocab_size=VOCAB, distinct_siblings=True))
    seed, root = data.draw(seeds), data.draw(st.integers(0, VOCAB - 1))
    tree = script.with_path_tokens(root, greedy(seed, root, script.goal_depth))
    accepted = walk(tree, rows_of(tree, seed)).accepted
    assert accepted[: script.goal_depth] == script.path


@given(st.data())
def test_a_script_among_equal_siblings_is_matched_at_full_length(data: st.DataObject) -> None:
    """Where equal siblings are allowed the walk may leave the path, but some choice among them would reach the goal's depth."""
    script = data.draw(scripted_trees(vocab_size=VOCAB))
    seed, root = data.draw(seeds), data.draw(st.integers(0, VOCAB - 1))
    tree = script.with_path_tokens(root, greedy(seed, root, script.goal_depth))
    assert walk(tree, rows_of(tree, seed)).longest >= script.goal_depth


@given(st.data())
def test_only_the_order_of_scores_counts(data: st.DataObject) -> None:
    """Shifting, scaling and narrowing the rows, or forbidding all but the choices, leaves the outcome as it was."""
    tree = data.draw(trees)
    rows = data.draw(greedy_tables(tree, VOCAB))
    outcome = walk(tree, rows)
    assert walk(tree, 4 * rows - 7) == outcome
    assert walk(tree, rows.astype(np.float16)) == outcome
    allowed = np.arange(VOCAB) == np.array([choice(row) for row in rows])[:, None]
    assert walk(tree, np.where(allowed, rows, -np.inf)) == outcome
    assert walk(tree, np.where(allowed, np.inf, rows)) == outcome


def test_infinite_scores_are_equal() -> None:
    """Two overflowed scores are a tie, which the smallest token wins."""
    tree = CandidateTree([0, 1], [-1, 0])
    assert walk(tree, np.array([[0.0, np.inf, np.inf], [-np.inf, -np.inf, 0.0]])).emitted(tree) == (1, 2)


PAIR = CandidateTree([0, 1], [-1, 0])
ZEROS = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("rows", "node", "message"),
    [
        (
            np.array([[0.0, 1.0], [0.0, np.nan]]),
            1,
            "row of node 1 holds NaN; expected scores that can be ordered",
        ),
        (
            np.array([[0.0, 1.0], [-np.inf, -np.inf]]),
            1,
            "row of node 1 is -inf everywhere; expected at least one token that is not forbidden",
        ),
        (ZEROS[:1], None, "rows have shape (1, 3); expected (2, vocabulary), one row per node"),
        (ZEROS[0], None, "rows have shape (3,); expected (2, vocabulary), one row per node"),
        (ZEROS[None], None, "rows have shape (1, 2, 3); expected (2, vocabulary), one row per node"),
        (ZEROS[:, :0], None, "rows have shape (2, 0); expected (2, vocabulary), one row per node"),
        (ZEROS[:, :1], 1, "node 1 has token 1, but rows have 1 columns"),
        (ZEROS.astype(int), None, "rows are int64; expected a numpy array of floats"),
        (ZEROS.tolist(), None, "rows are list; expected a numpy array of floats"),
    ],
)
def test_rows_that_choose_nothing_are_refused(rows: Any, node: int | None, message: str) -> None:
    """NaN, rows that forbid everything, wrong shapes and wrong dtypes are refused, at the node where there is one."""
    with pytest.raises(InvalidRows) as caught:
        walk(PAIR, rows)
    assert (caught.value.node, str(caught.value)) == (node, message)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.node, str(copy)) == (node, message)


@given(st.data())
def test_a_nan_is_refused_wherever_it_is(data: st.DataObject) -> None:
    """A NaN in the row of any node, visited or not, is refused and the first such node named."""
    tree = data.draw(trees)
    rows = data.draw(greedy_tables(tree, VOCAB)).copy()
    nodes = data.draw(st.sets(st.integers(0, len(tree) - 1), min_size=1))
    rows[list(nodes), data.draw(st.integers(0, VOCAB - 1))] = np.nan
    with pytest.raises(InvalidRows) as caught:
        walk(tree, rows)
    assert caught.value.node == min(nodes)
