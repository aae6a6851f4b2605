"""Which convention reproduces a figure that a decoder claims.

Two decoders that accept the same nodes may report lengths a whole token apart, so a claim is only comparable once its
convention is known. A claim is a decimal: a convention reproduces it if its exact value rounds to the claim at the claim's
own number of places (half up or half to even, since both are in use).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from tree_oracle.metrics.counts import MetricError
from tree_oracle.metrics.lengths import LENGTHS, acceptance_length
from tree_oracle.record import Round

_DIGITS = 30  # of a claim, and of its places before or behind the point; no figure of any run has more


def reproduced_by(claim: str, requests: Sequence[Sequence[Round]]) -> tuple[str, ...]:
    """The names of all conventions of the acceptance length that give ``claim``, such as ``"3.42"``; none if none does.

    Raises:
        MetricError: the claim is no finite decimal number in text, or the rounds do not show what is counted.
    """
    stated, places = _stated(claim)
    return tuple(name for name in LENGTHS if _rounds_to(_value(name, requests), stated, places))


def _stated(claim: str) -> tuple[Fraction, int]:
    """The number and how many places behind the point it has, below 0 where its last digits are unknown."""
    try:
        number = Decimal(claim if isinstance(claim, str) else "")
    except InvalidOperation as error:
        raise MetricError(f"claim {claim!r}; expected a decimal number such as 3.42, as text") from error
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or len(digits) > _DIGITS or abs(exponent) > _DIGITS:
        raise MetricError(f"claim {claim!r}; expected a finite number of at most {_DIGITS} digits")
    return Fraction(number), -exponent


def _value(name: str, requests: Sequence[Sequence[Round]]) -> Fraction | None:
    """The figure, or None where a convention has nothing to divide by but the rounds can be counted."""
    acceptance_length(requests)  # what cannot be counted at all is the caller's error, under any convention
    try:
        return acceptance_length(requests, name)
    except MetricError:
        return None


def _rounds_to(value: Fraction | None, stated: Fraction, places: int) -> bool:
    """No figure is negative, so half up is away from 0."""
    if value is None:
        return False
    unit = Fraction(10) ** -places
    return stated / unit in (math.floor(value / unit + Fraction(1, 2)), round(value / unit))
