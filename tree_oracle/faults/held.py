"""Wrong ways to keep rows in caches with slots, windows and rings, and detours to the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicSlidingWindowLayer, StaticLayer

from tree_oracle.decoder.caches.filled import rings
from tree_oracle.decoder.caches.layers import KeepIn, Kept, gather, keep_in, newest
from tree_oracle.decoder.caches.ring import RingLayer
from tree_oracle.decoder.parts import Commit, Prefill, Rows
from tree_oracle.masked import additive_mask
from tree_oracle.target import forward_with_cache
from tree_oracle.tree import CandidateTree, Layout

_SLOTS_TO_SPARE = 64  # more than a tree of the listed cases has nodes


def in_layers_of(kind: type, keep: KeepIn) -> Commit:
    """A commit by which layers of one class keep a path in this way, and all others rightly."""

    def commit(cache: Any, cached: int, kept: Kept) -> None:
        for layer in cache.layers:
            (keep if type(layer) is kind else keep_in)(layer, cached, kept)

    return commit


def layers_reversed(cache: Any, cached: int, kept: Kept) -> None:
    """Twin: the last layer is committed first."""
    for layer in reversed(cache.layers):
        keep_in(layer, cached, kept)


# Rings


def _one_slot_fewer(positions: Int[np.ndarray, " n"], slots: int) -> Int[np.ndarray, " n"]:
    return positions % (slots - 1)


ring_of_wrong_width: Prefill = rings(lambda window: RingLayer(window, window + 1, _one_slot_fewer))  # Fault
ring_of_odd_width: Prefill = rings(lambda window: RingLayer(window, 2 * window + 1))  # Twin
narrow_ring: Prefill = rings(RingLayer)
wide_ring: Prefill = rings(lambda window: RingLayer(window, window + _SLOTS_TO_SPARE))


def _written_at_once(layer: RingLayer, cached: int, kept: Kept) -> None:
    drafted = [rows[..., rows.shape[-2] - layer.waiting :, :] for rows in (layer.keys, layer.values)]
    layer.write(layer.length, drafted)
    layer.keep(kept)


# All nodes are in the ring before it is known which are kept. Fault where it is narrow, twin where it has slots to spare.
drafts_in_the_ring: Commit = in_layers_of(RingLayer, _written_at_once)


# Windows


def _rows_of(layer: Any, cached: int, kept: Kept) -> tuple[int, Int[np.ndarray, " n"]]:
    """Rows that the window held before the round, and the index of what should stay of all."""
    before = int(layer.keys.shape[-2]) - (int(layer.cumulative_length) - cached)
    return before, np.concatenate([np.arange(before), before + kept])


def _set(layer: Any, keys: Tensor, values: Tensor, length: int) -> None:
    layer.keys, layer.values, layer.cumulative_length = keys, values, length


def _one_row_early(layer: Any, cached: int, kept: Kept) -> None:
    keep_in(layer, cached, kept)
    fewest = max(layer.sliding_window - 2, 0)
    _set(layer, newest(layer.keys, fewest), newest(layer.values, fewest), layer.cumulative_length)


def _one_row_late(layer: Any, cached: int, kept: Kept) -> None:
    _, index = _rows_of(layer, cached, kept)
    keys, values = (newest(gather(rows, index), layer.sliding_window) for rows in (layer.keys, layer.values))
    _set(layer, keys, values, cached + len(kept))


def _from_what_is_left(layer: Any, cached: int, kept: Kept) -> None:
    """The window has been cut after the pass, so of what should stay only that is there which the rejected left."""
    total, (_, index) = int(layer.keys.shape[-2]), _rows_of(layer, cached, kept)
    lost = index < total - (layer.sliding_window - 1)
    found = []
    for rows in (layer.keys, layer.values):
        stay = gather(rows, index).clone()
        stay[..., np.flatnonzero(lost), :] = 0
        found.append(newest(stay, layer.sliding_window - 1))
    _set(layer, found[0], found[1], cached + len(kept))


def _in_two_pieces(layer: Any, cached: int, kept: Kept) -> None:
    before, _ = _rows_of(layer, cached, kept)
    keys, values = (
        newest(torch.cat([rows[..., :before, :], rows[..., before + kept, :]], -2), layer.sliding_window - 1)
        for rows in (layer.keys, layer.values)
    )
    _set(layer, keys, values, cached + len(kept))


def _never_rolled_back(layer: Any, cached: int, kept: Kept) -> None:
    keys, values = (newest(rows, layer.sliding_window - 1) for rows in (layer.keys, layer.values))
    _set(layer, keys, values, cached + len(kept))


window_evicts_early: Commit = in_layers_of(DynamicSlidingWindowLayer, _one_row_early)  # Fault
window_evicts_late: Commit = in_layers_of(
    DynamicSlidingWindowLayer, _one_row_late
)  # Twin: one row more than is needed.
rolled_back_after_the_cut: Commit = in_layers_of(DynamicSlidingWindowLayer, _from_what_is_left)  # Fault
window_in_two_pieces: Commit = in_layers_of(DynamicSlidingWindowLayer, _in_two_pieces)  # Twin
window_never_rolled_back: Commit = in_layers_of(DynamicSlidingWindowLayer, _never_rolled_back)  # Fault


# Slots


def _count_alone(layer: Any, cached: int, kept: Kept) -> None:
    layer.cumulative_length.fill_(cached + len(kept))


def _slot_by_slot(layer: Any, cached: int, kept: Kept) -> None:
    for rank, slot in enumerate(kept.tolist()):
        for rows in (layer.keys, layer.values):
            rows[..., cached + rank, :] = rows[..., cached + slot, :]
    layer.cumulative_length.fill_(cached + len(kept))


def _count_of_all(layer: Any, cached: int, kept: Kept) -> None:
    rows = int(layer.cumulative_length)
    keep_in(layer, cached, kept)
    layer.cumulative_length.fill_(min(rows, cached + len(kept) + 1))


count_set_back_alone: Commit = in_layers_of(StaticLayer, _count_alone)  # Fault
slot_by_slot: Commit = in_layers_of(StaticLayer, _slot_by_slot)  # Twin
stale_slot_counted: Commit = in_layers_of(StaticLayer, _count_of_all)  # Fault


def over_slots(stale: bool) -> Callable[[PreTrainedModel, Any, CandidateTree, Layout], Rows]:
    """The target pass with a mask over all slots. Fault: all nodes also see the first slot behind the tree; twin: none does."""

    def run(model: PreTrainedModel, cache: Any, tree: CandidateTree, layout: Layout) -> Rows:
        filled = layout.visible.shape[1]
        visible = np.zeros((len(tree), int(cache.layers[0].max_cache_len)), dtype=bool)
        visible[:, :filled] = layout.visible
        visible[:, filled : filled + 1] = stale
        logits = forward_with_cache(
            model,
            torch.as_tensor(tree.tokens.copy(), device=model.device)[None],
            cache=cache,
            attention_mask=additive_mask(visible, model),
            position_ids=torch.as_tensor(layout.positions.copy(), device=model.device)[None],
        )
        return np.asarray(logits[0].float().cpu().numpy())

    return run
