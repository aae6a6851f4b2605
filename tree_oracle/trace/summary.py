"""Rows of which a trace keeps a summary, made whole again so that the same judges read them.

Rule: an entry that is not shown is taken to be right as far as order and log-sum-exp allow it: no larger than the smallest one
shown, and off by what log-sum-exp is off by. This raises no alarm that whole rows would not raise: where every entry, less the
row's maximum, is off by at most d, so is log-sum-exp, less the maximum. It misses what is wrong only in entries that are not
shown and weigh next to nothing; on the exact model the hash misses nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from jaxtyping import Float

from tree_oracle.record import Array, FileError
from tree_oracle.trace.errors import MalformedLine, OversizedTrace
from tree_oracle.trace.lines import RoundLine, Summary

# A summary of a few bytes can speak of any number of entries. 1,024 rows over a vocabulary of 256,000 in float32 take as much.
MAX_ROWS = 2**30


def refuse_misfit(line: RoundLine, path: Path, at: int) -> None:
    """A summary is read only if its parts fit together and to the tree.

    Raises:
        MalformedLine: they do not.
        OversizedTrace: the whole rows would be too large.
    """
    summary, tokens = line.summary, line.round.tokens
    assert summary is not None
    try:
        _refuse(summary, None if tokens is None else len(tokens))
    except (FileError, ValueError) as error:
        raise MalformedLine(path, at, f"summary: {error}") from error
    size = len(summary.sha256) * summary.vocab * summary.values.numpy().itemsize
    if size > MAX_ROWS:
        raise OversizedTrace(path, at, f"summary of rows that take {size} bytes; at most {MAX_ROWS} are made whole")


def _refuse(summary: Summary, nodes: int | None) -> None:
    found, values = summary.tokens.numpy(), summary.values.numpy()
    if found.ndim != 2 or found.dtype != np.int32 or not 1 <= found.shape[1] <= summary.vocab:
        raise ValueError(f"tokens are {summary.tokens}; expected int32, nodes x top, top at most {summary.vocab}")
    count = len(found)
    if nodes is not None and count != nodes:
        raise ValueError(f"{count} rows for a tree of {nodes} nodes")
    if values.shape != found.shape or values.dtype.kind != "f":
        raise ValueError(f"values are {summary.values}; expected floats of shape {found.shape}")
    for name, part, dtype in (
        ("maximum", summary.maximum, values.dtype),
        ("log_sum_exp", summary.log_sum_exp, np.dtype("f8")),
    ):
        if part.numpy().shape != (count,) or part.numpy().dtype != dtype:
            raise ValueError(f"{name} is {part}; expected {dtype} of shape ({count},)")
    if len(summary.sha256) != count:
        raise ValueError(f"{len(summary.sha256)} hashes for {count} rows")
    if found.size and not (found.min() >= 0 and found.max() < summary.vocab):
        raise ValueError(f"a token outside the vocabulary of {summary.vocab}")
    if any(len(set(row.tolist())) < len(row) for row in found):
        raise ValueError("a token stands twice in one row")


def completed(summary: Summary, true: Float[np.ndarray, "n vocab"] | None, *, exact: bool = False) -> Array:
    """Whole rows.

    Args:
        summary: what is shown of them.
        true: the right rows; None leaves minus infinity wherever nothing is shown.
        exact: right rows are the same bits everywhere, so a row with another hash is a wrong one, and nothing is filled in.
    """
    tokens, values = np.asarray(summary.tokens.numpy()).astype(np.int64), np.asarray(summary.values.numpy())
    rows = np.full((len(tokens), summary.vocab), -np.inf, values.dtype)
    if true is not None:
        for row in range(len(rows)):
            rows[row] = _filled(summary, row, true[row], exact=exact)
    np.put_along_axis(rows, tokens, values, 1)
    return Array.of(rows)


def _filled(
    summary: Summary, row: int, true: Float[np.ndarray, " vocab"], *, exact: bool
) -> Float[np.ndarray, " vocab"] | float:
    """Right entries in the place of all that are not shown."""
    values = np.asarray(summary.values.numpy())[row]
    own = true.astype(values.dtype)
    if hashlib.sha256(own.astype(own.dtype.newbyteorder("<")).tobytes()).hexdigest() == summary.sha256[row]:
        return np.asarray(own)
    high = float(values[0])
    if exact or not np.isfinite(high) or not np.isfinite(true.max()):
        return -np.inf
    below = true - true.max()
    weight = float(np.asarray(summary.log_sum_exp.numpy())[row]) - high
    off = weight - float(np.log(np.exp(below).sum())) if np.isfinite(weight) else 0.0
    return np.asarray(np.minimum(below + high + off, values[-1]).astype(values.dtype))
