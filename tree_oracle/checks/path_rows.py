"""Rows after the processors of a case: the truth's, and when a shown one is the same.

The raw row comes from a sequential run, the processed one from transformers' own processors on the whole text. On the
exact model they are equal bit for bit wherever the processing rounds nothing; that is measured, by processing the same
row in float32 and in float64, and twice the difference is allowed. Elsewhere the room of the raw row is added, times the
steepest slope of the processing: a repetition penalty r makes a difference larger by up to max(r, 1/r), everything else
leaves it as it is.

A logit so far below the largest that its probability is 0 in float64 is as good as -inf: how a ban is written is no fault.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tree_oracle.checks.rows import within
from tree_oracle.checks.view import View
from tree_oracle.record import Case, Limits, Processors, row_gap

Row = Float[np.ndarray, " vocab"]
Rows = Float[np.ndarray, "k vocab"]
Histories = Sequence[Sequence[int]]

PLAIN = Processors()
_UNLIMITED = Limits(max_new_tokens=0)


def applies(case: Case) -> bool:
    """Whether a token of this case is chosen by anything but the target's own row."""
    minimum = case.limits is not None and case.limits.min_new > 0 and bool(case.limits.eos_ids)
    return minimum or case.processors not in (None, PLAIN)


def processed(case: Case, rows: Rows, histories: Histories, processors: Processors | None = None) -> Rows:
    """The rows after the case's processors, or after others, in the dtype of ``rows``."""
    from tree_oracle.target import processed_rows  # resolved here, since it loads torch

    own = processors or case.processors or PLAIN
    return processed_rows(rows, histories, len(case.prefix), case.limits or _UNLIMITED, own)


def choosing_rows(view: View, histories: Histories, processors: Processors | None = None) -> Rows:
    """The rows by which the tokens after these histories are chosen. Where the truth is not exact they are made
    flatter, so that two logits are as far apart as they would have to be in the raw row."""
    rows = view.truth.rows(histories)
    if processors is None and not applies(view.case):
        return rows
    found = processed(view.case, rows, histories, processors)
    return found if view.truth.exact else found / steepness(processors or view.case.processors or PLAIN)


def steepness(processors: Processors) -> float:
    """How many times larger a difference of two rows may be after processing."""
    return max(processors.repetition, 1 / processors.repetition)


def same_processed(
    view: View, seen: Row, raw: Row, true_history: Sequence[int], history: Sequence[int] | None = None
) -> bool:
    """Whether ``seen`` is the raw row after ``true_history``, processed with ``history`` (default: the same).

    Raises:
        NothingToJudge: as for ``within``.
    """
    by = [true_history if history is None else history]
    (true,) = processed(view.case, raw[None], by)
    gap = row_gap(settled(seen), settled(true))
    if gap == 0.0:
        return True
    (single,) = processed(view.case, raw[None].astype(np.float32), by)
    gap -= 2 * row_gap(settled(single.astype(np.float64)), settled(true))
    return gap <= 0.0 or within(gap / steepness(view.case.processors or PLAIN), view.truth, true_history)


def settled(row: Row) -> Row:
    """The row with -inf wherever the probability is 0 in float64."""
    if not np.isfinite(row.max()):
        return row
    with np.errstate(under="ignore"):
        gone = np.exp(row - row.max()) == 0.0
    return np.where(gone, -np.inf, row)
