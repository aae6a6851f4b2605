"""Laws, coins, rules and the exact law on numbers at the edge of what there is: right, or refused by name and in time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import TreeOracleError, Unsupported, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.coin import InvalidCoin, ScriptedCoin, SeededCoin
from tree_oracle.verify.coin_enumeration import outcomes
from tree_oracle.verify.law import exact_law
from tree_oracle.verify.law.processing import PresencePenalty, Temperature, processed
from tree_oracle.verify.law.schemes import NodeScheme, TreeScheme, scheme_of
from tree_oracle.verify.probabilities import InvalidLaw, Law, Number
from tree_oracle.verify.rules import PROPOSALS, RULES, ByDepth, GivenTree, Models, Widths, traversal

F = Fraction
numerators = st.integers(1, 4).flatmap(
    lambda size: st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any)
)


def even(size: int) -> tuple[Number, ...]:
    return (F(1, size),) * size


def scheme(rule: str, proposal: str, widths: Widths) -> NodeScheme | TreeScheme:
    return scheme_of(RULES[rule], PROPOSALS[proposal], widths)


WRONG_LAWS: dict[str, tuple[list[Number], str]] = {
    "off by less than a float": ([F(1), F(1, 10**400)], "expected 1 exactly"),
    "larger than a float": ([10**400], "expected 1 exactly"),
    "fractions larger than a float": ([F(10**400), 1 - F(10**400)], "expected a finite number from 0 to 1"),
    "infinite": ([float("inf"), 0.0], "expected a finite number from 0 to 1"),
}


@pytest.mark.parametrize(("values", "message"), WRONG_LAWS.values(), ids=WRONG_LAWS)
def test_sums_are_judged_in_the_numbers_that_they_are_of(values: list[Number], message: str) -> None:
    """An exact law is judged exactly, however far its error is beyond floats."""
    with pytest.raises(InvalidLaw, match=message):
        Law(values)


@given(
    weights=st.lists(st.integers(0, 10**320), min_size=1, max_size=4).filter(any), u=st.floats(0, 1, exclude_max=True)
)
def test_a_draw_is_exact_for_weights_beyond_floats(weights: list[int], u: float) -> None:
    """The first index whose cumulative weight exceeds u times the sum, in integers of any size and for any float u."""
    mark = F(u) * sum(weights)
    due = next(index for index in range(len(weights)) if sum(weights[: index + 1]) > mark)
    assert ScriptedCoin([u]).draw([F(weight) for weight in weights]) == due
    assert ScriptedCoin([u]).draw(weights) == due


@pytest.mark.parametrize("weights", [[1e308, 1e308], [5e-324, 5e-324], [1e-310]])
def test_weights_without_shares_are_refused(weights: list[float]) -> None:
    """Floats that sum to infinity, or to so little that a share of it is rounded away, are not drawn from."""
    with pytest.raises(InvalidCoin, match="expected a sum that floats can be a share of"):
        ScriptedCoin([0.3]).draw(weights)
    with pytest.raises(InvalidCoin):
        list(outcomes(lambda coin: coin.draw(weights)))


@given(weights=numerators, cold=st.sampled_from([1e-320, 1e-5, 0.01, F(1, 10**6)]), exact=st.booleans())
def test_a_low_temperature_is_nearly_greedy(weights: list[int], cold: Fraction, exact: bool) -> None:
    """However cold it is, the most probable tokens share the law, and none is lost to underflow."""
    law = Law([F(weight, sum(weights)) if exact else weight / sum(weights) for weight in weights])
    found = Temperature(cold)(law, ())
    best = [token for token, weight in enumerate(weights) if weight == max(weights)]
    assert sum(found[token] for token in best) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("heat", [float("inf"), float("nan"), -1])
def test_what_is_no_temperature_is_refused(heat: Fraction) -> None:
    """Infinity and NaN are refused as a negative one is."""
    with pytest.raises(UsageError, match="expected a number that is not negative, and finite"):
        Temperature(heat)


def test_a_float_parameter_of_an_exact_law_gives_a_law() -> None:
    """Weights of both kinds that sum to 1.0 become a law of floats, not a mixture."""
    models = Models.constant((F(0), F(1)), (F(1), F(0)))
    found = processed(models.target, PresencePenalty(0.5))((0,))  # type: ignore[arg-type]
    assert found.values == (0.0, 1.0)
    assert not found.exact


@given(
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)).filter(lambda sizes: sizes[0] != sizes[1]),
    rule=st.sampled_from(sorted(RULES)),
    proposal=st.sampled_from(sorted(PROPOSALS)),
    count=st.integers(1, 3),
)
def test_target_and_draft_over_unlike_vocabularies_are_refused(
    sizes: tuple[int, int], rule: str, proposal: str, count: int
) -> None:
    """A reduced draft vocabulary that was not spread over the target's is named, whatever the rule."""
    models = Models.constant(even(sizes[0]), even(sizes[1]))
    with pytest.raises(InvalidLaw, match=rf"the draft law after \(\) has {sizes[1]} tokens; expected {sizes[0]}"):
        exact_law(scheme(rule, proposal, ByDepth((count,))), models, tokens=1, rounds=1)


