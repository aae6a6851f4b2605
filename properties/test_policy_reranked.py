"""EAGLE-2 and OPT-Tree rank everything that was drafted by score alone: closed by our tie rule, and not by any."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import policy_oracle as oracle
import pytest
import treespark_oracle
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import Eagle2, MarginalDraft, OptTree, TableDraft, TreeSpark
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables

Path = oracle.Path
eagles = st.builds(Eagle2, branching=st.integers(1, 3), budget=st.integers(1, 12), depth=st.integers(1, 3))


@given(data=draft_tables(max_vocab=5), policy=eagles)
def test_eagles_tree_is_the_rerank_of_its_beams(data: DraftData, policy: Eagle2) -> None:
    """Nodes and order by a second reading: k best of k x k a level, the best of all by probability, level by level."""
    k = policy.branching
    pool = treespark_oracle.candidates(data, 0, k, k, policy.depth, treespark_oracle.by_creation)
    best = sorted(pool, key=lambda path: (-treespark_oracle.probability(data, 0, path), len(path)))[: policy.budget]
    built = policy.build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == [path for path in pool if path in best]
    assert built.pool_size == len(pool)


@given(
    data=draft_tables(max_vocab=3, max_depth=2) | oracle.pairs(),
    policy=st.builds(Eagle2, branching=st.integers(1, 2), budget=st.integers(1, 5), depth=st.integers(1, 2)),
    drawn=st.data(),
)
def test_eagle_admits_exactly_the_closed_sets_that_the_score_allows(
    data: DraftData, policy: Eagle2, drawn: st.DataObject
) -> None:
    """The decision agrees with taking every way through the ties of children, beam and rerank, and dropping the orphans."""

    def build(choose: treespark_oracle.Choose) -> list[Path]:
        pool = treespark_oracle.candidates(data, 0, policy.branching, policy.branching, policy.depth, choose)
        return treespark_oracle.best(
            pool, policy.budget, lambda path: treespark_oracle.probability(data, 0, path), choose
        )

    listed = {paths for paths in oracle.every_way(build) if oracle.is_closed(paths)}
    draft = TableDraft.of(data)
    assert all(policy.admits(oracle.tree_of(paths), draft, 0) for paths in listed)
    sizes = {len(paths) for paths in listed}
    near = [paths for paths in oracle.closed_sets(data.vocab_size, 2) if len(paths) in sizes]
    paths = near[drawn.draw(st.integers(0, len(near) - 1))]
    assert policy.admits(oracle.tree_of(paths), draft, 0) == (paths in listed)


def test_a_deeper_node_may_come_before_an_equal_one_in_eagle_and_not_in_treespark() -> None:
    """The depth rule is TreeSpark's own: below a certain edge EAGLE admits the child where TreeSpark wants the sibling."""
    draft = TableDraft.of(DraftData((("11",), ("0-",))))
    deep, wide = {(0,), (0, 0)}, {(0,), (1,)}
    assert [Eagle2(2, 2, 2).admits(oracle.tree_of(paths), draft, 0) for paths in (deep, wide)] == [True, True]
    assert [TreeSpark(2, 2, 2, 2).admits(oracle.tree_of(paths), draft, 0) for paths in (deep, wide)] == [False, True]


def test_eagles_rerank_by_score_alone_leaves_an_orphan_that_is_hung_elsewhere() -> None:
    """The counterexample: an order of equal scores keeps a child without its parent, and a search by index adopts it."""
    draft = TableDraft.of(DraftData((("11",), ("0-",))))
    pool = TreeSpark(2, 2, 4, 2).pool(draft, 0)  # EAGLE drafts the same: slots 1 to 4 are (0), (1), (0 0), (1 0)
    assert pool.scores[1:].tolist() == [pool.scores[1]] * 4
    kept = [1, 4]  # two best of four equal ones, as unspecified a choice as any
    parent = int(pool.tree.parents[4])
    assert parent not in kept
    adopted = kept[int(np.searchsorted(kept, parent)) - 1]
    assert adopted == 1 != parent
    assert not pool.tree.is_prefix_closed([0, *kept])
    assert pool.tree.is_prefix_closed([0, *(1, 2)])
    built = Eagle2(branching=2, budget=2, depth=2).build(draft, 0)
    assert oracle.paths_in_order(built.tree) == [(0,), (1,)]


def test_eagles_published_numbers_count_the_root_and_one_level_less() -> None:
    """total_token 60 is 59 nodes, depth 7 is 8 levels; with every token possible the pool has 10 + 7 * 100 candidates."""
    policy = Eagle2.published()
    assert policy == Eagle2() == Eagle2(branching=10, budget=59, depth=8)
    built = policy.build(MarginalDraft(np.log(np.full((8, 20), 1 / 20))), 0)
    assert (len(built.tree), built.pool_size) == (60, 710)


def layers(data: DraftData, budget: int, depth: int, threshold: Fraction) -> int:
    """How many layers OPT-Tree drafts, by exact sums."""
    before = Fraction(0)
    for layer in range(1, depth + 1):
        mass = sum(oracle.top_sums(oracle.prefixes(data, 0, layer).values(), budget), Fraction(0))
        if mass - before <= threshold:
            return layer
        before = mass
    return depth


thresholds = st.sampled_from([Fraction(0), Fraction(1003, 10_000), Fraction(2003, 10_000), Fraction(7001, 10_000)])


