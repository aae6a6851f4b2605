"""TreeSpark's tree is what its rule says, for every draft: order, bounds, Proposition 1, and what may never be proposed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import treespark_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tree_oracle.construct import HALVING, InvalidDraft, MarkovDraft, TableDraft, TreeSpark, packed_order
from tree_oracle.construct.top import top
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables
from tree_oracle.tree import CandidateTree, InvalidTree

policies = st.builds(
    TreeSpark,
    branching=st.integers(1, 4),
    frontier=st.integers(1, 4),
    budget=st.integers(1, 12),
    depth=st.integers(1, 4),
)
logits = st.floats(-4, 4, width=32) | st.sampled_from([0.0, 1.0, -np.inf, 60.0])


@st.composite
def markov_drafts(draw: st.DrawFn) -> MarkovDraft:
    """Logits of any size, equal ones, never-proposed tokens, and some so large that all the rest rounds to nothing."""
    vocab, rank = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    unary = draw(arrays(np.float64, (4, vocab), elements=logits))
    unary[:, draw(st.integers(0, vocab - 1))] = 1.0  # some token must be possible
    small = st.integers(-2, 2).map(float)
    return MarkovDraft(unary, *(draw(arrays(np.float64, (vocab, rank), elements=small)) for _ in range(2)))


def paths(tree: CandidateTree) -> list[tuple[int, ...]]:
    """The tokens below the root to each node, in slot order."""
    return [tuple(tree.tokens[list(tree.path(node)[1:])].tolist()) for node in range(len(tree))]


@given(data=draft_tables(), policy=policies, root=st.integers(0, 1))
def test_the_tree_is_what_a_plain_reading_of_the_rule_gives(data: DraftData, policy: TreeSpark, root: int) -> None:
    """Nodes, order and pool size are those of a second reading of the rule, in exact fractions and without any library."""
    built = policy.build(TableDraft.of(data), root)
    expected = oracle.packed(data, root, policy.branching, policy.frontier, policy.depth)
    assert paths(built.tree) == [(), *expected[: policy.budget]]
    assert built.pool_size == len(expected)
    assert int(built.tree.tokens[0]) == root


@given(data=draft_tables(), policy=policies)
def test_a_score_is_the_sum_of_the_log_probabilities_of_its_path(data: DraftData, policy: TreeSpark) -> None:
    """Scores are exact sums: the halvings on the way to a node, counted by a second reading; edges are the last of them."""
    built = policy.build(TableDraft.of(data), 0)
    halvings = [-np.log2(float(oracle.probability(data, 0, path))) for path in paths(built.tree)]
    assert built.scores.tolist() == [0.0 - count * HALVING for count in halvings]
    assert built.tree.edge_log_probs is not None
    above = built.scores[built.tree.parents[1:]]
    assert (above + built.tree.edge_log_probs[1:]).tolist() == built.scores[1:].tolist()


@given(draft=markov_drafts(), policy=policies)
def test_any_initial_segment_of_the_packed_order_is_prefix_closed(draft: MarkovDraft, policy: TreeSpark) -> None:
    """Proposition 1, on drafts whose sums round and whose most likely tokens round to probability 1."""
    pool = policy.pool(draft, 0)
    order = packed_order(pool).tolist()
    assert sorted(order) == list(range(len(order)))
    assert all(pool.tree.is_prefix_closed(order[:size]) for size in range(1, len(order) + 1))


def test_equal_scores_of_one_depth_come_in_creation_order() -> None:
    """The child of the parent that was created first comes first, also where another parent scores better."""
    data = DraftData((("11-",), ("122",)))
    tree = TreeSpark(branching=2, depth=3).build(TableDraft.of(data), 0).tree
    equal = [path for path in paths(tree) if len(path) == 3 and oracle.probability(data, 0, path) == 1 / 16]
    assert equal == [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0)]


def orphans(pool_tree: CandidateTree, order: list[int]) -> bool:
    return not all(pool_tree.is_prefix_closed(order[:size]) for size in range(1, len(order) + 1))


def test_without_the_depth_rule_a_certain_edge_can_leave_an_orphan() -> None:
    """The counterexample: below an edge of probability 1 the child scores as its parent, and may come before it."""
    pool = TreeSpark(budget=1, depth=2).pool(TableDraft.of(DraftData((("0-",),))), 0)
    assert pool.scores.tolist() == [0.0, 0.0, 0.0]
    assert orphans(pool.tree, [0, 2, 1])  # by score, and equals in another order
    assert not orphans(pool.tree, packed_order(pool).tolist())


@given(data=draft_tables(), policy=policies, rnd=st.randoms(use_true_random=False))
def test_only_a_certain_edge_can_leave_an_orphan(data: DraftData, policy: TreeSpark, rnd: Any) -> None:
    """Ordered by score alone, equals in any order, some segment lacks a parent only if some edge has probability 1."""
    pool = policy.pool(TableDraft.of(data), 0)
    order = [0, *sorted(range(1, len(pool.scores)), key=lambda node: (-pool.scores[node], rnd.random()))]
    assert pool.tree.edge_log_probs is not None
    certain = (pool.tree.edge_log_probs[1:] == 0).any()
    assert certain or not orphans(pool.tree, order)


@given(draft=markov_drafts(), policy=policies, less=st.integers(1, 11))
def test_a_smaller_budget_keeps_the_first_of_the_same_order(draft: MarkovDraft, policy: TreeSpark, less: int) -> None:
    """The tree of a budget is the beginning of the tree of any larger one."""
    large = policy.build(draft, 0)
    budget = min(less, policy.budget)
    small = TreeSpark(policy.branching, policy.frontier, budget, policy.depth).build(draft, 0)
    kept, _ = large.tree.keep(range(min(budget + 1, len(large.tree))))
    assert small.tree == kept
    assert small.scores.tolist() == large.scores[: len(kept)].tolist()
    assert small.pool_size == large.pool_size


@given(draft=markov_drafts(), policy=policies)
def test_equal_parent_token_and_depth_give_equal_children_of_different_nodes(
    draft: MarkovDraft, policy: TreeSpark
) -> None:
    """Below nodes of equal token and depth the same tokens are proposed with the same bits, each in a node of its own."""
    tree = policy.pool(draft, 0).tree
    assert tree.edge_log_probs is not None
    below: dict[tuple[int, int], set[bytes]] = {}
    for node in range(len(tree)):
        children = list(tree.children(node))
        if children:
            label = int(tree.tokens[node]), int(tree.depths[node])
            seen = tree.tokens[children].tobytes() + tree.edge_log_probs[children].tobytes()
            below.setdefault(label, set()).add(seen)
    assert all(len(seen) == 1 for seen in below.values())
    assert len(set(paths(tree))) == len(tree)


@given(draft=markov_drafts(), policy=policies)
def test_the_bounds_are_kept(draft: MarkovDraft, policy: TreeSpark) -> None:
    """Budget, depth, children of a node and proposing nodes of a level are within the bounds, and so is the pool."""
    built, pool = policy.build(draft, 0), policy.pool(draft, 0)
    assert len(built.tree) - 1 == min(policy.budget, built.pool_size)
    assert built.pool_size == len(pool.tree) - 1 <= policy.most_candidates
    assert pool.tree.max_depth <= policy.depth
    assert all(len(pool.tree.children(node)) <= policy.branching for node in range(len(pool.tree)))
    proposing = [int(pool.tree.depths[node]) for node in range(len(pool.tree)) if pool.tree.children(node)]
    assert all(proposing.count(depth) <= policy.frontier for depth in proposing)


def test_the_defaults_give_at_most_100_candidates_and_33_rows() -> None:
    """The published constants reach both figures where every token is possible."""
    policy = TreeSpark()
    built = policy.build(TableDraft.of(DraftData((("12345677",),))), 0)
    assert (policy.branching, policy.frontier, policy.budget, policy.depth) == (4, 4, 32, 7)
    assert policy.most_candidates == built.pool_size == 100
    assert len(built.tree) == 33


@given(draft=markov_drafts(), policy=policies)
def test_a_token_of_probability_zero_never_enters_the_pool(draft: MarkovDraft, policy: TreeSpark) -> None:
    """Every candidate's own law gives it more than nothing, and fewer candidates than asked for means that no more exist."""
    tree = policy.pool(draft, 0).tree
    for node in range(len(tree)):
        children = list(tree.children(node))
        if children:
            law = draft.log_probs(int(tree.depths[node]) + 1, int(tree.tokens[node]))
            assert (law[tree.tokens[children]] > -np.inf).all()
            assert len(children) == min(policy.branching, int((law > -np.inf).sum()))


