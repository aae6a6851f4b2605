"""The error figures mean what they say: each is held against an oracle of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.stats import entropy  # type: ignore[import-untyped, unused-ignore]

from tree_oracle.numerics.choices import by_margin, divergences, flips, margins, tied
from tree_oracle.numerics.compared import compare, join
from tree_oracle.numerics.distance import balance, cosine, spread, ulps
from tree_oracle.numerics.operator_words import LIMITS, SMALL, Ratios, above, joined, ratios, words
from tree_oracle.record import UsageError, gaps

WHOLE = st.integers(-(2**20), 2**20).map(float)  # sums and differences of these are exact
LOGITS = st.floats(-50, 50).map(lambda value: float(np.float32(value)))
DTYPES: dict[str, Any] = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def rows(values: st.SearchStrategy[float], vocab: int = 5) -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, 6).flatmap(lambda count: npst.arrays(np.float64, (count, vocab), elements=values))


def pairs(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Two arrays of one shape."""
    return rows(values).flatmap(
        lambda one: st.tuples(st.just(one), npst.arrays(np.float64, one.shape, elements=values))
    )


@given(pair=pairs(WHOLE), shift=npst.arrays(np.float64, (6, 1), elements=WHOLE))
def test_a_gap_is_the_largest_difference_up_to_a_constant(
    pair: tuple[np.ndarray, np.ndarray], shift: np.ndarray
) -> None:
    """Each row's gap is the largest difference of logits below their maxima, and no constant added to a row changes it."""
    seen, true = pair
    for mine, theirs, gap in zip(seen.tolist(), true.tolist(), gaps(seen, true).tolist(), strict=True):
        assert gap == max(abs((a - max(mine)) - (b - max(theirs))) for a, b in zip(mine, theirs, strict=True))
    assert np.array_equal(gaps(seen + shift[: len(seen)], true), gaps(seen, true))


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_gap_to_a_row_that_is_not_finite_is_infinite(broken: float) -> None:
    """One NaN or infinity makes the row infinitely far off; minus infinity on both sides is a difference of nothing."""
    assert gaps(np.array([[1.0, broken]]), np.array([[1.0, 2.0]])).tolist() == [np.inf]
    assert gaps(np.array([[1.0, -np.inf]]), np.array([[0.0, -np.inf]])).tolist() == [0.0]


@given(npst.arrays(np.float64, st.integers(1, 200), elements=st.floats(0, 1e300)))
def test_quantiles_are_gaps_that_were_seen(found: np.ndarray) -> None:
    """A quantile is the smallest gap with at least that share of all gaps at or below it; the root mean square is in range."""
    said = spread(found)
    for share, value in ((0.5, said.p50), (0.9, said.p90), (0.99, said.p99)):
        least = min(
            gap for gap in found.tolist() if Fraction(int((found <= gap).sum()), len(found)) >= Fraction(str(share))
        )
        assert value == least
    assert said.largest == found.max()
    assert said.largest / np.sqrt(len(found)) * (1 - 1e-12) <= said.rms <= said.largest * (1 + 1e-12)


@pytest.mark.parametrize("found", [np.array([]), np.array([1.0, np.inf])])
def test_a_spread_of_nothing_or_of_infinity_is_refused(found: np.ndarray) -> None:
    """Gaps that are not finite belong to a count, not to a quantile."""
    with pytest.raises(UsageError, match="expected finite ones, at least 1"):
        spread(found)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@given(data=st.data())
def test_an_ulp_is_the_distance_to_the_next_number(dtype: str, data: st.DataObject) -> None:
    """From any number of a dtype to the next one above is one step, the smallest ones and 0 included."""
    kind = DTYPES[dtype]
    largest = float(np.finfo(kind).max) / 4
    value = kind(data.draw(st.floats(0, largest, width=32 if kind != np.float64 else 64)))
    step = np.float64(np.nextafter(value, kind(np.inf))) - np.float64(value)
    at = np.array([[np.float64(value)]])
    assert ulps(at + step, at, dtype).tolist() == [[1.0]]
    assert ulps(-at - step, -at, dtype).tolist() == [[1.0]]


