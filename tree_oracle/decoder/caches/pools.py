"""Pools: the arrays that a serving engine keeps the caches of all its requests in.

Keys and values have one entry per pool row, rows x heads x width. A side buffer, such as the index keys of sparse attention,
is indexed by page: pages x page size x width. A recurrent layer has one entry per request (``STATE``, ``WINDOW``) and,
during a round, one per node (``SNAPSHOTS``, ``INPUTS``). In a packed pool two pool rows share each byte: the even row has
the low four bits, the odd row the high ones, so that writing one row means reading its neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Shaped

from tree_oracle.record import UsageError


class Part(StrEnum):
    """What a pool holds."""

    KEYS = "keys"
    VALUES = "values"
    SIDE = "side buffer"  # per token, indexed by page
    STATE = "state"  # one per request
    SNAPSHOTS = "snapshots"  # the state after each node of the round
    WINDOW = "window"  # the last inputs of the convolution, oldest first, one window per request
    INPUTS = "inputs"  # the convolution's input at each node of the round


PER_TOKEN = (Part.KEYS, Part.VALUES, Part.SIDE)

Rows = Shaped[np.ndarray, "entries elements"]


@dataclass(frozen=True, slots=True)
class Pool:
    """One array of one layer. ``data`` is changed in place."""

    layer: int
    part: Part
    data: np.ndarray
    packed: bool = False  # four bits an element, two rows a byte

    @property
    def paged(self) -> bool:
        """Its first two axes are pages and places in a page, instead of one axis of rows."""
        return self.part is Part.SIDE

    def read(self, entries: Sequence[int] | None = None) -> Rows:
        """A copy of these entries, or of all, one flat row each."""
        if self.packed:
            low, high = self.data & 15, self.data >> 4
            flat = np.stack([low, high], axis=1).reshape(2 * len(self.data), -1)
        else:
            flat = self._flat()
        return flat.copy() if entries is None else flat[list(entries)]

    def write(self, entries: Sequence[int], rows: Rows) -> None:
        """Overwrite these entries, and in a packed pool leave their neighbours as they are."""
        if not self.packed:
            self._flat()[list(entries)] = rows
            return
        for entry, row in zip(entries, rows, strict=True):
            place = self.data[entry // 2]
            own = row.reshape(place.shape).astype(self.data.dtype)
            place[...] = (place & 15) | (own << 4) if entry % 2 else (place & 240) | own

    def _flat(self) -> Rows:
        """A view: one flat row per entry."""
        if not self.data.flags.c_contiguous:
            raise UsageError(
                f"the {self.part} of layer {self.layer} are not contiguous; a copy would be changed in vain"
            )
        return self.data.reshape(math.prod(self.data.shape[: 2 if self.paged else 1]), -1)


def of_layer(pools: Sequence[Pool], layer: int, part: Part) -> Pool | None:
    """The pool of this layer and part, if there is one."""
    return next((pool for pool in pools if pool.layer == layer and pool.part is part), None)
