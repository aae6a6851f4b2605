"""Rows that are no logits although they are declared to be.

    probabilities       none is negative, and they sum to 1
    log-probabilities   none is positive, and their exponentials sum to 1

Half precision rounds each entry by at most 2^-8 of itself (bfloat16, the coarser of the two), so a sum of probabilities is off
by at most that, and what an entry of -v stands for by 2^-8 v. Logits may sum to 1 by chance: so it is a hint and no finding.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_ROUNDED = 2.0**-8


def form_of(row: Float[np.ndarray, " vocab"]) -> str:
    """``probabilities`` or ``log-probabilities`` if the row looks like these; empty for anything else."""
    wide = np.asarray(row, dtype=np.float64)
    if len(wide) < 2 or np.isnan(wide).any() or np.isposinf(wide).any():
        return ""
    if wide.min() >= 0.0 and abs(float(wide.sum()) - 1.0) <= _ROUNDED:
        return "probabilities"
    if wide.max() <= 0.0:
        laws = np.exp(wide)
        known = np.where(laws > 0.0, -wide, 0.0)
        if abs(float(laws.sum()) - 1.0) <= _ROUNDED * float((laws * known).sum() + 1.0):
            return "log-probabilities"
    return ""


def forms_of(rows: Float[np.ndarray, "n vocab"]) -> str:
    """What all of the rows look like; empty if they are not alike, or look like logits."""
    found = {form_of(row) for row in rows}
    return found.pop() if len(found) == 1 else ""


def form_words(rows: Float[np.ndarray, "n vocab"]) -> str:
    """The form as a hint; empty if there is none to give."""
    form = forms_of(rows)
    return f"the rows are {form}: answer logits, or declare row_kind" if form else ""
