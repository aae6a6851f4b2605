"""Static trees put the right token at every rank path, and published shapes are what their authors published."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, permutations, product
from pathlib import Path as File

import numpy as np
import policy_oracle as oracle
import pytest
import treespark_oracle
from hypothesis import example, given
from hypothesis import strategies as st

from tree_oracle.construct import (
    EAGLE_25,
    MEDUSA_63,
    MarginalDraft,
    RankTree,
    TableDraft,
    WithoutReplacement,
    expansion,
)
from tree_oracle.construct.rank_fit import all_matched
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables
from tree_oracle.tree import CandidateTree

Path = oracle.Path
FIXTURE = json.loads((File(__file__).parent.parent / "fixtures" / "medusa_63.json").read_text(encoding="utf-8"))


@st.composite
def shapes(draw: st.DrawFn, width: int = 3, depth: int = 3, most: int = 9) -> tuple[Path, ...]:
    """Closed sets of rank paths, gaps between ranks included, in any order."""
    found: list[Path] = []
    for _ in range(draw(st.integers(1, most))):
        above = draw(st.sampled_from([(), *(path for path in found if len(path) < depth)]))
        path = (*above, draw(st.integers(0, width - 1)))
        found += [path] if path not in found else []
    return tuple(draw(st.permutations(found)))


def expected(data: DraftData, choices: tuple[Path, ...]) -> list[Path]:
    """The possible paths whose ranks are among the choices, by length and then by ranks."""
    chances = oracle.prefixes(data, 0, max(map(len, choices)))
    ranks = {path: oracle.ranks(data, 0, path) for path in chances}
    return sorted((path for path in chances if ranks[path] in choices), key=lambda path: (len(path), ranks[path]))


@given(data=draft_tables(max_vocab=4), choices=shapes())
def test_every_rank_path_holds_the_token_of_its_ranks(data: DraftData, choices: tuple[Path, ...]) -> None:
    """Nodes and order are those of ranking every law by exact fractions; ranks without a token are left out."""
    built = RankTree(choices).build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == expected(data, choices)


def rankings(law: list[float]) -> Iterator[list[int]]:
    """Every order of the possible tokens by descending probability."""
    possible = [token for token in range(len(law)) if law[token] > -math.inf]
    for order in permutations(possible):
        if all(law[a] >= law[b] for a, b in pairwise(order)):
            yield list(order)


def every_tree(data: DraftData, choices: tuple[Path, ...], ranks: Path = (), path: Path = ()) -> set[oracle.Paths]:
    """All subtrees that some rankings of the laws put below a node."""
    due = sorted(choice[-1] for choice in choices if choice[:-1] == ranks)
    children = [(*path, token) for token in range(data.vocab_size)]
    law = [float(treespark_oracle.probability(data, 0, child)) or -math.inf for child in children]
    found: set[oracle.Paths] = set()
    for order in rankings(law):
        below = [
            [tree | {(*path, order[rank])} for tree in every_tree(data, choices, (*ranks, rank), (*path, order[rank]))]
            for rank in due
            if rank < len(order)
        ]
        found |= {frozenset().union(*parts) for parts in product(*below)}
    return found


@given(data=draft_tables(max_vocab=3, max_depth=2), choices=shapes(depth=2, most=5), drawn=st.data())
def test_a_tree_is_admitted_exactly_when_some_ranking_gives_it(
    data: DraftData, choices: tuple[Path, ...], drawn: st.DataObject
) -> None:
    """Equally probable tokens may swap ranks below each node: the decision agrees with trying every ranking of every law."""
    listed, policy, draft = every_tree(data, choices), RankTree(choices), TableDraft.of(data)
    assert all(policy.admits(oracle.tree_of(paths), draft, 0) for paths in listed)
    sizes = {len(paths) for paths in listed}
    near = [paths for paths in oracle.closed_sets(data.vocab_size, 2) if len(paths) in sizes]
    paths = near[drawn.draw(st.integers(0, len(near) - 1))]
    assert policy.admits(oracle.tree_of(paths), draft, 0) == (paths in listed)


def test_ranks_that_swap_take_their_subtrees_along() -> None:
    """Tokens 0 and 1 are as probable, so either may have the child; 2 may not, and both may not."""
    draft, policy = TableDraft.of(DraftData((("122",), ("0--",)))), RankTree(((0,), (1,), (2,), (1, 0)))
    below = [{(0,), (1,), (2,), path} for path in [(0, 0), (1, 0), (2, 0)]]
    assert [policy.admits(oracle.tree_of(paths), draft, 0) for paths in below] == [False, True, True]
    assert not policy.admits(oracle.tree_of({(0,), (1,), (1, 0)}), draft, 0)
    assert not policy.admits(oracle.tree_of({(0,), (1,), (2,), (1, 0), (2, 0)}), draft, 0)


@example([[0, 1, 2], [0], [0]])  # moving the first row on twice must not free its entry twice
@given(st.lists(st.lists(st.integers(0, 4), max_size=4, unique=True), min_size=1, max_size=5))
def test_a_matching_is_found_exactly_when_there_is_one(rows: list[list[int]]) -> None:
    """Whether each row can be given an entry of its own agrees with trying every assignment."""
    assert all_matched(rows) == any(len(set(some)) == len(rows) for some in product(*rows))


def test_a_star_of_a_thousand_equal_tokens_is_decided() -> None:
    """Nothing but ties over 1,024 ranks: any 1,024 tokens are right, and one more or less is not."""
    vocab = 1500
    draft = MarginalDraft(np.full((1, vocab), -math.log(vocab)))
    policy = RankTree(tuple((rank,) for rank in range(1024)))
    tokens = list(range(vocab - 1024, vocab))
    assert policy.admits(CandidateTree([0, *tokens], [-1, *[0] * 1024]), draft, 0)
    assert not policy.admits(CandidateTree([0, *tokens[1:]], [-1, *[0] * 1023]), draft, 0)


def test_medusas_63_nodes_are_the_published_ones() -> None:
    """The installed tree is the one in the fixture, which was written down from the publication by itself."""
    assert set(MEDUSA_63) == {tuple(ranks) for ranks in FIXTURE["choices"]}
    assert len(MEDUSA_63) == len(FIXTURE["choices"]) == 63
    assert Counter(map(len, MEDUSA_63)) == {1: 10, 2: 28, 3: 23, 4: 2}


def test_eagles_static_tree_has_25_nodes() -> None:
    """Levels, leaves and longest path are those that EAGLE-1 published."""
    assert len(EAGLE_25) == len(set(EAGLE_25)) == 25
    assert Counter(map(len, EAGLE_25)) == {1: 4, 2: 8, 3: 8, 4: 3, 5: 2}
    assert max(EAGLE_25, key=lambda ranks: (len(ranks), ranks)) == (0, 0, 0, 0, 1)
    assert [rank for ranks in EAGLE_25 if len(ranks) == 2 and ranks[0] == 3 for rank in ranks] == [3, 0]


def test_medusa_gives_every_parent_of_a_depth_the_same_tokens() -> None:
    """Over independent heads the token of a node is the one of its last rank in its depth's list."""
    rng = np.random.default_rng(1)
    laws = np.log(rng.dirichlet(np.ones(50), size=4))
    tree = RankTree(MEDUSA_63).build(MarginalDraft(laws), 7).tree
    best = np.argsort(-laws, axis=1)
    expected = [
        tuple(int(best[d, r]) for d, r in enumerate(ranks)) for ranks in sorted(MEDUSA_63, key=lambda r: (len(r), r))
    ]
    assert oracle.paths_in_order(tree) == expected