@given(
    p=numerators,
    q=numerators,
    rule=st.sampled_from(sorted(set(RULES) - {"transport"})),
    proposal=st.sampled_from(sorted(PROPOSALS)),
    count=st.integers(1, 4),
)
def test_floats_come_to_what_fractions_come_to(
    p: list[int], q: list[int], rule: str, proposal: str, count: int
) -> None:
    """The same law to rounding, zeros on either side and more siblings than tokens included, or the same refusal."""
    size = min(len(p), len(q))
    p, q = ([*side[: size - 1], max(sum(side[size - 1 :]), 1)] for side in (p, q))
    pair = [tuple(F(weight, sum(side)) for weight in side) for side in (p, q)]
    found: list[object] = []
    for models in (Models.constant(*pair), Models.constant(*(tuple(map(float, side)) for side in pair))):
        try:
            law = exact_law(scheme(rule, proposal, ByDepth((count,))), models, tokens=2, rounds=1)
            found.append([float(law.total_variation), float(law.acceptance)])
        except TreeOracleError as refused:
            found.append(type(refused))
    exact, rounded = found
    assert rounded == (pytest.approx(exact, abs=1e-12) if isinstance(exact, list) else exact)


ENDLESS: dict[str, Callable[[], object]] = {
    "siblings": lambda: exact_law(
        scheme("multi-round", "independent", ByDepth((6,))), Models.constant(even(60), even(60)), tokens=1, rounds=1
    ),
    "text": lambda: exact_law(
        scheme("multi-round", "independent", ByDepth((2,))), Models.constant(even(4), even(4)), tokens=20, rounds=9
    ),
    "levels of a node rule": lambda: exact_law(
        scheme("ratio-chain", "independent", lambda _: 1), Models.constant(even(2), even(2)), tokens=1, rounds=1
    ),
    "levels of a tree rule": lambda: exact_law(
        scheme("traversal", "without-replacement", lambda _: 2), Models.constant(even(2), even(2)), tokens=1, rounds=1
    ),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_would_not_end_is_refused(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Node rules, texts and trees are bounded as enumerated rounds are; the bounds are lowered here, to be quick."""
    monkeypatch.setattr("tree_oracle.verify.rules.proposals.MOST_SIBLINGS", 500)
    monkeypatch.setattr("tree_oracle.verify.law.exact.MOST_TEXTS", 500)
    monkeypatch.setattr("tree_oracle.verify.rules.drawn_tree.MOST_LEVELS", 50)
    with pytest.raises(Unsupported, match="more than (50|500) "):
        ENDLESS[what]()


def test_negative_widths_are_refused() -> None:
    """A negative number of children is no leaf, and not all tokens but one."""
    for rule in ("multi-round", "traversal"):
        with pytest.raises(UsageError, match="children below .* is -1; expected an integer of at least 0"):
            exact_law(scheme(rule, "deterministic", ByDepth((-1,))), Models.constant(even(3), even(3)), tokens=1)


def test_past_sixteen_tokens_there_is_a_law_and_no_bound() -> None:
    """The bound looks at every set of tokens; where there are too many, the law is still found."""
    found = exact_law(
        scheme("point-mass", "deterministic", ByDepth((2,))), Models.constant(even(17), even(17)), tokens=1, rounds=1
    )
    assert (found.total_variation, found.bound, found.meets_bound) == (0, None, None)


def test_no_tree_is_too_deep_to_traverse() -> None:
    """Three thousand levels are followed without a stack of calls."""
    depth = 3000
    law = Law([0.5, 0.5])
    tree = GivenTree(CandidateTree([0] * depth, [-1, *range(depth - 1)]), [law] * depth, [law] * depth)
    assert traversal(SeededCoin(1), tree).accepted == tuple(range(1, depth))
