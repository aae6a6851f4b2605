"""Errors in the words of those who own the operators: MARE, MERE, RMSE and the count of small values that are off.

Each output is held against a golden one computed on the CPU one precision up (the standards of Ascend's operators, the
"dual benchmark"):

    MARE   = max  |x - g| / (|g| + 1e-7)        over the values that are not small
    MERE   = mean |x - g| / (|g| + 1e-7)        over the same
    RMSE   = sqrt(mean (x - g)^2)               over the same
    small  = #{ |g| < s and |x - g| > e }       relative errors mean nothing near 0, so values there are counted

with s and e by dtype. Two implementations are compared by the ratios of these figures; ``LIMITS`` are the standard's three
levels. They are other people's numbers and are used only after a correct plain pass was tried against them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tree_oracle.numerics.distance import Rows
from tree_oracle.record import UsageError

# (s, e): below s a value is small, and off by more than e it is wrong. The standard has no row for float64; it has float32's.
SMALL = {
    "float64": (2.0**-14, 2.0**-30),
    "float32": (2.0**-14, 2.0**-30),
    "bfloat16": (2.0**-8, 2.0**-16),
    "float16": (2.0**-11, 2.0**-16),
}
_AWAY_FROM_ZERO = 1e-7


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One output against the golden one."""

    mare: float
    mere: float
    rmse: float
    small_wrong: int  # small values that are off
    small: int  # values that are small
    values: int


class Ratios(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One output's figures over another's. ``None`` where the other has 0 and this one has not: no ratio exists."""

    mare: float | None
    mere: float | None
    rmse: float | None
    small_wrong: float | None


# Upper limits of the ratios, by level: ordinary, important and critical operators.
LIMITS = {
    "L0": Ratios(mare=10.0, mere=2.0, rmse=2.0, small_wrong=2.0),
    "L1": Ratios(mare=5.0, mere=1.5, rmse=1.5, small_wrong=2.0),
    "L2": Ratios(mare=2.0, mere=1.2, rmse=1.2, small_wrong=2.0),
}


def words(seen: Rows, golden: Rows, dtype: str) -> Words:
    """The four figures of finite rows.

    Raises:
        UsageError: different shapes, values that are not finite, or a dtype without limits.
    """
    if seen.shape != golden.shape:
        raise UsageError(
            f"rows of shape {seen.shape} against golden rows of shape {golden.shape}; expected the same shape"
        )
    if dtype not in SMALL:
        raise UsageError(f"dtype {dtype!r} has no limit for small values; expected one of {', '.join(SMALL)}")
    if not (np.isfinite(seen).all() and np.isfinite(golden).all()):
        raise UsageError("values that are not finite have no relative error; count them first")
    below, off = SMALL[dtype]
    error, small = np.abs(seen - golden), np.abs(golden) < below
    relative = (error / (np.abs(golden) + _AWAY_FROM_ZERO))[~small]
    return Words(
        mare=float(relative.max(initial=0.0)),
        mere=float(relative.mean()) if relative.size else 0.0,
        rmse=float(np.sqrt(np.mean(error[~small] ** 2))) if relative.size else 0.0,
        small_wrong=int((small & (error > off)).sum()),
        small=int(small.sum()),
        values=int(seen.size),
    )


def joined(parts: Sequence[Words]) -> Words:
    """The figures of several outputs as of one.

    Raises:
        UsageError: there are none.
    """
    if not parts:
        raise UsageError("figures of no output; expected at least one")
    counts = [part.values - part.small for part in parts]
    total = max(sum(counts), 1)
    return Words(
        mare=max(part.mare for part in parts),
        mere=sum(part.mere * count for part, count in zip(parts, counts, strict=True)) / total,
        rmse=float(np.sqrt(sum(part.rmse**2 * count for part, count in zip(parts, counts, strict=True)) / total)),
        small_wrong=sum(part.small_wrong for part in parts),
        small=sum(part.small for part in parts),
        values=sum(part.values for part in parts),
    )


def ratios(one: Words, other: Words) -> Ratios:
    """``one`` over ``other``; 1 where both are 0."""
    return Ratios(
        mare=_ratio(one.mare, other.mare),
        mere=_ratio(one.mere, other.mere),
        rmse=_ratio(one.rmse, other.rmse),
        small_wrong=_ratio(one.small_wrong, other.small_wrong),
    )


def above(found: Ratios, limits: Ratios) -> tuple[str, ...]:
    """The names of the figures whose ratio is above its limit, or has no value."""
    names = ("mare", "mere", "rmse", "small_wrong")
    pairs = ((name, getattr(found, name), getattr(limits, name)) for name in names)
    return tuple(name for name, ratio, limit in pairs if ratio is None or ratio > limit)


def _ratio(one: float, other: float) -> float | None:
    if other == 0:
        return 1.0 if one == 0 else None
    return one / other
