"""Whether a row is the right one in fewer digits: rows that are handed over in half precision on a target that is not."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_BFLOAT16_DROPS = 16  # low bits of a float32


def rounded_to(seen: Float[np.ndarray, " vocab"], truth: Float[np.ndarray, " vocab"]) -> str | None:
    """The number format that ``truth`` becomes ``seen`` in, entry by entry; None if there is none."""
    exact = truth.astype(np.float32)
    with np.errstate(over="ignore"):
        forms = {"float16": exact.astype(np.float16).astype(np.float32), "bfloat16": _bfloat16(exact)}
    return next((name for name, form in forms.items() if np.array_equal(form, seen.astype(np.float32))), None)


def _bfloat16(values: Float[np.ndarray, " vocab"]) -> Float[np.ndarray, " vocab"]:
    """Rounded to the nearest, of two equally near ones to the even."""
    bits = values.view(np.uint32)
    half = (1 << (_BFLOAT16_DROPS - 1)) - 1
    up = bits + (half + ((bits >> _BFLOAT16_DROPS) & 1)).astype(np.uint32)
    return (up >> _BFLOAT16_DROPS << _BFLOAT16_DROPS).astype(np.uint32).view(np.float32)
