"""JetSpec gives the best leaf all its children at once, TAPS takes what a scorer likes with its ancestors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import policy_oracle as oracle
import pytest
import treespark_oracle
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import HALVING, DDTree, JetSpec, TableDraft, Taps
from tree_oracle.construct.taps import Scorer
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables

Path = oracle.Path
tiny = draft_tables(max_vocab=3, max_depth=2) | oracle.pairs()


def fan_out(data: DraftData, policy: JetSpec, choose: treespark_oracle.Choose) -> list[Path]:
    """JetSpec's loop with exact fractions; ``choose`` decides between equal leaves and between equal children."""
    chance: dict[Path, Fraction] = {(): Fraction(1)}
    leaves: list[Path] = [()]
    nodes: list[Path] = []
    while leaves and len(nodes) < policy.budget:
        best = max(chance[leaf] for leaf in leaves)
        (leaf,) = choose([leaf for leaf in leaves if chance[leaf] == best], 1)
        leaves.remove(leaf)
        children = [(*leaf, token) for token in range(data.vocab_size)]
        chance |= {child: treespark_oracle.probability(data, 0, child) for child in children}
        family = treespark_oracle.best(
            [child for child in children if chance[child]],
            min(policy.branching, policy.budget - len(nodes)),
            chance.__getitem__,
            choose,
        )
        nodes += sorted(family, key=lambda child: (-chance[child], child))
        leaves += [child for child in nodes[len(nodes) - len(family) :] if len(child) < policy.depth]
    return nodes


jetspecs = st.builds(JetSpec, branching=st.integers(1, 3), budget=st.integers(1, 9), depth=st.integers(1, 3))


@given(data=draft_tables(max_vocab=5), policy=jetspecs)
def test_jetspec_expands_whole_families_best_leaf_first(data: DraftData, policy: JetSpec) -> None:
    """Nodes and order are those of the loop in exact fractions, of equal leaves the earlier created first."""
    built = policy.build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == fan_out(data, policy, treespark_oracle.by_creation)


@given(
    data=tiny,
    policy=st.builds(JetSpec, branching=st.integers(1, 3), budget=st.integers(1, 4), depth=st.integers(1, 2)),
    drawn=st.data(),
)
def test_jetspec_admits_exactly_what_some_order_of_equals_gives(
    data: DraftData, policy: JetSpec, drawn: st.DataObject
) -> None:
    """The decision agrees with taking every way through ties of leaves and of children, and refuses near misses."""
    listed, draft = set(oracle.every_way(lambda choose: fan_out(data, policy, choose))), TableDraft.of(data)
    assert all(policy.admits(oracle.tree_of(paths), draft, 0) for paths in listed)
    sizes = {len(paths) for paths in listed}
    near = [paths for paths in oracle.closed_sets(data.vocab_size, 2) if len(paths) in sizes]
    paths = near[drawn.draw(st.integers(0, len(near) - 1))]
    assert policy.admits(oracle.tree_of(paths), draft, 0) == (paths in listed)


HALF, QUARTER, NEVER = -HALVING, -2 * HALVING, -np.inf


def test_jetspec_cuts_no_family_but_the_last() -> None:
    """A node whose child was expanded, or that is better than another expanded one, cannot be the one that ran out of room."""
    certain = TableDraft(np.array([[[HALF, HALF, NEVER]] * 3, [[0.0, HALF, NEVER]] * 3, [[0.0, NEVER, NEVER]] * 3]))
    policy = JetSpec(branching=2, budget=4, depth=3)
    cut, whole = {(0,), (1,), (0, 0), (0, 0, 0)}, {(0,), (1,), (0, 0), (0, 1)}
    assert [policy.admits(oracle.tree_of(paths), certain, 0) for paths in (cut, whole)] == [False, True]
    graded = TableDraft(np.array([[[HALF, QUARTER, NEVER]] * 3, [[HALF, HALF, NEVER]] * 3]))
    policy = JetSpec(branching=2, budget=5, depth=2)
    better, worse = {(0,), (1,), (0, 0), (1, 0), (1, 1)}, {(0,), (1,), (0, 0), (0, 1), (1, 0)}
    assert [policy.admits(oracle.tree_of(paths), graded, 0) for paths in (better, worse)] == [False, True]


def test_jetspec_cuts_the_least_probable_of_the_last_family() -> None:
    """With room for one child the more probable one is it."""
    draft, policy = TableDraft(np.array([[[QUARTER, HALF]] * 2])), JetSpec(branching=2, budget=1, depth=1)
    assert [policy.admits(oracle.tree_of({(token,)}), draft, 0) for token in (0, 1)] == [False, True]