@given(widths=st.lists(st.integers(1, 3), min_size=1, max_size=4), data=draft_tables(max_vocab=3))
def test_an_expansion_gives_every_node_of_a_level_as_many_children(widths: list[int], data: DraftData) -> None:
    """SpecInfer: below each node at depth d - 1 stand min(k_d, possible) children, the most probable ones."""
    tree = expansion(*widths).build(TableDraft.of(data), 0).tree
    paths = {(), *oracle.paths_in_order(tree)}
    assert max(map(len, paths)) <= len(widths)
    for path in paths:
        if len(path) < len(widths):
            children = [(*path, token) for token in range(data.vocab_size)]
            possible = [child for child in children if treespark_oracle.probability(data, 0, child)]
            wanted = [child for child in possible if oracle.ranks(data, 0, child)[-1] < widths[len(path)]]
            assert {child for child in children if child in paths} == set(wanted)


def test_the_shipped_expansion_has_twenty_nodes() -> None:
    """<1,1,3,1,1,1,1,1> is one chain of two, then three chains: 2 + 3 * 6 nodes on eight levels."""
    assert len(expansion().choices) == 20
    assert Counter(map(len, expansion().choices)) == {1: 1, 2: 1, 3: 3, 4: 3, 5: 3, 6: 3, 7: 3, 8: 3}