@given(
    law=arrays(np.float64, st.integers(1, 40), elements=st.sampled_from([0.0, -0.5, -1.0, -np.inf])),
    k=st.integers(1, 40),
)
def test_the_top_tokens_are_those_of_a_stable_sort(law: np.ndarray, k: int) -> None:
    """Descending probability, equal ones by ascending token id, nothing impossible: as sorting the whole law gives it."""
    ranked = sorted((token for token in range(len(law)) if law[token] > -np.inf), key=lambda token: -law[token])
    assert top(law, k).tolist() == ranked[:k]


VOCAB = 151_936


def test_a_large_vocabulary_is_cut_by_the_same_rule() -> None:
    """Over 151,936 tokens with thousands of ties at every cut the tree is the one that sorting whole laws gives."""
    rng = np.random.default_rng(7)
    unary = rng.integers(0, 12, (7, VOCAB)).astype(np.float64)
    matrices = [rng.integers(-1, 2, (VOCAB, 2)).astype(np.float32) for _ in range(2)]
    draft = MarkovDraft(unary, *matrices)
    law = draft.log_probs(1, 5)
    assert (law == law.max()).sum() > 100
    assert top(law, 4).tolist() == np.argsort(-law, kind="stable")[:4].tolist()
    built = TreeSpark().build(draft, 5)
    assert (built.pool_size, len(built.tree)) == (100, 33)
    assert set(built.tree.tokens[list(built.tree.children(0))].tolist()) <= set(top(law, 4).tolist())


