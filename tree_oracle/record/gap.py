"""How far rows are from the rows they should be: one number per row.

    gap = max_t |(seen[t] - max seen) - (true[t] - max true)|     logits, up to a constant shift

A constant added to all logits of a row changes no probability and is no error. Equal infinities are no difference: a model may
forbid a token by minus infinity, and a right row has it there too.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from tree_oracle.record.errors import UsageError


def gaps(seen: Float[np.ndarray, "*rows vocab"], true: Float[np.ndarray, "*rows vocab"]) -> Float[np.ndarray, "*rows"]:
    """The largest difference of each row up to a constant shift; infinite where one is NaN or infinite and the other is not.

    Raises:
        UsageError: the arrays have different shapes.
    """
    if seen.shape != true.shape:
        raise UsageError(f"rows of shape {seen.shape} against true rows of shape {true.shape}; expected the same shape")
    with np.errstate(invalid="ignore"):
        mine, theirs = (rows - rows.max(axis=-1, keepdims=True, initial=-np.inf) for rows in (seen, true))
        found = np.abs(mine - theirs)
    found[mine == theirs] = 0.0  # equal infinities subtract to NaN
    return np.asarray(np.nan_to_num(found, nan=np.inf, posinf=np.inf).max(axis=-1, initial=0.0))


def row_gap(seen: Float[np.ndarray, " vocab"], true: Float[np.ndarray, " vocab"]) -> float:
    """The gap of one row.

    Raises:
        UsageError: the rows have different lengths.
    """
    return float(gaps(seen, true))