@given(data=draft_tables(max_vocab=5), choices=shapes(), seed=st.integers(0, 10))
def test_a_drawn_tree_has_the_shape_and_possible_distinct_tokens(
    data: DraftData, choices: tuple[Path, ...], seed: int
) -> None:
    """Draws without replacement fill the same shape with possible tokens, no two siblings equal, and only they are admitted."""
    policy, draft = RankTree(choices, WithoutReplacement(seed)), TableDraft.of(data)
    tree = policy.build(draft, 0).tree
    paths = oracle.paths_in_order(tree)
    assert set(paths) <= oracle.prefixes(data, 0, 3).keys()
    assert len(set(paths)) == len(paths) <= len(choices)
    assert policy.admits(tree, draft, 0)
    assert policy.admits(oracle.tree_of(paths[:-1]), draft, 0) == (not paths)


def test_draws_without_replacement_have_their_law() -> None:
    """Over 8,000 fixed seeds each ordered pair comes as often as q_a q_b / (1 - q_a) says, to five standard deviations."""
    law, seeds = [0.5, 0.25, 0.25, 0.0], 8_000
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(law))
    pairs = Counter(tuple(WithoutReplacement(seed)(logs, 2, (3, 1)).tolist()) for seed in range(seeds))
    for first, second in product(range(4), repeat=2):
        due = law[first] * law[second] / (1 - law[first]) if first != second else 0.0
        assert abs(pairs[first, second] - seeds * due) <= 5 * math.sqrt(seeds * due * (1 - due))


def test_different_nodes_and_seeds_have_different_coins() -> None:
    """Fresh coins everywhere: no two of many short histories share them, those that differ in trailing zeros included."""
    histories = [path for length in range(1, 5) for path in product(range(3), repeat=length)]
    coins = {WithoutReplacement(seed).coins(3, history).tobytes() for seed in range(3) for history in histories}
    assert len(coins) == 3 * len(histories)


@given(data=draft_tables(max_vocab=5), seed=st.integers(0, 5))
def test_what_is_drawn_below_a_node_does_not_depend_on_other_nodes(data: DraftData, seed: int) -> None:
    """No anticipation: a smaller shape has exactly those nodes of a larger one that its rank paths say."""
    large, small = ((0,), (1,), (0, 0), (1, 0), (1, 1)), ((0,), (1,), (1, 0))
    draft, draw = TableDraft.of(data), WithoutReplacement(seed)
    more = oracle.paths_in_order(RankTree(large, draw).build(draft, 0).tree)
    less = oracle.paths_in_order(RankTree(small, draw).build(draft, 0).tree)
    assert set(less) <= set(more)
    assert [path for path in more if len(path) == 1] == [path for path in less if len(path) == 1]


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "nothing": (lambda: RankTree(()), "0 choices, 0 distinct paths; expected distinct ones"),
    "twice": (lambda: RankTree(((0,), (0,))), "2 choices, 1 distinct paths; expected distinct ones"),
    "root": (lambda: RankTree(((),)), "1 choices, 0 distinct paths"),
    "orphan": (lambda: RankTree(((0,), (1, 0))), "choice (1, 0); expected ranks from 0 on, and its parent (1,) among"),
    "negative": (lambda: RankTree(((-1,),)), "choice (-1,); expected ranks from 0 on"),
    "width": (lambda: expansion(2, 0), "width is 0; expected an integer of at least 1"),
    "seed": (lambda: WithoutReplacement(-1), "seed is -1; expected an integer of at least 0"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_shapes_that_are_none_are_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong shape is refused with the path at fault and what was expected."""
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)