def test_a_bfloat16_has_eight_digits() -> None:
    """At 1 its step is 2^-7, at 23.5 it is 0.125; an unknown dtype is refused by name."""
    true = np.array([[1.0, 23.5]])
    assert ulps(true + np.array([[2.0**-7, 0.125]]), true, "bfloat16").tolist() == [[1.0, 1.0]]
    with pytest.raises(UsageError, match="dtype 'int8' has no known step"):
        ulps(true, true, "int8")


@given(pair=pairs(WHOLE))
def test_balance_counts_both_sides(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """Entries above minus entries below, over all; swapping the two arrays changes the sign."""
    seen, true = pair
    above_, below = int((seen > true).sum()), int((seen < true).sum())
    assert balance(seen, true) == pytest.approx((above_ - below) / seen.size, abs=1e-15)
    assert balance(true, seen) == pytest.approx(-balance(seen, true), abs=1e-15)


@given(pair=pairs(WHOLE), power=st.integers(-20, 20))
def test_cosine_sees_directions_only(pair: tuple[np.ndarray, np.ndarray], power: int) -> None:
    """A row and a positive multiple of it have cosine 1, its negative -1, and no cosine is outside that range."""
    seen, true = pair
    assert (np.abs(cosine(seen, true)) <= 1 + 1e-12).all()
    assert cosine(seen * 2.0**power, seen) == pytest.approx(np.ones(len(seen)), abs=1e-12)
    zero = (seen == 0).all(axis=1)
    assert cosine(-seen, seen)[~zero] == pytest.approx(-np.ones(int((~zero).sum())), abs=1e-12)


@given(pair=pairs(LOGITS))
def test_divergence_is_that_of_the_two_laws(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """KL of the law seen from the true law as scipy computes it from probabilities, and 0 for equal rows."""
    seen, true = pair
    p, q = (np.exp(one - one.max(axis=1, keepdims=True)) for one in (true, seen))
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    assert divergences(seen, true) == pytest.approx(entropy(p, q, axis=1), rel=1e-9, abs=1e-12)
    assert divergences(true, true).tolist() == [0.0] * len(true)


@given(pair=pairs(st.integers(-3, 3).map(float)))
def test_a_flip_is_no_farther_than_twice_the_gap(pair: tuple[np.ndarray, np.ndarray]) -> None:
    """A flip is a choice that no true maximum shares, and its margin is at most twice the row's gap."""
    seen, true = pair
    changed, room, off = flips(seen, true), margins(true), gaps(seen, true)
    for mine, theirs, flip, margin in zip(seen.tolist(), true.tolist(), changed.tolist(), room.tolist(), strict=True):
        chosen = {token for token, value in enumerate(mine) if value == max(mine)}
        best = {token for token, value in enumerate(theirs) if value == max(theirs)}
        assert flip == (not chosen & best)
        assert margin == max(theirs) - sorted(theirs)[-2]
    assert (room[changed] <= 2 * off[changed]).all()
    assert tied(true).tolist() == [row.count(max(row)) > 1 for row in true.tolist()]


@given(room=npst.arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 9)), data=st.data())
def test_bins_of_margins_hold_every_row_once(room: np.ndarray, data: st.DataObject) -> None:
    """Rows and flips of all bins add up, bins follow each other, and none is empty."""
    changed = data.draw(npst.arrays(bool, len(room)))
    bins = by_margin(changed, room)
    assert sum(rows_ for _, _, rows_, _ in bins) == len(room)
    assert sum(flipped for *_, flipped in bins) == changed.sum()
    assert all(rows_ and low <= high for low, high, rows_, _ in bins)
    assert all(one[1] <= other[0] for one, other in zip(bins, bins[1:], strict=False))


