"""Statistics of laws: the anytime-valid test keeps its rate of false alarm, the fixed tests keep theirs, both see what is there."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import fractions, laws
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from tree_oracle.record import UsageError
from tree_oracle.verify.law import Evidence, detectable, p_value
from tree_oracle.verify.probabilities import Law

SURE = Law(fractions(1, 0))
EVEN = Law(fractions(1, 1, 2))


def after(text: tuple[int, ...], law: Law) -> Evidence:
    evidence = Evidence()
    for token in text:
        evidence.see((), token, law)
    return evidence


@given(weights=laws(3), count=st.integers(1, 6))
def test_the_evidence_is_a_fair_game(weights: tuple[Fraction, ...], count: int) -> None:
    """Over all texts that the law can give, the mean of E is 1: nobody wins against a right decoder."""
    law, mean = Law(weights), 0.0
    for text in product(range(3), repeat=count):
        share = math.prod(float(law[token]) for token in text)
        if share:
            mean += share * math.exp(after(text, law).log_e)
    assert mean == pytest.approx(1, abs=1e-9)


def test_the_evidence_of_histories_is_one_fair_game() -> None:
    """Bets after several histories, each with a law of its own, together have mean 1 too."""
    following = {(): EVEN, (0,): Law(fractions(3, 1, 0)), (1,): Law(fractions(1, 1, 1)), (2,): Law(fractions(1, 0, 5))}
    mean = 0.0
    for texts in product(product(range(3), repeat=2), repeat=3):
        share, evidence = 1.0, Evidence()
        for text in texts:
            due = [following[()], following[text[:1]]]
            share *= float(due[0][text[0]] * due[1][text[1]])
            if share:
                evidence.see_text(text, due)
        mean += share * math.exp(evidence.log_e) if share else 0.0
    assert mean == pytest.approx(1, abs=1e-9)


def test_false_alarms_are_rarer_than_stated() -> None:
    """At a loose rate of 1 in 10, looked at after every token, fewer than 1 in 10 of 400 right samplers are refuted."""
    chance, refuted = np.random.default_rng(0), 0
    for _ in range(400):
        evidence = Evidence(false_alarm=0.1)
        for token in chance.choice(3, size=60, p=[0.25, 0.25, 0.5]).tolist():
            evidence.see((), token, EVEN)
        refuted += evidence.refuted
    assert 0 < refuted < 40


@pytest.mark.parametrize("distance", [0.1, 0.2, 0.4])
def test_what_is_called_detectable_is_detected(distance: float) -> None:
    """With the number of tokens that makes a distance detectable, and half as many again, it is found in 9 of 10 samplers."""
    tokens = next(n for n in range(10, 20_000, 10) if detectable(n, 3) <= distance)
    chance, found = np.random.default_rng(1), 0
    wrong = [0.25 + distance, 0.25, 0.5 - distance]
    for _ in range(20):
        evidence = Evidence()
        for token in chance.choice(3, size=tokens * 3 // 2, p=wrong).tolist():
            evidence.see((), token, EVEN)
        found += evidence.refuted
    assert found >= 18


def test_an_impossible_token_ends_the_matter() -> None:
    """A token of probability 0 is infinite evidence, which no later token takes back."""
    evidence = after((0, 1, 0), SURE)
    assert evidence.log_e == math.inf
    assert (evidence.refuted, evidence.stopped_at, evidence.tokens) == (True, 2, 3)


def test_right_tokens_of_a_certain_law_say_nothing() -> None:
    """Where only one token is possible, seeing it is worth exactly nothing."""
    assert after((0,) * 50, SURE).log_e == 0


def test_the_farthest_history_is_named() -> None:
    """What is reported is the history whose shares are off, with what was due."""
    evidence = Evidence()
    for _ in range(40):
        evidence.see_text((0, 0), [Law(fractions(1, 0)), Law(fractions(1, 1))])
    farthest = evidence.farthest()
    assert farthest is not None
    assert (farthest.history, farthest.seen, farthest.due, farthest.total_variation) == ((0,), (1, 0), (0.5, 0.5), 0.5)
    assert Evidence().farthest() is None
    assert Evidence().detectable() == (0, 1.0)


@given(tokens=st.integers(1, 5000), possible=st.integers(2, 9), histories=st.integers(1, 40))
def test_more_tokens_detect_more(tokens: int, possible: int, histories: int) -> None:
    """The detectable distance lies between 0 and 1, and falls neither with more histories nor with a stricter rate."""
    here = detectable(tokens, possible, histories)
    assert 0 < here <= 1
    assert detectable(4 * tokens, possible, histories) <= here
    assert detectable(tokens, possible, histories + 1) >= here
    assert detectable(tokens, possible, histories, 1e-9) >= here


@given(weights=laws(3).filter(lambda law: sum(share > 0 for share in law) > 1), draws=st.integers(1, 8))
def test_the_exact_test_is_valid_at_every_level(weights: tuple[Fraction, ...], draws: int) -> None:
    """For each level a the outcomes with P <= a have together at most probability a, and P is the sum over rarer ones."""
    law = Law(weights)
    outcomes = [c for c in product(range(draws + 1), repeat=3) if sum(c) == draws]
    chances = {c: _multinomial(c, weights) for c in outcomes}
    possible = {c: p_value(c, law) for c in outcomes if chances[c]}
    for counts, found in possible.items():
        assert found == pytest.approx(float(sum(p for p in chances.values() if p <= chances[counts])), abs=1e-9)
        assert sum(chances[c] for c, p in possible.items() if p <= found) <= found + 1e-9


def _multinomial(counts: tuple[int, ...], law: tuple[Fraction, ...]) -> Fraction:
    ways = math.factorial(sum(counts))
    for count in counts:
        ways //= math.factorial(count)
    return ways * math.prod((share**count for share, count in zip(law, counts, strict=True)), start=Fraction(1))


def test_large_counts_are_tested_by_g() -> None:
    """Where outcomes are too many to be listed, P is that of SciPy's log-likelihood ratio."""
    counts = [2500, 2400, 5100]
    due = stats.power_divergence(counts, [2500, 2500, 5000], lambda_="log-likelihood").pvalue
    assert p_value(counts, EVEN) == pytest.approx(due)


def test_the_fixed_test_sees_what_cannot_be() -> None:
    """An impossible token has P = 0; a law with one possible token leaves nothing to test."""
    assert p_value([3, 1], SURE) == 0
    assert p_value([4, 0], SURE) == 1


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "counts are [1, 2]; expected 3 that are not negative"),
        ([0, 0, 0], "expected 3 that are not negative, one of them positive"),
        ([-1, 2, 3], "counts are [-1, 2, 3]"),
    ],
)
def test_counts_that_are_none_are_refused(counts: list[int], message: str) -> None:
    """The message shows the counts and says what was expected."""
    with pytest.raises(UsageError) as refused:
        p_value(counts, EVEN)
    assert message in str(refused.value)


def test_too_few_draws_for_g_are_refused() -> None:
    """A rare token among draws too many to list is no basis for an approximation."""
    with pytest.raises(UsageError, match=r"a token is expected 2 times in 2000 draws; expected at least 5"):
        p_value([1000, 998, 2], Law(fractions(500, 499, 1)))


def test_bad_questions_are_refused() -> None:
    """A rate outside (0, 1) and a token that the law does not have are named."""
    with pytest.raises(UsageError, match="the rate of false alarm is 0; expected a number between 0 and 1"):
        Evidence(false_alarm=0)
    with pytest.raises(UsageError, match="token 3 was seen; expected one of the 3 that the law speaks of"):
        Evidence().see((), 3, EVEN)