@given(draft=markov_drafts(), depth=st.integers(1, 4), token=st.integers(0, 1))
def test_the_markov_draft_is_the_softmax_of_its_logits(draft: MarkovDraft, depth: int, token: int) -> None:
    """Equation 1, entry by entry: U plus the inner product of the parent's embedding with the token's projection."""
    pull = [sum(a * b for a, b in zip(row, draft.embedding[token], strict=True)) for row in draft.projection]
    logits = draft.unary[depth - 1] + np.array(pull)
    weights = np.exp(logits - logits.max())
    law = draft.log_probs(depth, token)
    np.testing.assert_allclose(np.exp(law), weights / weights.sum(), rtol=1e-12, atol=1e-300)
    assert (law <= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_halvings_are_exact_in_single_and_double_precision(dtype: type) -> None:
    """However the halvings on a path are split into edges, float32 and float64 sums come out as the same number."""
    for many in range(370):
        step = dtype(HALVING)
        assert dtype(many) * step == many * HALVING
        assert dtype(many // 2) * step + dtype(many - many // 2) * step == many * HALVING
    assert abs(HALVING - np.log(2)) < 2e-6


class Wrong:
    """A draft that always gives the same answer."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def log_probs(self, depth: int, parent_token: int) -> Any:
        return self.law


SQUARE = np.zeros((1, 2, 2))
WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "bound": (lambda: TreeSpark(budget=0), UsageError, "budget is 0; expected an integer of at least 1"),
    "float bound": (lambda: TreeSpark(depth=2.0), UsageError, "depth is 2.0; expected an integer"),  # type: ignore[arg-type]
    "root": (lambda: TreeSpark().build(TableDraft(SQUARE), 2), UsageError, "parent_token is 2; expected 0 to 1"),
    "negative": (lambda: TreeSpark().build(Wrong(np.zeros(2)), -1), InvalidTree, "node 0 has token -1"),
    "depth": (lambda: TableDraft(SQUARE).log_probs(0, 0), UsageError, "depth is 0; expected 1 or more"),
    "no depth": (
        lambda: MarkovDraft(*[np.zeros((2, 2))] * 3).log_probs(3, 0),
        UsageError,
        "depth is 3; expected 1 to 2",
    ),
    "shapes": (
        lambda: MarkovDraft(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 2))),
        InvalidDraft,
        "shapes [(2, 3), (2, 2), (2, 2)]; expected (depths, vocab), (vocab, rank) twice",
    ),
    "table": (lambda: TableDraft(np.zeros((1, 2, 3))), InvalidDraft, "laws have shape (1, 2, 3); expected"),
    "dead": (
        lambda: MarkovDraft(np.full((1, 2), -np.inf), *[np.zeros((2, 2))] * 2).log_probs(1, 0),
        InvalidDraft,
        "the largest logit is -inf; expected a finite one",
    ),
    "NaN": (
        lambda: TreeSpark().build(Wrong(np.array([0.0, np.nan])), 0),
        InvalidDraft,
        "the law at depth 1 after token 0 gives token 1 log-probability nan; expected at most 0",
    ),
    "probabilities": (lambda: TreeSpark().build(Wrong(np.array([0.5, 0.5])), 0), InvalidDraft, "log-probability 0.5"),
    "matrix": (lambda: TreeSpark().build(Wrong(SQUARE), 0), InvalidDraft, "has shape (1, 2, 2) and dtype float64"),
    "empty": (lambda: TreeSpark().build(Wrong(np.zeros(0)), 0), InvalidDraft, "has shape (0,)"),
    "ragged": (lambda: TableDraft.of(DraftData((("1-1", "0-"),))), InvalidDraft, "law '0-'; expected 3 digits"),
    "letters": (lambda: TableDraft.of(DraftData((("1x",),))), InvalidDraft, "law '1x'; expected 2 digits"),
    "nothing": (lambda: TableDraft.of(DraftData(())), InvalidDraft, "a draft without laws"),
    "no law": (lambda: TableDraft.of(DraftData((("0",), ()))), InvalidDraft, "a draft without laws"),
}


@pytest.mark.parametrize(("act", "kind", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_draft_or_bound_is_refused_by_name(
    act: Callable[[], object], kind: type[Exception], message: str
) -> None:
    """Each wrong input is refused with its own value and what was expected in its place."""
    with pytest.raises(kind, match=re.escape(message)):
        act()


@pytest.mark.parametrize("wrong", [{"max_vocab": 1}, {"max_vocab": 9}, {"max_depth": 0}])
def test_the_strategy_refuses_bounds_that_it_cannot_keep(wrong: dict[str, int]) -> None:
    """Drafts of fewer than two or more than eight tokens, or without depths, are refused at once."""
    with pytest.raises(UsageError, match="expected 2 to 8, and at least 1"):
        draft_tables(**wrong)


@given(draft_tables())
def test_every_law_of_a_drawn_draft_sums_to_one(data: DraftData) -> None:
    """Probabilities are powers of two with sum one, so that a decoder which normalises them again changes next to nothing."""
    for laws in data.laws:
        for law in laws:
            assert sum(2.0 ** -int(letter) for letter in law if letter != "-") == 1.0
    probabilities = np.exp(TableDraft.of(data).laws).sum(axis=2)
    np.testing.assert_allclose(probabilities, 1.0, atol=2e-5)
