"""Approximate modes: what they do, how far they are from the target, and which parameters make exact rules of them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import Numbers, fractions, model, pairs

from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.approximate import (
    APPROXIMATE,
    REDUCED,
    Lenience,
    Thresholds,
    TopBeta,
    Typical,
    best_path,
    best_step,
    longest_row,
)
from tree_oracle.verify.coin import ScriptedCoin
from tree_oracle.verify.law import (
    GOLDEN,
    NodeScheme,
    Temperature,
    TreeScheme,
    exact_law,
    processed,
    scheme_of,
    steps_of,
    with_bonus_from,
)
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import (
    PROPOSALS,
    RULES,
    ByDepth,
    GivenTree,
    Models,
    NodeRule,
    Siblings,
    Walk,
    ratio_chain,
    sample_match,
    single_coin,
)

NO_COINS = ScriptedCoin([])


def siblings_of(name: str) -> int:
    return APPROXIMATE[name].siblings or 2


@pytest.mark.parametrize("name", APPROXIMATE)
def test_an_approximate_mode_is_named_and_wrong(name: str) -> None:
    """Its card says approximate and claims no proposal, and on the golden laws it is away from the target."""
    card = APPROXIMATE[name]
    assert card.approximate
    assert not card.exact_under
    proposal = PROPOSALS["deterministic" if name == "longest-row" else "without-replacement"]
    scheme = scheme_of(card, proposal, ByDepth((siblings_of(name), 1)))
    law = exact_law(scheme, GOLDEN.models, tokens=2, rounds=1)
    assert law.exact
    assert law.total_variation > Fraction(1, 100)
    assert not set(APPROXIMATE) & set(RULES)
    assert not set(REDUCED) & set(APPROXIMATE)


@given(pairs(2, 3), st.integers(1, 3))
def test_thresholds_of_one_are_the_single_coin_rule(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """Same law, same acceptance, under every proposal; so exact for distinct siblings."""
    models = Models.constant(*laws)
    for proposal in (PROPOSALS["deterministic"], PROPOSALS["independent"]):
        assert same(Thresholds(), single_coin, models, proposal, siblings)
    law = exact_law(NodeScheme(Thresholds(), PROPOSALS["without-replacement"], ByDepth((siblings,))), models, tokens=1)
    assert law.total_variation == 0


@given(pairs(2, 4))
def test_lenience_of_one_is_the_ratio_rule(laws: tuple[Numbers, Numbers]) -> None:
    """Same law, same acceptance."""
    assert same(Lenience(), ratio_chain, Models.constant(*laws), PROPOSALS["independent"], 1)


def same(one: NodeRule, other: NodeRule, models: Models, proposal: object, siblings: int) -> bool:
    schemes = [NodeScheme(rule, proposal, ByDepth((siblings,))) for rule in (one, other)]  # type: ignore[arg-type]
    found = [
        {step: share for step, share in steps_of(scheme, models, (), None, None).items() if share} for scheme in schemes
    ]
    return found[0] == found[1]


@given(st.integers(0, 10**6))
def test_top_beta_of_one_is_greedy_decoding(seed: int) -> None:
    """On the target's own rows, with a greedy bonus, the text is the greedy one: distance 0 from the law of temperature 0."""
    models = Models.of(model(seed, 3), model(seed + 1, 3))
    greedy = processed(models.target, Temperature(Fraction(0)))
    scheme = with_bonus_from(NodeScheme(TopBeta(beta=1), PROPOSALS["deterministic"], ByDepth((2, 2))), greedy)
    assert exact_law(scheme, models, truth=greedy, tokens=3).total_variation == 0


def test_top_beta_of_more_is_not_greedy_decoding() -> None:
    """With beta = 2 a second choice that was drafted is kept."""
    models = Models.constant(fractions(5, 4, 1), fractions(0, 1, 0))
    greedy = processed(models.target, Temperature(Fraction(0)))
    scheme = NodeScheme(TopBeta(beta=2), PROPOSALS["deterministic"], ByDepth((1,)))
    assert exact_law(scheme, models, truth=greedy, tokens=1, rounds=1).total_variation == 1


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_a_single_resampled_row_is_sample_match(seed: int, depth: int) -> None:
    """With one path there is nothing to choose: the law is that of R0."""
    models, chain, proposal = (
        Models.of(model(seed, 2), model(seed + 1, 2)),
        ByDepth((1,) * depth),
        PROPOSALS["independent"],
    )
    row = exact_law(TreeScheme(longest_row, proposal, chain), models, tokens=2, rounds=1)
    assert row.total_variation == 0
    assert row.expected_length == exact_law(NodeScheme(sample_match, proposal, chain), models, tokens=2).expected_length


