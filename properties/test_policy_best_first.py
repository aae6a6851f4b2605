"""DDTree holds the most probable prefixes, and its heirs differ from it only in what they weigh and where they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import policy_oracle as oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.construct import (
    HALVING,
    CaDDTree,
    CalibratedTreeSpark,
    DDTree,
    MarginalDraft,
    TableDraft,
)
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables

Path = oracle.Path
small = draft_tables(max_vocab=4, max_depth=3)
budgets = st.integers(1, 12)
depths = st.integers(1, 3)


def by_rule(data: DraftData, chances: dict[Path, Fraction]) -> list[Path]:
    """All prefixes in DDTree's order: by descending probability, of equal ones the smaller path of ranks."""
    return sorted(chances, key=lambda path: (-chances[path], oracle.ranks(data, 0, path)))


@given(data=small, budget=budgets, depth=depths)
def test_ddtree_holds_the_most_probable_prefixes_in_order(data: DraftData, budget: int, depth: int) -> None:
    """Nodes and order are those of sorting every prefix of the depth by its exact probability, then by its ranks."""
    built = DDTree(budget, depth).build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == by_rule(data, oracle.prefixes(data, 0, depth))[:budget]
    assert built.pool_size == len(built.tree) - 1


@given(data=draft_tables(max_vocab=3, max_depth=2), budget=st.integers(1, 7))
def test_no_closed_set_of_the_size_covers_more_than_ddtree(data: DraftData, budget: int) -> None:
    """Proposition 1: of all closed sets with at most N nodes, none has a larger sum of path probabilities, exactly."""
    chances = oracle.prefixes(data, 0, 2)
    tree = DDTree(budget, 2).build(TableDraft.of(data), 0).tree
    most = max(
        sum((chances.get(path, Fraction(0)) for path in paths), Fraction(0))
        for paths in oracle.closed_sets(data.vocab_size, 2)
        if len(paths) <= budget
    )
    assert sum(chances[path] for path in oracle.paths_in_order(tree)) == most


@given(data=oracle.pairs(), budget=st.integers(1, 6), depth=st.integers(1, 2))
def test_ddtree_admits_exactly_the_best_closed_sets(data: DraftData, budget: int, depth: int) -> None:
    """Over two tokens and two levels each closed set is decided right: it is admissible when its values are the N largest."""
    policy, draft = DDTree(budget, depth), TableDraft.of(data)
    chances = oracle.prefixes(data, 0, depth)
    best = oracle.top_sums(chances.values(), budget)
    for paths in oracle.closed_sets(2, 2):
        values = [chances.get(path, Fraction(-1)) for path in paths]
        assert policy.admits(oracle.tree_of(paths), draft, 0) == (sorted(values, reverse=True) == best)


@given(data=draft_tables(max_vocab=3, max_depth=2), budget=st.integers(1, 8), drawn=st.data())
def test_ddtree_decides_larger_sets_as_well(data: DraftData, budget: int, drawn: st.DataObject) -> None:
    """Over three tokens any closed set is decided as its values say."""
    chances = oracle.prefixes(data, 0, 2)
    best = oracle.top_sums(chances.values(), budget)
    sets = [paths for paths in oracle.closed_sets(data.vocab_size, 2) if len(paths) == len(best)]
    right = [paths for paths in sets if oracle.top_sums((chances.get(path, Fraction(-1)) for path in paths), 8) == best]
    among = right if drawn.draw(st.booleans()) else sets
    paths = among[drawn.draw(st.integers(0, len(among) - 1))]
    assert DDTree(budget, 2).admits(oracle.tree_of(paths), TableDraft.of(data), 0) == (paths in right)


