"""Noise that is drawn once and used again: the coins of a decoder that forgets to toss anew.

A kept u is known only as far as it was asked about: an interval [low, high) in which it is uniform. ``accept(p)`` is ``u < p``,
so it is certain or impossible where p lies outside the interval, and otherwise an ordinary toss with probability
(p - low) / (high - low) that narrows it. So reuse is as exact as fresh coins are, on every kind of coin behind it, and the
intervals are all that a decoder carries from round to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from tree_oracle.verify.coin import Coin, Weights, check_probability, check_weights, values_of
from tree_oracle.verify.probabilities import Number

Interval: TypeAlias = tuple[Number, Number]
FRESH: Interval = (Fraction(0), Fraction(1))


class KeptCoin:
    """A coin whose n-th call uses the n-th kept u; where none is kept yet, a fresh one that is kept from then on."""

    def __init__(
        self, fresh: Coin, kept: Sequence[Interval] = (), *, keep_draws: bool = True, keep_tests: bool = True
    ) -> None:
        """``kept`` is what an earlier coin left in ``kept``; draws and tests that are not kept use ``fresh`` each time."""
        self._fresh, self._kept, self._at = fresh, list(kept), 0
        self._keep_draws, self._keep_tests = keep_draws, keep_tests

    @property
    def kept(self) -> tuple[Interval, ...]:
        """What is known of every kept u."""
        return tuple(self._kept)

    def again(self) -> None:
        """Use the kept numbers from the first on, as the next round of a decoder does."""
        self._at = 0

    def accept(self, probability: Number) -> bool:
        """See ``Coin``."""
        check_probability(probability)
        if not self._keep_tests:
            return self._fresh.accept(probability)
        return self._below(self._place(), probability)

    def draw(self, weights: Weights) -> int:
        """See ``Coin``: the first index whose cumulative weight exceeds u times the sum."""
        total = check_weights(weights)
        if not self._keep_draws:
            return self._fresh.draw(weights)
        weights, place, reached = values_of(weights), self._place(), 0 * total
        *_, last = (index for index, weight in enumerate(weights) if weight > 0)
        for index, weight in enumerate(weights[:last]):
            reached += weight
            if weight > 0 and self._below(place, reached / total):
                return index
        return last

    def _place(self) -> int:
        if self._at == len(self._kept):
            self._kept.append(FRESH)
        self._at += 1
        return self._at - 1

    def _below(self, place: int, mark: Number) -> bool:
        low, high = self._kept[place]
        below = self._fresh.accept((mark - low) / (high - low))
        if low < mark < high:
            self._kept[place] = (low, mark) if below else (mark, high)
        return below
