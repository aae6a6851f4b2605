"""A sliding layer whose rows lie in a ring: slots that are written again and again, found by position.

    slot of the row at position p = p mod slots            slots >= window - 1

A round's rows wait beside the ring until they are known to be kept: a draft that were written at once would take the places of
rows that are still in the window when it is rejected. Attention is shown the window in order of position, then the round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers.cache_utils import DynamicLayer

from tree_oracle.masked.columns import Columns, show_as
from tree_oracle.record import UsageError

Rows = Float[Tensor, "batch heads n width"]
Place = Callable[[Int[np.ndarray, " n"], int], Int[np.ndarray, " n"]]  # (positions, slots): the slots to write to


def modulo(positions: Int[np.ndarray, " n"], slots: int) -> Int[np.ndarray, " n"]:
    """The slots of these positions."""
    return positions % slots


class RingLayer(DynamicLayer):
    """Keys and values of a window.

    Args:
        window: how many positions a token sees, itself included.
        slots: of the ring; default: ``window - 1``, the fewest.
        place: where rows are written.

    Raises:
        UsageError: fewer slots than the window needs.
    """

    is_sliding = True
    keys: Any  # None before the first update
    values: Any

    def __init__(self, window: int, slots: int | None = None, place: Place = modulo) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.window, self.slots = window, max(window - 1, 1) if slots is None else slots
        if self.slots < window - 1:
            raise UsageError(f"a ring of {slots} slots for a window of {window}; expected at least {window - 1}")
        self.length = 0  # rows that were ever kept
        self.waiting = 0  # rows of a round that is not committed
        self._place, self._rings = place, list[Rows]()

    def update(self, key_states: Rows, value_states: Rows, *args: Any, **kwargs: Any) -> tuple[Rows, Rows]:
        """Hold new rows back, and show them behind the window."""
        if not self._rings:
            self.lazy_initialization(key_states, value_states)
            self._rings = [x.new_zeros(*x.shape[:2], self.slots, x.shape[3]) for x in (key_states, value_states)]
        self.waiting += int(key_states.shape[-2])
        self.keys, self.values = torch.cat([self.keys, key_states], -2), torch.cat([self.values, value_states], -2)
        return self.keys, self.values

    def keep(self, kept: Int[np.ndarray, " kept"]) -> None:
        """Write the rows of these nodes of the round, in this order, and forget the others."""
        new = [rows[..., rows.shape[-2] - self.waiting :, :][..., kept, :] for rows in (self.keys, self.values)]
        self.write(self.length, new)
        self.length, self.waiting = self.length + len(kept), 0
        self.keys, self.values = self._in_order()

    def write(self, first: int, new: list[Rows]) -> None:
        """Write rows from position ``first`` on; one after the other, since later ones may take the place of earlier ones."""
        for offset, slot in enumerate(self._place(first + np.arange(new[0].shape[-2]), self.slots).tolist()):
            for ring, rows in zip(self._rings, new, strict=True):
                ring[..., slot, :] = rows[..., offset, :]

    def get_seq_length(self, *args: Any) -> int:
        """Rows that went through the layer, those of an open round included."""
        return self.length + self.waiting

    def get_mask_sizes(self, query_length: Any, *args: Any) -> tuple[int, int]:
        """How many keys attention is shown with so many new ones, and the position of the first."""
        held = 0 if self.keys is None else int(self.keys.shape[-2])
        return held + int(query_length), self.get_seq_length() - held

    def _in_order(self) -> tuple[Rows, Rows]:
        slots = modulo(np.arange(max(self.length - self.window + 1, 0), self.length), self.slots)
        keys, values = (ring[..., slots, :] for ring in self._rings)
        return keys, values


def _shown(layer: RingLayer, past: int, n: int) -> Columns:
    held = 0 if layer.keys is None else int(layer.keys.shape[-2])
    return np.arange(past - held, past + n)


show_as(RingLayer, _shown)
