"""One row of a batch as if its request had been run alone.

Rows of a batch are made equally long by padding: tokens in front of or behind a request's own, and columns of the cache that
hold none of its rows. Padding is told by what is seen, never by the token:

    a token at the end is padding        if it sees no other token of the call and none of them sees it
    a token in front is padding          if none of the later ones sees it
    a cached column is a row of its own  if one of its tokens sees it

Where all layers have windows, cached rows that are out of sight are told from padding by the first token's position: it is
their number. Padding that sees a request's tokens is taken for leaves of its tree, and judged with it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.decoder.tap_calls import TargetCall
from tree_oracle.decoder.tap_mask import Sight
from tree_oracle.decoder.tap_sights import telling
from tree_oracle.masked.kinds import FULL


def as_alone(call: TargetCall) -> TargetCall:
    """The call without what is padding in it; a call of a single row, and one that cannot be read, as it is."""
    sights = [sight for sight in call.sights if sight is not None]
    if call.lanes == 1 or not sights or len(sights) < len(call.sights):
        return call
    told, count = telling(sights), len(call.tokens)
    own = _own_tokens(told.mask[:, call.past :])
    cached = _own_columns(told, told.mask[own, : call.past], call.positions[own.start])
    columns = np.concatenate([cached, call.past + np.arange(count)[own]])
    rows = call.rows
    if rows is not None and len(rows) < count:
        # Those of the last inputs, which are other ones in every row of the batch.
        rows = rows[: len(rows) - (count - own.stop)] if call.keeps_last else None
    elif rows is not None:
        rows = rows[own]
    return replace(
        call,
        tokens=call.tokens[own],
        past=len(cached),
        positions=call.positions[own],
        sights=[replace(sight, mask=sight.mask[own][:, columns]) for sight in sights],
        rows=rows,
    )


def _own_tokens(seen: Bool[np.ndarray, "n n"]) -> slice:
    others = seen & ~np.eye(len(seen), dtype=bool)
    end = len(seen)
    while end > 1 and not others[end - 1, :end].any() and not others[:end, end - 1].any():
        end -= 1
    first = 0
    while first < end - 1 and not others[first + 1 : end, first].any():
        first += 1
    return slice(first, end)


def _own_columns(told: Sight, cached: Bool[np.ndarray, "n past"], position: int) -> Int[np.ndarray, " own"]:
    seen = np.flatnonzero(cached.any(axis=0))
    if told.kind == FULL or not len(seen):
        return seen
    end = int(seen[-1]) + 1
    return np.arange(max(end - position, 0), end)