@given(budget=st.integers(1, 20), laws=st.lists(st.permutations(range(5)), min_size=3, max_size=3))
def test_ddtree_over_marginals_is_the_best_of_the_product_law(budget: int, laws: list[list[int]]) -> None:
    """With one law for each depth and no ties, the nodes are the largest products of one entry for each depth."""
    # Weights 2, 3, 5, 7, 11 over 28: products of different tokens are different, equal ones differ in order alone.
    weights = [[Fraction([2, 3, 5, 7, 11][place], 28) for place in law] for law in laws]
    draft = MarginalDraft(np.log(np.array(weights, dtype=np.float64)))
    chances = {
        path: math.prod((weights[depth][token] for depth, token in enumerate(path)), start=Fraction(1))
        for length in (1, 2, 3)
        for path in product(range(5), repeat=length)
    }
    tree = DDTree(budget, 3).build(draft, 0).tree
    values = [chances[path] for path in oracle.paths_in_order(tree)]
    assert all(before >= after for before, after in pairwise(values))
    assert values == oracle.top_sums(chances.values(), budget)


def theta(values: list[Fraction], count: int, draft_cost: Fraction, step: Fraction) -> Fraction:
    return (1 + sum(values[:count], Fraction(0))) / (draft_cost + 1 + step * count)


@given(data=small, budget=budgets, depth=depths, step=st.integers(1, 40), draft_cost=st.integers(0, 3))
def test_caddtree_ends_where_one_more_node_does_not_pay(
    data: DraftData, budget: int, depth: int, step: int, draft_cost: int
) -> None:
    """The tree is DDTree's, cut before the first node that does not raise expected tokens for each unit of time."""
    per_node, drafting = Fraction(2 * step + 1, 97), Fraction(draft_cost, 7)
    chances = oracle.prefixes(data, 0, depth)
    order = by_rule(data, chances)[:budget]
    values = [chances[path] for path in order]
    rates = [theta(values, count, drafting, per_node) for count in range(len(values) + 1)]
    # Halvings are ln 2 to 16 bits, so a rate is known to about 1e-5: nearer calls are left to exact arithmetic.
    assume(all(abs(after / before - 1) > Fraction(1, 10_000) for before, after in pairwise(rates)))
    end = next((count for count in range(len(values)) if rates[count + 1] <= rates[count]), len(values))
    policy = CaDDTree(budget, depth, float(drafting), lambda nodes: 1 + nodes * float(per_node))
    tree = policy.build(TableDraft.of(data), 0).tree
    assert oracle.paths_in_order(tree) == order[:end]
    assert policy.admits(tree, TableDraft.of(data), 0)
    longer, shorter = order[: end + 1], order[: max(0, end - 1)]
    assert all(
        not policy.admits(oracle.tree_of(other), TableDraft.of(data), 0)
        for other in (longer, shorter)
        if len(other) != end
    )


def test_with_a_convex_cost_the_end_is_the_best_size() -> None:
    """One hill: no other number of DDTree's nodes has a larger rate than where CaDDTree ends."""
    draft = TableDraft.of(DraftData((("1234-4",), ("22-233",), ("12345-",))))
    order = DDTree(200, 3).build(draft, 0)
    mass = np.concatenate([[0.0], np.cumsum(np.exp(order.scores[1:]))])

    def cost(nodes: int) -> float:
        return 1 + nodes / 20 + nodes**2 / 500

    rates = [(1 + mass[count]) / (0.25 + cost(count)) for count in range(len(mass))]
    tree = CaDDTree(200, 3, 0.25, cost).build(draft, 0).tree
    assert 1 < len(tree) - 1 < 200
    assert len(tree) - 1 == int(np.argmax(rates))


def estimate(halvings: int, slope: float, offset: float) -> float:
    """log sigmoid(a logit(q) + b) by the textbook, from the probability itself."""
    q = math.exp(-halvings * HALVING)
    if halvings == 0:
        return 0.0
    return -math.log1p(math.exp(-(slope * math.log(q / (1 - q)) + offset)))


