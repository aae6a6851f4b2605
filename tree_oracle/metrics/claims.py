"""Which convention reproduces a figure that a decoder claims.

Two decoders that accept the same nodes may report lengths a whole token apart, so a claim is only comparable once its
convention is known. A claim is a decimal: a convention reproduces it if its exact value rounds to the claim at the claim's
own number of places (half up or half to even, since both are in use).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from fractions import Fraction

from tree_oracle.metrics.counts import MetricError
from tree_oracle.metrics.lengths import LENGTHS, acceptance_length
from tree_oracle.record import Round

_DIGITS = 60  # of the decimal that a fraction is rounded from; counts of rounds have far fewer


def reproduced_by(claim: str, requests: Sequence[Sequence[Round]]) -> tuple[str, ...]:
    """The names of all conventions of the acceptance length that give ``claim``, such as ``"3.42"``; none if none does.

    Raises:
        MetricError: the claim is no finite decimal number, or the rounds do not show what is counted.
    """
    try:
        stated = Decimal(claim)
    except InvalidOperation as error:
        raise MetricError(f"claim {claim!r}; expected a decimal number such as 3.42") from error
    if not stated.is_finite() or len(stated.as_tuple().digits) > _DIGITS // 2:
        raise MetricError(f"claim {claim!r}; expected a finite number of at most {_DIGITS // 2} digits")
    return tuple(name for name in LENGTHS if _rounds_to(_value(name, requests), stated))


def _value(name: str, requests: Sequence[Sequence[Round]]) -> Fraction | None:
    """The figure, or None where a convention has nothing to divide by but the rounds can be counted."""
    acceptance_length(requests)  # what cannot be counted at all is the caller's error, under any convention
    try:
        return acceptance_length(requests, name)
    except MetricError:
        return None


def _rounds_to(value: Fraction | None, stated: Decimal) -> bool:
    if value is None:
        return False
    with localcontext(prec=_DIGITS):
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        return any(exact.quantize(stated, mode) == stated for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN))
