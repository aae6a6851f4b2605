"""What is done to a law before a token is drawn from it: temperature, truncation, penalties, a smaller vocabulary,
an end.

The law that a text must follow is the *processed* one, in tests, residual and bonus alike. Each processing is exact on rational
laws; a temperature is, where its inverse is a whole number that is not huge.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tree_oracle.record import UsageError
from tree_oracle.verify.probabilities import InvalidLaw, Law, Number
from tree_oracle.verify.rules.drawn_tree import Context, Laws

_EXACT_POWER = 1000  # a fraction to this power has a thousand times its digits
_STEEPEST = Fraction(2**1000)  # takes every float below 1 to 0


class Processing(Hashable, Protocol):
    """A law made of another one and of the tokens so far."""

    def __call__(self, law: Law, context: Context) -> Law: ...


@dataclass(frozen=True, slots=True)
class Unprocessed:
    """The law as it is."""

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return law


@dataclass(frozen=True, slots=True)
class Temperature:
    """Probabilities to the power 1 / temperature; 0 is greedy decoding, the smallest token id among equals.

    Each is taken as a part of the largest, which stays 1 however low the temperature is. A power that is no whole number up
    to ``_EXACT_POWER`` is taken in floats.

    Raises:
        UsageError: the temperature is negative, infinite or NaN.
    """

    temperature: Fraction

    def __post_init__(self) -> None:
        _within(
            "temperature",
            self.temperature,
            0 <= self.temperature < math.inf,
            "a number that is not negative, and finite",
        )

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        if not self.temperature:
            return Law.point(law.top(1)[0], len(law))
        power, most = 1 / Fraction(self.temperature), law[law.top(1)[0]]
        if power.denominator == 1 and power <= _EXACT_POWER:
            return _weighted([(p / most) ** int(power) for p in law.values])
        return _weighted([float(p / most) ** float(min(power, _STEEPEST)) for p in law.values])


@dataclass(frozen=True, slots=True)
class TopK:
    """The k most probable tokens, the smaller id first among equals.

    Raises:
        UsageError: k is below 1.
    """

    k: int

    def __post_init__(self) -> None:
        _within("k", self.k, self.k >= 1, "1 or more")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return _only(law, law.top(self.k))


@dataclass(frozen=True, slots=True)
class TopP:
    """The fewest most probable tokens that together reach ``mass``.

    Raises:
        UsageError: the mass is outside (0, 1].
    """

    mass: Number

    def __post_init__(self) -> None:
        _within("mass", self.mass, 0 < self.mass <= 1, "a number above 0 and up to 1")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        kept, reached = list[int](), Fraction(0) * law[0]
        for token in law.top(len(law)):
            if reached >= self.mass:
                break
            kept, reached = [*kept, token], reached + law[token]
        return _only(law, tuple(kept))


@dataclass(frozen=True, slots=True)
class MinP:
    """The tokens of at least ``share`` of the largest probability.

    Raises:
        UsageError: the share is outside [0, 1].
    """

    share: Number

    def __post_init__(self) -> None:
        _within("share", self.share, 0 <= self.share <= 1, "a number from 0 to 1")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return _only(law, tuple(token for token, p in enumerate(law.values) if p >= self.share * max(law.values)))


@dataclass(frozen=True, slots=True)
class PresencePenalty:
    """Tokens of the text so far weigh ``factor`` of what they did: exp(-penalty) for a penalty on logits.

    ``counted`` bounds the tokens that are looked at: a penalty that ignores the tokens in the tree counts the committed ones.

    Raises:
        UsageError: the factor is not positive.
    """

    factor: Fraction
    counted: int | None = None

    def __post_init__(self) -> None:
        _within("factor", self.factor, self.factor > 0, "a positive number")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        seen = set(context[: self.counted])
        return _weighted([p * self.factor if token in seen else p for token, p in enumerate(law.values)])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The first ``size`` tokens alone, as a draft with a smaller vocabulary has them.

    Raises:
        UsageError: the size is below 1.
    """

    size: int

    def __post_init__(self) -> None:
        _within("size", self.size, self.size >= 1, "1 or more")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return _only(law, tuple(range(self.size)))


@dataclass(frozen=True, slots=True)
class EndsAt:
    """Behind the end token nothing but the end token, as a text is padded that has ended.

    Raises:
        UsageError: the token is negative.
    """

    token: int

    def __post_init__(self) -> None:
        _within("the end token", self.token, self.token >= 0, "0 or more")

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return Law.point(self.token, len(law)) if self.token in context else law


UNPROCESSED = Unprocessed()


class ProcessedLaws(Laws):
    """Laws after processing, and the raw ones that they were made of."""

    def __init__(self, raw: Laws, processing: Processing, name: str) -> None:
        super().__init__(lambda context: processing(raw(context), context).values, name)
        self.raw = raw


def processed(laws: Laws, processing: Processing, name: str = "processed") -> ProcessedLaws:
    """The laws after processing.

    Raises:
        InvalidLaw: when asked for a context where processing leaves nothing.
    """
    return ProcessedLaws(laws, processing, name)


def _only(law: Law, kept: tuple[int, ...]) -> Law:
    return _weighted([p if token in kept else 0 * p for token, p in enumerate(law.values)])


def _weighted(weights: list[Number]) -> Law:
    if not any(weights):
        raise InvalidLaw("the processed law", "has no token left; expected one of positive probability")
    return Law.normalised(weights, otherwise=Law.point(0, len(weights)))


def _within(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise UsageError(f"{name} is {value}; expected {expected}")