@given(
    data=draft_tables(max_vocab=5, max_depth=2),
    budget=budgets,
    depth=st.integers(1, 2),
    branching=st.integers(1, 4),
    threshold=st.sampled_from([0.0, 0.05, 0.21, 0.37]),
)
def test_calibrated_treespark_takes_the_best_estimates_above_the_threshold(
    data: DraftData, budget: int, depth: int, branching: int, threshold: float
) -> None:
    """Nodes and order: every path of the first ranks by its product of estimates, then by its ranks, cut at the threshold."""
    policy = CalibratedTreeSpark(budget, depth, branching, threshold=threshold)
    chances = oracle.prefixes(data, 0, depth)
    ranks = {path: oracle.ranks(data, 0, path) for path in chances}
    scores: dict[Path, float] = {}
    for path in chances:
        steps = [
            int(chances.get(path[:end], Fraction(1)) / chances[path[: end + 1]]).bit_length() - 1
            for end in range(len(path))
        ]
        scores[path] = sum(estimate(step, 0.668, -0.459) for step in steps)
    rounded = {path: round(score, 9) for path, score in scores.items()}  # equal products of estimates are equal here
    allowed = [path for path in chances if max(ranks[path]) < branching and math.exp(scores[path]) >= threshold]
    order = sorted(allowed, key=lambda path: (-rounded[path], ranks[path]))[:budget]
    built = policy.build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == order
    np.testing.assert_allclose(built.scores[1:], [scores[path] for path in order], rtol=1e-9)
    assert policy.admits(built.tree, TableDraft.of(data), 0)


@given(data=oracle.pairs(), budget=st.integers(1, 6), threshold=st.sampled_from([0.0, 0.2, 0.4]))
def test_calibrated_treespark_admits_every_order_of_equal_estimates(
    data: DraftData, budget: int, threshold: float
) -> None:
    """Over two tokens each closed set is decided right: it holds the largest estimates, and none below the threshold."""
    policy, draft = CalibratedTreeSpark(budget, 2, threshold=threshold), TableDraft.of(data)
    everything = CalibratedTreeSpark(6, 2).build(draft, 0)
    scores = dict(zip(oracle.paths_in_order(everything.tree), everything.scores[1:].tolist(), strict=True))
    best = sorted((score for score in scores.values() if math.exp(score) >= threshold), reverse=True)[:budget]
    for paths in oracle.closed_sets(2, 2):
        values = sorted((scores.get(path, -math.inf) for path in paths), reverse=True)
        assert policy.admits(oracle.tree_of(paths), draft, 0) == (values == best)


def test_the_published_estimate_prefers_depth_where_the_draft_is_sure() -> None:
    """Calibration changes the tree: a token of q = 0.9 is worth 0.73, and q = 0.5 only 0.39."""
    edges = np.log(np.array([0.9, 0.5]))
    np.testing.assert_allclose(np.exp(CalibratedTreeSpark().estimates(edges)), [0.7328, 0.3872], atol=5e-5)


UNIFORM = TableDraft.of(DraftData((("11",),)))
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "ddtree": (lambda: DDTree(budget=0), "budget is 0; expected an integer of at least 1"),
    "caddtree": (lambda: CaDDTree(depth=0), "depth is 0; expected an integer of at least 1"),
    "draft cost": (lambda: CaDDTree(draft_cost=-1.0), "draft_cost is -1.0; expected a finite time of at least 0"),
    "no cost": (
        lambda: CaDDTree(verify_cost=lambda nodes: 0.0).build(UNIFORM, 0),
        "verify_cost(1) is 0.0; expected a finite time above 0",
    ),
    "slope": (lambda: CalibratedTreeSpark(slope=0.0), "slope 0.0 and offset -0.459; expected finite numbers"),
    "threshold": (lambda: CalibratedTreeSpark(threshold=1.5), "threshold is 1.5; expected a probability"),
    "cap": (lambda: CalibratedTreeSpark(branching=0), "branching is 0; expected an integer of at least 1"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_bounds_that_are_none_are_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong bound is refused with its value and what was expected."""
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)
