"""The abstract coin: all chance that a verification rule may use, so that each rule is written once.

    accept(p)       True with probability p
    draw(weights)   index i with probability weights[i] / sum(weights); of a law, a token

Three kinds of coin stand behind it: enumeration (``coin_enumeration``: every outcome with its probability, so the law is
exact), a seeded generator, and a script. The last two turn one u, uniform on [0, 1), into one answer by the half-open
convention: ``accept`` is ``u < p``, ``draw`` is the first index whose cumulative weight exceeds ``u * sum``. So u = 0 never
accepts probability 0, no u rejects probability 1, and a weight of 0 is never drawn. Every call uses up one u, certain or not.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np

from tree_oracle.record import TreeOracleError, UsageError
from tree_oracle.verify.probabilities import Law, Number

Weights: TypeAlias = Law | Sequence[Number]


# A float sum below this, or an infinite one, has no place for the shares of its weights.
_SMALLEST = sys.float_info.min / sys.float_info.epsilon


class InvalidCoin(TreeOracleError, ValueError):
    """A probability or weight that no coin can be tossed with, or a scripted u outside [0, 1)."""


class CoinsExhausted(UsageError):
    """A script of coins ended before the rule that used it."""


class Coin(Protocol):
    """See the module."""

    def accept(self, probability: Number) -> bool:
        """True with ``probability``; certain at 1 and above, impossible at 0 and below.

        Raises:
            InvalidCoin: NaN.
        """
        ...

    def draw(self, weights: Weights) -> int:
        """An index with a probability in proportion to its weight.

        Raises:
            InvalidCoin: a weight is negative, NaN or infinite, or none is positive.
        """
        ...


class UniformCoin(ABC):
    """A coin that answers from one uniform number per call."""

    @abstractmethod
    def uniform(self) -> Number:
        """The next u of [0, 1)."""

    def accept(self, probability: Number) -> bool:
        """See ``Coin``."""
        check_probability(probability)
        return self.uniform() < probability

    def draw(self, weights: Weights) -> int:
        """See ``Coin``."""
        total = check_weights(weights)
        weights, u = values_of(weights), self.uniform()
        if isinstance(total, Fraction):
            u = Fraction(u)  # exact, where a product with a float need not be or may overflow
        mark, reached, last = u * total, Fraction(0) * total, 0
        for index, weight in enumerate(weights):
            if weight > 0:
                reached, last = reached + weight, index
                if mark < reached:
                    return index
        return last  # floats alone: u * total was rounded up to the sum


class SeededCoin(UniformCoin):
    """A coin in floats; equal seeds give equal tosses."""

    def __init__(self, seed: int | Sequence[int] | np.random.Generator) -> None:
        self._generator = np.random.default_rng(seed)

    def uniform(self) -> Number:
        """The generator's next double of [0, 1)."""
        return float(self._generator.random())


class ScriptedCoin(UniformCoin):
    """A coin whose every u is written down, in the order of use.

    Raises:
        InvalidCoin: a u outside [0, 1).
    """

    def __init__(self, script: Sequence[Number]) -> None:
        for place, u in enumerate(script):
            if not 0 <= u < 1:
                raise InvalidCoin(f"u number {place} is {u}; expected a number of the half-open interval [0, 1)")
        self._script, self.used = tuple(script), 0

    def uniform(self) -> Number:
        """The next u of the script.

        Raises:
            CoinsExhausted: all have been used.
        """
        if self.used == len(self._script):
            raise CoinsExhausted(f"all {self.used} scripted coins are used and one more is asked for")
        self.used += 1
        return self._script[self.used - 1]


def check_probability(probability: Number) -> None:
    """Refuse what compares false with everything.

    Raises:
        InvalidCoin: NaN.
    """
    if probability != probability:
        raise InvalidCoin("accept was asked with probability NaN; expected a number")


def values_of(weights: Weights) -> Sequence[Number]:
    """The weights as numbers."""
    return weights.values if isinstance(weights, Law) else weights


def check_weights(weights: Weights) -> Number:
    """The sum of weights that can be drawn from.

    Raises:
        InvalidCoin: a weight is negative, NaN or infinite, none is positive, or floats sum to what has no shares.
    """
    if isinstance(weights, Law):
        return weights.derived("sum", lambda: sum(weights.values, Fraction(0)))
    for index, weight in enumerate(weights):
        if not 0 <= weight < float("inf"):
            raise InvalidCoin(f"weight {index} is {weight}; expected a finite number that is not negative")
    total = sum(weights)
    if not total > 0:
        raise InvalidCoin(f"none of {len(weights)} weights is positive: there is nothing to draw")
    if isinstance(total, float) and not _SMALLEST <= total < math.inf:
        raise InvalidCoin(f"{len(weights)} weights sum to {total}; expected a sum that floats can be a share of")
    return Fraction(total) if isinstance(total, int) else total  # so that the share of an integer weight is exact
