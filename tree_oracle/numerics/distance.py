"""What a set of gaps looks like (``record.gaps``: one number per row), and other ways to say how far rows are off.

    ulp      = 2^(max(floor(log2 |x|), emin) - (p - 1))                            the step of a dtype with p digits at x
    balance  = share of entries above the true ones - share below                  +1: everything is too large

Gaps leave out a constant that is added to a whole row; the operator's own figures
(``operator_words``) do not, since an operator that shifts its output is wrong. All inputs are float64; nothing here rounds but
the subtraction itself.
"""

from __future__ import annotations

import msgspec
import numpy as np
from jaxtyping import Float

from tree_oracle.record import UsageError, counted

Rows = Float[np.ndarray, "k vocab"]
Gaps = Float[np.ndarray, " k"]

# Binary digits, hidden one included, and the smallest normal exponent (IEEE 754; bfloat16 as in its own definition).
FORMATS = {"float64": (53, -1022), "float32": (24, -126), "bfloat16": (8, -126), "float16": (11, -14)}


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of gaps. A quantile is a gap that was seen: the smallest with at least that share at or below it."""

    n: int
    largest: float
    p50: float
    p90: float
    p99: float
    rms: float


def spread(found: Gaps) -> Spread:
    """The summary of a set of gaps.

    Raises:
        UsageError: no gap, or one that is not finite: it has no place in a quantile and is counted apart.
    """
    if not len(found) or not np.isfinite(found).all():
        raise UsageError(
            f"{counted(len(found), 'gap')}, {int((~np.isfinite(found)).sum())} not finite; expected finite ones, at least 1"
        )
    p50, p90, p99 = (float(np.quantile(found, share, method="inverted_cdf")) for share in (0.5, 0.9, 0.99))
    largest = float(found.max())
    # Scaled before it is squared, so that tiny errors do not vanish.
    rms = largest * float(np.sqrt(np.mean((found / largest) ** 2))) if largest > 0 else 0.0
    return Spread(n=len(found), largest=largest, p50=p50, p90=p90, p99=p99, rms=rms)


def ulps(seen: Rows, true: Rows, dtype: str) -> Rows:
    """The difference of every entry in steps of ``dtype`` at the true value, a step at 0 being the smallest one.

    Raises:
        UsageError: different shapes, or a dtype that is not one of ``FORMATS``.
    """
    _same_shape(seen, true)
    if dtype not in FORMATS:
        raise UsageError(f"dtype {dtype!r} has no known step; expected one of {', '.join(FORMATS)}")
    digits, smallest = FORMATS[dtype]
    _, exponent = np.frexp(true)  # |x| = m * 2^e with 1/2 <= m < 1, so floor(log2 |x|) = e - 1; frexp(0) gives 0
    place = np.maximum(np.where(true == 0, smallest, exponent - 1), smallest)
    return np.asarray(
        np.ldexp(np.abs(seen - true), digits - 1 - place)
    )  # a power of two may overflow where this does not


def balance(seen: Rows, true: Rows) -> float:
    """Share of entries above minus share below, between -1 and 1; equal entries count in neither."""
    _same_shape(seen, true)
    return float(np.sign(seen - true).mean()) if seen.size else 0.0


def cosine(seen: Rows, true: Rows) -> Gaps:
    """The cosine of the angle between each row and the true one; 1 for two zero rows, 0 if only one is zero."""
    _same_shape(seen, true)
    lengths = np.linalg.norm(seen, axis=1), np.linalg.norm(true, axis=1)
    both = lengths[0] * lengths[1]
    dots = np.einsum("kv,kv->k", seen, true)
    alike = (lengths[0] == 0) & (lengths[1] == 0)
    return np.asarray(np.where(both > 0, dots / np.where(both > 0, both, 1.0), alike))


def _same_shape(seen: Rows, true: Rows) -> None:
    if seen.shape != true.shape:
        raise UsageError(f"rows of shape {seen.shape} against true rows of shape {true.shape}; expected the same shape")
