"""The abstract coin: one convention on scripts and seeds, and enumeration that agrees with counting."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin, CoinsExhausted, InvalidCoin, ScriptedCoin, SeededCoin
from tree_oracle.verify.coin_enumeration import outcomes
from tree_oracle.verify.coin_kept import KeptCoin

QUARTERS = 4
# A program: a test with a threshold in quarters, a draw from weights that sum to 4, or a leaf; then one program per answer.
Program: TypeAlias = "str | tuple[int, Program, Program] | tuple[tuple[int, ...], tuple[Program, ...]]"
WEIGHTS = [(1, 3), (4,), (0, 4), (2, 1, 1), (0, 2, 0, 2)]


def a_test(children: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
    return st.tuples(st.integers(0, QUARTERS), children, children)


def a_draw(children: st.SearchStrategy[Program]) -> st.SearchStrategy[Program]:
    return st.sampled_from(WEIGHTS).flatmap(
        lambda weights: st.tuples(st.just(weights), st.tuples(*[children] * len(weights)))
    )


PROGRAMS = st.recursive(st.sampled_from("abc"), lambda children: a_test(children) | a_draw(children), max_leaves=6)


def run(program: Program, coin: Coin) -> str:
    while not isinstance(program, str):
        if len(program) == 3:
            program = program[1] if coin.accept(Fraction(program[0], QUARTERS)) else program[2]
        else:
            program = program[1][coin.draw(program[0])]
    return program


def tosses(program: Program) -> int:
    if isinstance(program, str):
        return 0
    return 1 + max(map(tosses, program[1:] if len(program) == 3 else program[1]))


@given(PROGRAMS)
def test_enumeration_counts_every_script_once(program: Program) -> None:
    """The enumerated law is the share of scripts that end there, over all scripts of quarters: thresholds fall on the grid."""
    length = min(tosses(program), 5)
    if tosses(program) > length:
        return
    grid = [Fraction(step, QUARTERS) for step in range(QUARTERS)]
    counted = Counter(run(program, ScriptedCoin(script)) for script in product(grid, repeat=length))
    law: dict[str, Fraction] = {}
    for outcome, probability in outcomes(lambda coin: run(program, coin)):
        law[outcome] = law.get(outcome, Fraction(0)) + Fraction(probability)
    assert law == {outcome: Fraction(count, QUARTERS**length) for outcome, count in counted.items()}


def test_a_script_follows_the_half_open_convention() -> None:
    """u = p rejects, u just below p accepts, u = 0 never accepts probability 0, and no u rejects probability 1."""
    half, below = 0.5, math.nextafter(0.5, 0)
    last = math.nextafter(1, 0)
    coin = ScriptedCoin([half, below, 0, last, 0])
    assert [coin.accept(p) for p in (half, half, 0, 1, half)] == [False, True, False, True, True]


def test_a_draw_follows_the_half_open_convention() -> None:
    """A draw takes the first index whose cumulative weight exceeds u times the sum, and never one of weight 0."""
    last = math.nextafter(1, 0)
    weights = [0, 1, 0, 1, 2, 0]
    script = [0, math.nextafter(0.25, 0), 0.25, math.nextafter(0.5, 0), 0.5, last]
    assert [ScriptedCoin([u]).draw(weights) for u in script] == [1, 1, 3, 3, 4, 4]


@given(
    st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=6).filter(any),
    st.floats(0, 1, exclude_max=True),
)
def test_a_draw_in_floats_never_takes_a_weight_of_zero(weights: list[float], u: float) -> None:
    """However the cumulative sums are rounded, the drawn index has a positive weight."""
    if math.isinf(sum(weights)):
        return
    assert weights[ScriptedCoin([u]).draw(weights)] > 0


def test_every_call_uses_one_scripted_u() -> None:
    """Certain tests and draws use up a u as well, so that a script lines up with a rule's calls."""
    coin = ScriptedCoin([0.9, 0.9, 0.9])
    coin.accept(1)
    coin.draw([0, 1])
    assert coin.used == 2


