"""Sequoia's programme finds the best tree of every size, and the tree that it writes down has that value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import policy_oracle as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import MarginalDraft, Programme, RankTree, Sequoia, TableDraft
from tree_oracle.record import DraftData, UsageError
from tree_oracle.strategies import draft_tables

Shape = tuple["Shape", ...]  # of a node: the shapes of its children, rank 0 first
LARGEST = 7


@cache
def shapes(nodes: int, levels: int, widest: int) -> tuple[Shape, ...]:
    """Every ordered tree of this many nodes, the root included."""
    if nodes == 1:
        return ((),) if levels else ()
    return tuple(forest for forest in forests(nodes - 1, levels - 1, widest, widest))


def forests(nodes: int, levels: int, room: int, widest: int) -> Iterator[Shape]:
    """Every row of at most ``room`` trees with this many nodes together."""
    if nodes == 0:
        yield ()
    elif room and levels > 0:
        for size in range(1, nodes + 1):
            for first in shapes(size, levels, widest):
                for rest in forests(nodes - size, levels, room - 1, widest):
                    yield (first, *rest)


def worth(shape: Shape, chances: list[Fraction]) -> Fraction:
    """1 for the node, and for each child its chance times what it is worth."""
    return 1 + sum((chances[rank] * worth(child, chances) for rank, child in enumerate(shape)), Fraction(0))


# Sixteenths: products along six edges are exact in float64, and so is every sum of them.
acceptances = st.lists(st.integers(0, 16).map(lambda count: Fraction(count, 16)), min_size=1, max_size=3)


def value_of(choices: tuple[oracle.Path, ...], chances: list[Fraction]) -> Fraction:
    """The root and, for every rank path, the product of its chances."""
    total = Fraction(1)
    for ranks in choices:
        product = Fraction(1)
        for rank in ranks:
            product *= chances[rank]
        total += product
    return total


@given(chances=acceptances, nodes=st.integers(1, LARGEST), levels=st.integers(1, 5))
def test_the_programme_equals_exhaustive_search(chances: list[Fraction], nodes: int, levels: int) -> None:
    """Of all ordered trees of the size none is worth more, exactly, and where there is no tree there is no value."""
    programme = Programme([float(chance) for chance in chances], LARGEST, 5)
    every = [worth(shape, chances) for shape in shapes(nodes, levels, len(chances))]
    assert programme.value(nodes, levels) == (max(every) if every else -float("inf"))


@given(chances=acceptances, nodes=st.integers(2, 40), levels=st.integers(2, 9))
def test_the_written_tree_has_the_size_and_the_value(chances: list[Fraction], nodes: int, levels: int) -> None:
    """The rank paths are a closed tree of that size and at most those levels, worth what the programme says."""
    programme = Programme([float(chance) for chance in chances], 40, 9)
    if programme.value(nodes, levels) == -float("inf"):
        with pytest.raises(UsageError, match=f"no tree of {nodes} nodes and {levels} levels"):
            programme.choices(nodes, levels)
        return
    choices = programme.choices(nodes, levels)
    assert len(set(choices)) == len(choices) == nodes - 1
    assert max(map(len, choices)) <= levels - 1
    assert oracle.is_closed(choices)
    # A rank is used only after the ranks before it.
    assert all((*ranks[:-1], ranks[-1] - 1) in choices for ranks in choices if ranks[-1])
    assert float(value_of(choices, chances)) == pytest.approx(programme.value(nodes, levels), rel=1e-12)


def test_more_nodes_and_more_levels_never_accept_less() -> None:
    """The value grows with both where chances are above zero, and adding levels ends to help once a chain fits."""
    programme = Programme([0.6, 0.3, 0.1], 12, 12)
    values = [[programme.value(nodes, levels) for levels in range(4, 13)] for nodes in range(4, 13)]
    assert all(row == sorted(row) for row in values)
    assert all(list(column) == sorted(column) for column in zip(*values, strict=True))
    assert programme.value(6, 6) == programme.value(6, 12)


def test_golden_shapes() -> None:
    """Where only first children are accepted the best tree is a chain; where chances are equal and levels are two, a star."""
    assert Programme([0.5, 0.0], 4, 9).choices(4, 9) == ((0,), (0, 0), (0, 0, 0))
    assert Programme([0.25] * 3, 4, 2).choices(4, 2) == ((0,), (1,), (2,))
    # p = 1/2, 1/4: after (0) the next best are (0 0) and (1), worth 1/4 each, then (0 0 0), (0 1) and (1 0), worth 1/8.
    programme = Programme([0.5, 0.25], 7, 4)
    assert [programme.value(nodes, 4) for nodes in range(1, 8)] == [1, 1.5, 1.75, 2, 2.125, 2.25, 2.375]


def test_of_equal_trees_the_smallest_split_and_the_fewest_children_are_taken() -> None:
    """Three nodes with p = 1/2, 1/4: a chain and a pair are both worth 7/4, and the one with fewer children is built."""
    assert Programme([0.5, 0.25], 3, 3).choices(3, 3) == ((0,), (0, 0))


@given(chances=acceptances, draft_cost=st.integers(0, 8), per_node=st.integers(1, 8))
def test_the_cheapest_size_is_the_least_time_per_token(chances: list[Fraction], draft_cost: int, per_node: int) -> None:
    """Of all sizes with a tree none needs less time for each expected token, by exact fractions."""
    programme = Programme([float(chance) for chance in chances], LARGEST, 4)
    best = programme.cheapest(draft_cost / 8, lambda nodes: 1 + nodes * per_node / 8)
    costs = {
        (nodes, levels): (Fraction(draft_cost * levels, 8) + 1 + Fraction(nodes * per_node, 8)) / max(every)
        for nodes in range(1, LARGEST + 1)
        for levels in range(1, 5)
        if (every := [worth(shape, chances) for shape in shapes(nodes, levels, len(chances))])
    }
    assert float(costs[best]) == pytest.approx(float(min(costs.values())), rel=1e-12)


@given(data=draft_tables(max_vocab=4), budget=st.integers(1, 6))
def test_the_policy_builds_its_shape_from_the_draft(data: DraftData, budget: int) -> None:
    """Without draws the tree is the rank tree of the programme's best shape, and the policy admits what that one admits."""
    policy = Sequoia((0.5, 0.25, 0.125), budget, 3, draw=None)
    choices = Programme((0.5, 0.25, 0.125), budget + 1, 4).choices(budget + 1, 4)
    chances = oracle.prefixes(data, 0, 3)
    ranks = {path: oracle.ranks(data, 0, path) for path in chances}
    expected = sorted((path for path in chances if ranks[path] in choices), key=lambda path: (len(path), ranks[path]))
    built = policy.build(TableDraft.of(data), 0)
    assert oracle.paths_in_order(built.tree) == expected
    assert policy.admits(built.tree, TableDraft.of(data), 0)
    assert policy.shape == RankTree(choices)


