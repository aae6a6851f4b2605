"""The coin that takes every side: all outcomes of a program with their probabilities.

The program is run once per outcome. Each run repeats the answers of the run before up to the last toss that has another side
left, and takes that one: a depth-first walk over the tree of tosses. Probabilities are multiplied along the way in whatever
numbers the program uses, so they are exact where the program is. Sides of probability 0 are never taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.verify.coin import Coin, Weights, check_probability, check_weights, values_of
from tree_oracle.verify.probabilities import Law, Number

T = TypeVar("T")
_ONE = Fraction(1)


@dataclass(slots=True)
class _Toss:
    sides: list[tuple[int, Number]]  # answer, and probability of the run up to and including it
    side: int = 0


class _EveryCoin:
    def __init__(self, weight: Number) -> None:
        self._weight = weight
        self._tosses: list[_Toss] = []
        self._at = 0

    @property
    def probability(self) -> Number:
        if not self._at:
            return self._weight
        last = self._tosses[self._at - 1]
        return last.sides[last.side][1]

    def accept(self, probability: Number) -> bool:
        return bool(self._next(lambda: _two_sides(probability)))

    def draw(self, weights: Weights) -> int:
        return self._next(lambda: _shares(weights))

    def rewind(self) -> bool:
        """Go to the next outcome; False if there is none."""
        if self._at != len(self._tosses):
            raise UsageError(
                "the program tosses other coins when it is run again; expected one that depends on them alone"
            )
        while self._tosses and self._tosses[-1].side + 1 == len(self._tosses[-1].sides):
            self._tosses.pop()
        if not self._tosses:
            return False
        self._tosses[-1].side += 1
        self._at = 0
        return True

    def _next(self, shares: Callable[[], list[tuple[int, Number]]]) -> int:
        if self._at == len(self._tosses):
            before, sides = self.probability, shares()
            if len(sides) > 1:
                sides = [(answer, before * share) for answer, share in sides]
            else:
                sides = [(sides[0][0], before)]
            self._tosses.append(_Toss(sides))
        toss = self._tosses[self._at]
        self._at += 1
        return toss.sides[toss.side][0]


def outcomes(program: Callable[[Coin], T], weight: Number = _ONE) -> Iterator[tuple[T, Number]]:
    """Every outcome of ``program`` with its probability times ``weight``; equal outcomes by other tosses come again.

    Raises:
        UsageError: the program is not a function of its coins.
    """
    coin, more = _EveryCoin(weight), True
    while more:
        outcome = program(coin)
        yield outcome, coin.probability
        more = coin.rewind()


def bounded(found: Iterator[T], most: int, what: str) -> Iterator[T]:
    """The same outcomes, as long as there are not too many.

    Raises:
        Unsupported: there are more than ``most``.
    """
    for number, one in enumerate(found, 1):
        if number > most:
            raise Unsupported(f"{what} has more than {most} outcomes; take fewer tokens, levels or children")
        yield one


def _two_sides(probability: Number) -> list[tuple[int, Number]]:
    check_probability(probability)
    if 0 < probability < 1:
        return [(1, probability), (0, 1 - probability)]
    return [(int(probability > 0), _ONE)]


def _shares(weights: Weights) -> list[tuple[int, Number]]:
    if isinstance(weights, Law):
        return weights.derived("shares", lambda: _positive(weights))
    return _positive(weights)


def _positive(weights: Weights) -> list[tuple[int, Number]]:
    whole = check_weights(weights)
    found = [(index, weight) for index, weight in enumerate(values_of(weights)) if weight > 0]
    return found if whole == 1 else [(index, weight / whole) for index, weight in found]