def test_jetspec_is_not_ddtree() -> None:
    """The last family brings in a sibling that scores worse than a candidate elsewhere, which DDTree takes instead."""
    draft = TableDraft.of(DraftData((("15-3",), ("1133", "0---", "0---", "0---"))))
    jet, best = JetSpec(branching=3, budget=4, depth=2).build(draft, 0), DDTree(4, 2).build(draft, 0)
    assert oracle.paths_in_order(jet.tree) == [(0,), (3,), (1,), (0, 0)]
    assert oracle.paths_in_order(best.tree) == [(0,), (0, 0), (0, 1), (3,)]


def test_jetspecs_published_budget_counts_the_root() -> None:
    """A budget of 64 is 63 nodes, and one of 1 leaves nothing to draft."""
    assert JetSpec.published(budget=64, width=4, depth=15) == JetSpec()
    with pytest.raises(UsageError, match="budget is 1; expected an integer of at least 2"):
        JetSpec.published(budget=1, width=4, depth=15)


def liking(history: tuple[int, ...], tokens: np.ndarray, law: np.ndarray) -> np.ndarray:
    """A scorer that looks at the whole path; its chances are quarters, so that products are exact."""
    weight = sum((place + 1) * token for place, token in enumerate(history))
    return np.array([((weight + 3 * token) % 5) / 4 for token in tokens.tolist()])


def pools(data: DraftData, policy: Taps) -> Iterator[list[Path]]:
    """Every closed choice of the most probable prefixes, each in the reference's order, its own pool first."""
    chances = oracle.prefixes(data, 0, policy.depth)
    ranks = {path: oracle.ranks(data, 0, path) for path in chances}
    allowed = [path for path in chances if max(ranks[path]) < policy.branching]
    ordered = sorted(allowed, key=lambda path: (-chances[path], ranks[path]))
    cut = min((chances[path] for path in ordered[: policy.pool]), default=Fraction(0))
    sure = [path for path in ordered if chances[path] > cut]
    equal = [path for path in ordered if chances[path] == cut]
    for some in combinations(equal, min(policy.pool, len(ordered)) - len(sure)):
        if oracle.is_closed(frozenset([*sure, *some])):
            yield [*sure, *some]


def select(
    data: DraftData, policy: Taps, costs: list[Fraction], choose: treespark_oracle.Choose, pool: list[Path]
) -> list[Path]:
    """TAPS by exact fractions: descending reach over cost, with missing ancestors, while there is room."""

    def utility(path: Path) -> Fraction:
        reach = Fraction(1)
        for end in range(len(path)):
            weight = sum((place + 1) * token for place, token in enumerate((0, *path[:end])))
            reach *= Fraction((weight + 3 * path[end]) % 5, 4)
        return reach / costs[len(path) - 1]

    worth = {path: utility(path) for path in pool}
    kept: list[Path] = []
    waiting = sorted(pool, key=lambda path: (-worth[path], len(path), pool.index(path)))
    while waiting and worth[waiting[0]] >= policy.threshold:
        (path,) = choose([path for path in waiting if worth[path] == worth[waiting[0]]], 1)
        waiting.remove(path)
        missing = [path[: end + 1] for end in range(len(path)) if path[: end + 1] not in kept]
        if len(kept) + len(missing) <= policy.budget:
            kept += missing
    return [path for path in pool if path in kept]


# Costs whose quotients are exact in float64, the second of them making a deep node dearer or cheaper than its parent.
cost_lists = st.sampled_from([[1, 1, 1], [1, 2, 4], [4, 2, 1], [4, 1, 8]])


def taps(budget: int, pool: int, branching: int, costs: list[int], threshold: float, scorer: Scorer = liking) -> Taps:
    return Taps(scorer, budget, pool, branching, 3, lambda depth: float(costs[depth - 1]), threshold)


@given(
    data=draft_tables(max_vocab=4),
    budget=st.integers(1, 8),
    pool=st.integers(1, 20),
    branching=st.integers(1, 4),
    costs=cost_lists,
    threshold=st.sampled_from([0.0, 0.1, 0.3, 0.6]),
)
def test_taps_takes_the_best_utilities_with_their_ancestors(
    data: DraftData, budget: int, pool: int, branching: int, costs: list[int], threshold: float
) -> None:
    """Nodes and order are those of a second reading in exact fractions over the whole pool."""
    policy = taps(budget, pool, branching, costs, threshold)
    built = policy.build(TableDraft.of(data), 0)
    own = next(pools(data, policy))
    wanted = select(data, policy, list(map(Fraction, costs)), treespark_oracle.by_creation, own)
    assert oracle.paths_in_order(built.tree) == wanted
    assert policy.admits(built.tree, TableDraft.of(data), 0)