@pytest.mark.parametrize(
    ("p", "q"), [((5, 3, 2), (4, 4, 2)), ((1, 1, 1), (1, 1, 1)), ((2, 5, 3), (6, 3, 1))], ids=["near", "even", "far"]
)
def test_the_longest_of_several_rows_is_biased(p: tuple[int, ...], q: tuple[int, ...]) -> None:
    """With two rows on three tokens the distance is large."""
    scheme = TreeScheme(longest_row, PROPOSALS["deterministic"], ByDepth((2, 2)))
    law = exact_law(scheme, Models.constant(fractions(*p), fractions(*q)), tokens=2, rounds=1)
    assert law.total_variation > Fraction(1, 10)


@given(pairs(2, 4), st.integers(1, 3))
def test_the_best_available_step_never_leaves_the_tree(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """The accepted child is one of largest target probability among the siblings, and no coin is tossed."""
    p, q = laws
    tokens = Law(q).top(siblings)
    verdict = best_step(NO_COINS, Law(p), Siblings(tokens, Law(q)))
    assert verdict.child is not None
    assert p[tokens[verdict.child]] == max(p[token] for token in tokens)


def test_the_best_path_looks_at_the_whole_path() -> None:
    """The better first step loses to the better path; ties go to the first."""
    tree = CandidateTree([0, 0, 1, 0, 1], [-1, 0, 0, 1, 2])
    half, root, first, second = Law(fractions(1, 1)), Law(fractions(3, 2)), Law(fractions(1, 4)), Law(fractions(0, 1))
    given_tree = GivenTree(tree, [root, first, second, half, half], [half] * 5)
    assert best_path(NO_COINS, given_tree).accepted == (2, 4)
    assert Walk(best_step)(NO_COINS, given_tree).accepted == (1, 3)
    even = GivenTree(tree, [half] * 5, [half] * 5)
    assert best_path(NO_COINS, even).accepted == (1, 3)


def test_typical_acceptance_by_its_formula() -> None:
    """A token is kept above min(epsilon, delta exp(-H)); the longest prefix wins, among equals the more probable one."""
    law = Law(fractions(6, 3, 1))
    entropy = -sum(p * math.log(p + 1e-5) for p in (0.6, 0.3, 0.1))
    assert Typical().threshold(law) == pytest.approx(0.09 * math.exp(-entropy), abs=0, rel=1e-12)
    assert Typical(delta=9).threshold(law) == 0.3
    tree = CandidateTree([0, 2, 1, 0], [-1, 0, 0, 0])
    rule = Typical(epsilon=0.3, delta=9)
    assert rule(NO_COINS, GivenTree(tree, [law] * 4, [law] * 4)).accepted == (3,)
    assert Typical(epsilon=0.7, delta=9)(NO_COINS, GivenTree(tree, [law] * 4, [law] * 4)).accepted == ()


def test_top_beta_needs_both_rank_and_gap() -> None:
    """A token outside the first beta or too far below the first is replaced by the first."""
    law = Law(fractions(60, 30, 9, 1))
    verdicts = [TopBeta(2, 3.0)(NO_COINS, law, Siblings((token,), law)) for token in range(4)]
    assert [verdict.child for verdict in verdicts] == [0, 0, None, None]
    assert verdicts[2].bonus == 0
    assert TopBeta(4, 1.0)(NO_COINS, law, Siblings((2,), law)).child is None
    never = Law(fractions(1, 0))
    assert TopBeta(2, 3.0)(NO_COINS, never, Siblings((1,), never)).bonus == 0


def test_lower_thresholds_accept_more() -> None:
    """Thresholds below 1 divide the accumulated probability, or accept a likely child outright."""
    proposal = PROPOSALS["deterministic"]

    def acceptance(single: Fraction, accumulated: Fraction) -> Fraction:
        rule = Thresholds(single, accumulated)
        return Fraction(
            exact_law(NodeScheme(rule, proposal, ByDepth((2,))), GOLDEN.models, tokens=1, rounds=1).acceptance
        )

    one = Fraction(1)
    assert acceptance(one, one) == Fraction(3, 10)
    assert acceptance(one, Fraction(1, 2)) == Fraction(3, 5)
    assert acceptance(Fraction(1, 4), one) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Thresholds(Fraction(0)), "thresholds 0 and 1; expected numbers above 0 and up to 1"),
        (lambda: Lenience(Fraction(3, 2)), "lenience 3/2; expected a number above 0 and up to 1"),
        (lambda: TopBeta(0), "beta 0 and tau 3.0; expected 1 or more"),
        (lambda: Typical(-1.0), "epsilon -1.0 and delta 0.09; expected numbers that are not negative"),
        (
            lambda: Lenience()(NO_COINS, GOLDEN.models.target(()), Siblings((0, 1), GOLDEN.models.draft(()))),
            "given 2 siblings",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(make: object, message: str) -> None:
    """The message shows the value and what was expected."""
    with pytest.raises(UsageError, match=re.escape(message)):
        make()  # type: ignore[operator]