@given(pair=pairs(st.integers(-(2**8), 2**8).map(lambda value: value * 2.0**-12)), dtype=st.sampled_from(sorted(SMALL)))
def test_operator_words_follow_their_formulas(pair: tuple[np.ndarray, np.ndarray], dtype: str) -> None:
    """MARE, MERE and RMSE over the values that are not small, small ones counted, as exact fractions give them."""
    seen, golden = pair
    below, off = SMALL[dtype]
    relative, squares, small, wrong = [], [], 0, 0
    for x, g in zip(seen.ravel().tolist(), golden.ravel().tolist(), strict=True):
        error = abs(Fraction(x) - Fraction(g))
        if abs(g) < below:
            small, wrong = small + 1, wrong + (error > off)
        else:
            relative.append(error / (abs(Fraction(g)) + Fraction(1e-7)))
            squares.append(error**2)
    found = words(seen, golden, dtype)
    assert (found.small, found.small_wrong, found.values) == (small, wrong, seen.size)
    assert found.mare == pytest.approx(float(max(relative, default=0)), rel=1e-9)
    assert found.mere == pytest.approx(float(sum(relative) / max(len(relative), 1)), rel=1e-9)
    assert found.rmse**2 == pytest.approx(float(sum(squares) / max(len(squares), 1)), rel=1e-9)


@given(pair=pairs(WHOLE), cut=st.integers(1, 5))
def test_joined_words_are_those_of_the_whole(pair: tuple[np.ndarray, np.ndarray], cut: int) -> None:
    """The figures of parts, joined, are the figures of all values at once."""
    seen, golden = pair
    parts = [part for part in zip(np.array_split(seen, cut), np.array_split(golden, cut), strict=True) if part[0].size]
    whole, found = words(seen, golden, "float32"), joined([words(*part, "float32") for part in parts])
    assert (found.small, found.small_wrong, found.values) == (whole.small, whole.small_wrong, whole.values)
    for name in ("mare", "mere", "rmse"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-9)


def test_a_ratio_without_a_value_is_above_every_limit() -> None:
    """Nothing over nothing is 1 and something over nothing has no ratio, which no level accepts."""
    clean = words(np.ones((1, 2)), np.ones((1, 2)), "float32")
    worse = words(np.array([[1.5, 1.0]]), np.ones((1, 2)), "float32")
    assert ratios(clean, clean) == Ratios(mare=1.0, mere=1.0, rmse=1.0, small_wrong=1.0)
    assert ratios(worse, clean) == Ratios(mare=None, mere=None, rmse=None, small_wrong=1.0)
    assert above(ratios(worse, clean), LIMITS["L0"]) == ("mare", "mere", "rmse")
    assert above(ratios(clean, worse), LIMITS["L2"]) == ()


@given(pair=pairs(WHOLE), data=st.data())
def test_rows_that_are_not_finite_are_counted_and_left_out(
    pair: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    """What is said of the finite rows is what is said of them alone, and the others are counted, in parts or at once."""
    seen, true = pair
    lost = data.draw(npst.arrays(bool, len(seen)))
    broken = np.where(lost[:, None], np.nan, seen)
    found, alone = compare(broken, true, "float32"), compare(seen[~lost], true[~lost], "float32")
    both = join([compare(broken[:1], true[:1], "float32"), compare(broken[1:], true[1:], "float32")])
    assert found.lost == both.lost == lost.sum()
    assert np.array_equal(found.gap, alone.gap)
    assert np.array_equal(both.gap, found.gap)


JUDGES: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "gaps": gaps,
    "balance": balance,
    "cosine": cosine,
    "ulps": lambda seen, true: ulps(seen, true, "float32"),
    "words": lambda seen, true: words(seen, true, "float32"),
    "compare": lambda seen, true: compare(seen, true, "float32"),
}


@pytest.mark.parametrize("name", JUDGES)
def test_rows_of_other_shapes_are_refused(name: str) -> None:
    """Nothing is broadcast: the message has both shapes."""
    with pytest.raises(UsageError, match=r"shape \(1, 3\) against .* rows of shape \(2, 3\)"):
        JUDGES[name](np.zeros((1, 3)), np.zeros((2, 3)))