def test_a_script_that_is_too_short_is_a_usage_error() -> None:
    """Running out of coins is told apart from every other failure, with the number that was there."""
    coin = ScriptedCoin([0.5])
    coin.accept(1)
    with pytest.raises(CoinsExhausted, match="all 1 scripted coins are used and one more is asked for"):
        coin.accept(1)
    assert issubclass(CoinsExhausted, UsageError)


@pytest.mark.parametrize("u", [1, 1.0, -0.25, math.nan, Fraction(5, 4)])
def test_a_scripted_u_lies_in_the_half_open_interval(u: Fraction | float) -> None:
    """1 and NaN are no coins; the message names the place."""
    with pytest.raises(InvalidCoin, match=r"u number 1 is .*; expected a number of the half-open interval \[0, 1\)"):
        ScriptedCoin([0, u])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, -0.5], "weight 1 is -0.5; expected a finite number that is not negative"),
        ([math.nan], "weight 0 is nan"),
        ([math.inf, 1], "weight 0 is inf"),
        ([0, 0], "none of 2 weights is positive: there is nothing to draw"),
    ],
)
def test_weights_that_cannot_be_drawn_from_are_refused(weights: list[float], message: str) -> None:
    """On every kind of coin the offending weight is named."""
    for toss in coins():
        with pytest.raises(InvalidCoin, match=message):
            toss(lambda coin: coin.draw(weights))


def test_a_probability_of_nan_is_refused() -> None:
    """NaN compares false with everything and would reject in silence."""
    for toss in coins():
        with pytest.raises(InvalidCoin, match="probability NaN"):
            toss(lambda coin: coin.accept(math.nan))


def coins() -> list[Callable[[Callable[[Coin], object]], object]]:
    return [
        lambda program: program(ScriptedCoin([0.5])),
        lambda program: program(SeededCoin(0)),
        lambda program: program(KeptCoin(SeededCoin(0))),
        lambda program: list(outcomes(program)),
    ]


def test_equal_seeds_give_equal_tosses() -> None:
    """A seeded coin can be seen again."""
    one, same, other = SeededCoin(7), SeededCoin(7), SeededCoin(8)
    texts = [[coin.draw([1, 1, 1, 1]) for _ in range(64)] for coin in (one, same, other)]
    assert texts[0] == texts[1] != texts[2]


def test_a_program_that_forgets_its_coins_is_refused() -> None:
    """Enumeration runs a program again, so chance from elsewhere would make the law a fiction."""
    runs = iter(range(9))
    with pytest.raises(UsageError, match="the program tosses other coins when it is run again"):
        list(outcomes(lambda coin: coin.accept(Fraction(1, 2)) if next(runs) == 0 else None))


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
)
def test_a_kept_number_answers_as_one_number_does(marks: list[int], weights: list[int]) -> None:
    """Tests and a draw on one kept u have the joint law of a single u: counted over the cells that the thresholds cut."""
    cells = 8 * sum(weights)
    counted = Counter(
        (tuple(cell * 8 < mark * cells for mark in marks), ScriptedCoin([Fraction(cell, cells)]).draw(weights))
        for cell in range(cells)
    )

    def program(coin: Coin) -> tuple[tuple[bool, ...], int]:
        kept, answers = KeptCoin(coin), []
        for mark in marks:
            kept.again()
            answers.append(kept.accept(Fraction(mark, 8)))
        kept.again()
        return tuple(answers), kept.draw(weights)

    law = Counter[tuple[tuple[bool, ...], int]]()
    for outcome, probability in outcomes(program):
        law[outcome] += Fraction(probability)  # type: ignore[assignment]
    assert law == {outcome: Fraction(count, cells) for outcome, count in counted.items()}


def test_what_is_not_kept_is_tossed_anew() -> None:
    """With neither draws nor tests kept nothing is known afterwards and repeats are independent."""
    seen = Counter[tuple[bool, ...]]()
    for outcome, probability in outcomes(lambda coin: twice(KeptCoin(coin, keep_draws=False, keep_tests=False))):
        seen[outcome] += Fraction(probability)  # type: ignore[assignment]
    assert set(seen.values()) == {Fraction(1, 4)}


def twice(coin: KeptCoin) -> tuple[bool, bool]:
    first = coin.accept(Fraction(1, 2))
    coin.again()
    assert coin.kept == ()
    return first, coin.accept(Fraction(1, 2))