def test_the_default_policy_draws_without_replacement() -> None:
    """The published tree is for sampled targets: another seed gives other tokens, the same seed the same."""
    draft = MarginalDraft(TableDraft.of(DraftData((("33333333",),))).laws[0, :1].repeat(8, axis=0))
    first, again = Sequoia().build(draft, 0).tree, Sequoia().build(draft, 0).tree
    assert first == again
    assert len(first) == 64
    assert oracle.paths_in_order(first) != oracle.paths_in_order(Sequoia(draw=None).build(draft, 0).tree)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "budget": (lambda: Sequoia(budget=0), "budget is 0; expected an integer of at least 1"),
    "empty": (lambda: Sequoia(acceptance=()), "acceptance is (); expected at least one probability"),
    "chance": (lambda: Sequoia(acceptance=(0.5, 1.5)), "acceptance is (0.5, 1.5); expected"),
    "NaN": (lambda: Programme([float("nan")], 2, 2), "acceptance is (nan,); expected"),
    "no such tree": (lambda: Sequoia((0.5,), 9, 3), "no tree of 10 nodes and 4 levels below 1 chances"),
    "outside": (lambda: Programme([0.5], 4, 4).value(5, 2), "5 nodes and 2 levels; expected 1 to 4 and 1 to 4"),
    "root alone": (lambda: Programme([0.5], 4, 4).choices(1, 2), "no tree of 1 nodes"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_what_has_no_tree_is_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each wrong input is refused with its value and what was expected."""
    with pytest.raises(UsageError, match=re.escape(message)):
        act()