@given(data=tiny, budget=st.integers(1, 4), pool=st.integers(1, 5), costs=cost_lists, drawn=st.data())
def test_taps_admits_exactly_what_some_order_of_equals_gives(
    data: DraftData, budget: int, pool: int, costs: list[int], drawn: st.DataObject
) -> None:
    """The decision agrees with taking every pool and every way through equal utilities, and refuses near misses."""
    policy, draft = taps(budget, pool, 3, costs, 0.1), TableDraft.of(data)
    fractions = list(map(Fraction, costs))

    def ways(own: list[Path]) -> Iterator[oracle.Paths]:
        return oracle.every_way(lambda choose: select(data, policy, fractions, choose, own))

    listed = {paths for own in pools(data, policy) for paths in ways(own)}
    assert all(policy.admits(oracle.tree_of(paths), draft, 0) for paths in listed)
    sizes = {len(paths) for paths in listed}
    near = [paths for paths in oracle.closed_sets(data.vocab_size, 2) if len(paths) in sizes]
    paths = near[drawn.draw(st.integers(0, len(near) - 1))]
    assert policy.admits(oracle.tree_of(paths), draft, 0) == (paths in listed)


def test_taps_passes_over_what_does_not_fit_with_its_ancestors() -> None:
    """Deep nodes are cheaper here, so a grandchild comes first; it needs two places, and a budget of one takes a child."""
    draft = TableDraft.of(DraftData((("11",), ("0-",))))
    policy = Taps(budget=1, pool=4, branching=2, depth=2, cost=lambda depth: 4.0 / depth**2)
    assert oracle.paths_in_order(policy.build(draft, 0).tree) == [(0,)]
    trees: list[set[Path]] = [{(1,)}, {(0,), (0, 0)}, set()]
    assert [policy.admits(oracle.tree_of(paths), draft, 0) for paths in trees] == [True, False, False]


def test_taps_lets_a_deeper_node_come_before_an_equal_shallower_one() -> None:
    """The published tie rule is unknown, so every order of equal utilities is admissible, across depths too."""
    draft, policy = TableDraft.of(DraftData((("11",), ("0-",)))), Taps(budget=2, pool=4, branching=2, depth=2)
    trees: list[set[Path]] = [{(0,), (1,)}, {(0,), (0, 0)}, {(1,), (1, 0)}]
    assert [policy.admits(oracle.tree_of(paths), draft, 0) for paths in trees] == [True] * 3


@given(data=draft_tables(max_vocab=4), budget=st.integers(1, 10))
def test_taps_with_the_drafts_own_probabilities_is_as_good_as_ddtree(data: DraftData, budget: int) -> None:
    """With equal costs and no threshold the draft's own scores select a tree that DDTree admits."""
    draft = TableDraft.of(data)
    policy = Taps(budget=budget, pool=60, branching=10, depth=3)
    chances = oracle.prefixes(data, 0, 3)
    paths = oracle.paths_in_order(policy.build(draft, 0).tree)
    assert oracle.top_sums((chances[path] for path in paths), 10) == oracle.top_sums(chances.values(), budget)


UNIFORM = TableDraft.of(DraftData((("11",),)))
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "jetspec": (lambda: JetSpec(branching=0), "branching is 0; expected an integer of at least 1"),
    "taps": (lambda: Taps(pool=0), "pool is 0; expected an integer of at least 1"),
    "threshold": (lambda: Taps(threshold=-1.0), "threshold is -1.0; expected a utility of at least 0"),
    "scorer": (
        lambda: Taps(lambda history, tokens, law: np.full(2, 1.5)).build(UNIFORM, 0),
        "the scorer after (0,) gives [1.5 1.5]; expected 2 probabilities",
    ),
    "scores": (
        lambda: Taps(lambda history, tokens, law: np.full(3, 0.5)).build(UNIFORM, 0),
        "gives [0.5 0.5 0.5]; expected 2 probabilities",
    ),
    "cost": (lambda: Taps(cost=lambda depth: math.inf).build(UNIFORM, 0), "cost(1) is inf; expected a finite cost"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_bound_score_or_cost_is_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong input is refused with its value and what was expected."""
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)
