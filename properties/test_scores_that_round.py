"""What float64 cannot tell apart decides nothing: a program that multiplies where the reference adds logarithms is right as well."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import policy_oracle as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import CaDDTree, CalibratedTreeSpark, DDTree, MarginalDraft, Taps
from tree_oracle.construct.rounding import EPSILON, slack

Path = oracle.Path
DEPTH = 3
CLEAR = 1e-9  # far above any rounding, far below any difference that is meant

# One law for all depths: the six orders of three tokens are equal products that floats round apart.
laws = st.lists(st.floats(0.02, 1.0), min_size=3, max_size=4).map(lambda parts: np.array(parts) / sum(parts))
budgets = st.integers(1, 30)


def draft_of(law: np.ndarray) -> MarginalDraft:
    return MarginalDraft(np.log(np.tile(law, (DEPTH, 1))))


def every_path(vocab: int) -> list[Path]:
    return [path for length in range(1, DEPTH + 1) for path in product(range(vocab), repeat=length)]


def multiplied(chance: Callable[[int], float], vocab: int) -> dict[Path, float]:
    """The product along each path, from the leaf up."""
    return {path: math.prod(chance(token) for token in reversed(path)) for path in every_path(vocab)}


def best(values: dict[Path, float], budget: int) -> list[Path]:
    """The best by value alone; equal bits go to the larger path, which is nobody's rule."""
    return sorted(values, key=lambda path: (-values[path], len(path), tuple(-token for token in path)))[:budget]


def swapped(values: dict[Path, float], taken: list[Path]) -> set[Path] | None:
    """A closed set with a leaf given for something clearly worse."""
    leaves = [path for path in taken if not any(other[:-1] == path for other in taken)]
    for leaf in leaves:
        for path, value in values.items():
            rest = set(taken) - {leaf}
            if path not in taken and value < values[leaf] * (1 - CLEAR) and path[:-1] in rest | {()}:
                return rest | {path}
    return None


@given(law=laws, slope=st.floats(0.3, 3.0), offset=st.floats(-1.0, 1.0))
def test_calibrated_treespark_admits_what_another_arithmetic_chooses(
    law: np.ndarray, slope: float, offset: float
) -> None:
    """At several sizes the best products of odds over one plus odds are admitted, and one node clearly worse is not."""

    def estimate(token: int) -> float:
        odds = math.exp(offset) * (law[token] / (1 - law[token])) ** slope
        return float(odds / (1 + odds))

    values = multiplied(estimate, len(law))
    for budget in range(2, 31, 5):
        policy = CalibratedTreeSpark(budget, DEPTH, 4, slope, offset)
        taken = best(values, budget)
        assert policy.admits(oracle.tree_of(taken), draft_of(law), 0)
        worse = swapped(values, taken)
        assert worse is None or not policy.admits(oracle.tree_of(worse), draft_of(law), 0)


@given(law=laws, budget=budgets, chances=st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4))
def test_taps_admits_what_another_arithmetic_selects(law: np.ndarray, budget: int, chances: list[float]) -> None:
    """The best products of a scorer's chances are admitted, and one node clearly worse is not."""
    policy = Taps(lambda _, tokens, __: np.array(chances)[tokens], budget, 200, 4, DEPTH)
    values = multiplied(chances.__getitem__, len(law))
    taken = best(values, budget)
    assert policy.admits(oracle.tree_of(taken), draft_of(law), 0)
    worse = swapped(values, taken)
    assert worse is None or not policy.admits(oracle.tree_of(worse), draft_of(law), 0)


@given(law=laws, count=st.integers(1, 20))
def test_caddtree_may_end_on_either_side_of_an_equal_rate(law: np.ndarray, count: int) -> None:
    """Where one more node makes the rate neither better nor worse, it may be there or not; two may not."""
    draft = draft_of(law)
    masses = np.cumsum([1.0, *np.exp(DDTree(count + 2, DEPTH).build(draft, 0).scores[1:])]).tolist()

    def cost(nodes: int) -> float:
        """Too cheap before ``count`` nodes, too dear after the next one, and between them exactly what it brings."""
        return float(masses[min(nodes, count + 1)]) * (2.0 - min(nodes, count) / (count + 1)) + 9.0 * max(
            0, nodes - count - 1
        )

    policy = CaDDTree(count + 2, DEPTH, 0.0, cost)
    trees = [DDTree(size, DEPTH).build(draft, 0).tree for size in range(max(1, count - 1), count + 3)]
    wanted = [len(tree) - 1 in (count, count + 1) for tree in trees]
    assert [policy.admits(tree, draft, 0) for tree in trees] == wanted


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_threshold_is_reached_by_any_order_of_its_factors(order: Path) -> None:
    """A threshold that is the product of three chances, taken in any order, is reached by a path of those three."""
    chances = [0.1, 0.7, 0.3]
    threshold = math.prod(chances[token] for token in order)
    draft, path = draft_of(np.full(3, 1 / 3)), (0, 1, 2)
    values = multiplied(chances.__getitem__, 3)
    policy = Taps(lambda _, tokens, __: np.array(chances)[tokens], 40, 200, 3, DEPTH, threshold=threshold)
    above = {other for other, value in values.items() if value > threshold * (1 + CLEAR)}
    for paths in (above, above | {path[:1], path[:2], path}):
        assert policy.admits(oracle.tree_of(paths), draft, 0)
    assert not policy.admits(oracle.tree_of(above - {max(above, key=len)}), draft, 0)


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=16))
def test_the_slack_covers_every_order_of_a_sum(weights: list[float]) -> None:
    """Sums of the same numbers from the front and from the back are no further apart than the slack says."""
    forwards, backwards = sum(weights), sum(reversed(weights))
    assert abs(forwards - backwards) <= slack(len(weights), 1.0, forwards, backwards) < 1e-10


def test_nothing_is_near_minus_infinity() -> None:
    """What is never taken is told apart from everything, and the slack of a score grows with it."""
    assert slack(3, 1.0, -np.inf, -1.0) == 0.0
    assert slack(1, 1.0, -3.0, ulps=1) == 2 * 2 * EPSILON * 4.0