@given(data=draft_tables(max_vocab=4), budget=st.integers(1, 9), depth=st.integers(1, 3), threshold=thresholds)
def test_opt_tree_holds_the_best_of_as_many_layers_as_gain(
    data: DraftData, budget: int, depth: int, threshold: Fraction
) -> None:
    """The tree is the N best of all paths of the first layers, where a layer that gains too little is the last."""
    built = OptTree(budget, depth, float(threshold)).build(TableDraft.of(data), 0)
    chances = oracle.prefixes(data, 0, layers(data, budget, depth, threshold))
    paths = oracle.paths_in_order(built.tree)
    assert oracle.top_sums((chances[path] for path in paths), budget) == oracle.top_sums(chances.values(), budget)
    assert [len(path) for path in paths] == sorted(map(len, paths))
    assert OptTree(budget, depth, float(threshold)).admits(built.tree, TableDraft.of(data), 0)


def test_opt_tree_stops_on_the_gain_of_a_layer_and_not_on_its_sum() -> None:
    """The second layer gains 3/8: asked for more, drafting ends and the certain third layer is never seen."""
    draft = TableDraft.of(DraftData((("122",), ("122",), ("0--",))))
    wide, deep = {(0,), (1,), (2,), (0, 0), (0, 1)}, {(0,), (1,), (2,), (0, 0), (0, 0, 0)}
    for threshold, right, wrong in ((0.4, wide, deep), (0.3, deep, wide)):
        policy = OptTree(5, 3, threshold)
        assert set(oracle.paths_in_order(policy.build(draft, 0).tree)) == right
        assert policy.admits(oracle.tree_of(right), draft, 0)
        assert not policy.admits(oracle.tree_of(wrong), draft, 0)


@given(data=draft_tables(max_vocab=4), budget=st.integers(1, 9), depth=st.integers(1, 3))
def test_opt_tree_takes_the_shallower_and_then_the_earlier_created_of_equal_nodes(
    data: DraftData, budget: int, depth: int
) -> None:
    """Our tie rule, by a second reading that keeps the n best of every layer in creation order."""
    layer: list[Path] = [()]
    pool: list[Path] = []

    def worth(path: Path) -> Fraction:
        return treespark_oracle.probability(data, 0, path)

    for _ in range(depth):
        children = [(*path, token) for path in layer for token in range(data.vocab_size)]
        ranked = sorted(children, key=lambda child: (layer.index(child[:-1]), -worth(child), child))
        kept = treespark_oracle.best(
            [child for child in ranked if worth(child)], budget, worth, treespark_oracle.by_creation
        )
        layer = [child for child in ranked if child in kept]
        pool += layer
    best = sorted(pool, key=lambda path: (-worth(path), len(path)))[:budget]
    tree = OptTree(budget, depth, 0.0).build(TableDraft.of(data), 0).tree
    assert oracle.paths_in_order(tree) == [path for path in pool if path in best]


@given(data=oracle.pairs(), budget=st.integers(1, 6), threshold=thresholds)
def test_opt_tree_admits_exactly_the_best_closed_sets(data: DraftData, budget: int, threshold: Fraction) -> None:
    """Over two tokens each closed set is decided right: its values are the N largest of the layers that are drafted."""
    policy, draft = OptTree(budget, 2, float(threshold)), TableDraft.of(data)
    chances = oracle.prefixes(data, 0, layers(data, budget, 2, threshold))
    best = oracle.top_sums(chances.values(), budget)
    for paths in oracle.closed_sets(2, 2):
        values = sorted((chances.get(path, Fraction(-1)) for path in paths), reverse=True)
        assert policy.admits(oracle.tree_of(paths), draft, 0) == (values == best)


def test_opt_trees_products_underflow_to_ties_that_leave_an_orphan_and_ours_do_not() -> None:
    """float32 products of unlikely edges are all zero, so a child may be kept without its parent; sums of logs stay apart."""
    edge = np.array([-80.0, -200.0, -300.0])  # e^-80 is a float32, its square is none
    draft = MarginalDraft(np.array([edge, edge, edge]))
    product = np.exp(edge[0].astype(np.float32))
    chain = [product, product * product, product * product * product]
    assert chain[0] > 0
    assert chain[1] == chain[2] == 0  # the second and the third of the chain are equal: the third may be kept alone
    policy = OptTree(budget=2, depth=3, threshold=0.0)
    everything = OptTree(budget=9, depth=3, threshold=0.0).build(draft, 0)
    assert (everything.scores[1:] < 0).all()
    assert oracle.paths_in_order(policy.build(draft, 0).tree) == [(0,), (0, 0)]


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "eagle": (lambda: Eagle2(budget=0), "budget is 0; expected an integer of at least 1"),
    "root alone": (lambda: Eagle2.published(total_token=1), "total_token is 1; expected an integer of at least 2"),
    "depth": (lambda: Eagle2.published(depth=-1), "depth is -1; expected an integer of at least 0"),
    "opt": (lambda: OptTree(depth=0), "depth is 0; expected an integer of at least 1"),
    "threshold": (lambda: OptTree(threshold=float("nan")), "threshold is nan; expected a gain of at least 0"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_bounds_that_are_none_are_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong bound is refused with its value and what was expected."""
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)
