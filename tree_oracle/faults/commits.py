"""Wrong ways to keep cache rows, and detours to the right one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Int
from transformers import DynamicCache

from tree_oracle.decoder.commit import keep_path
from tree_oracle.decoder.parts import Commit
from tree_oracle.target import layer_tensors, set_layer_tensors

Kept = Int[np.ndarray, " kept"]


def first_rows(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: as many rows as were accepted are kept, but the first ones instead of the accepted ones."""
    keep_path(cache, cached, np.arange(len(kept)))


def in_place_ascending(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Twin: rows are copied down one by one in ascending order, then the tail is cut off. No source is overwritten."""
    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        keys, values = keys.clone(), values.clone()
        for rank, slot in enumerate(kept.tolist()):
            keys[..., cached + rank, :] = keys[..., cached + slot, :]
            values[..., cached + rank, :] = values[..., cached + slot, :]
        end = cached + len(kept)
        set_layer_tensors(cache, layer, keys[..., :end, :], values[..., :end, :])


def keys_only(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: keys are moved to their new rows and values are not."""
    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        rows = np.concatenate([np.arange(cached), cached + kept])
        set_layer_tensors(cache, layer, keys[..., rows, :], values[..., : len(rows), :])


def descending_copy(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: rows are copied in place from the last to the first, so that a row still to be read may be overwritten."""
    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        keys, values = keys.clone(), values.clone()
        for rank, slot in reversed(list(enumerate(kept.tolist()))):
            keys[..., cached + rank, :] = keys[..., cached + slot, :]
            values[..., cached + rank, :] = values[..., cached + slot, :]
        end = cached + len(kept)
        set_layer_tensors(cache, layer, keys[..., :end, :], values[..., :end, :])


def one_row_more(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: one rejected row is left behind the kept ones."""
    rejected = [slot for slot in range(int(kept.max(initial=0)) + 2) if slot not in kept.tolist()]
    held = layer_tensors(cache)[0][0].shape[-2] - cached
    keep_path(cache, cached, np.array([*kept, *(slot for slot in rejected[:1] if slot < held)], dtype=np.int64))


def two_pieces(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Twin: the prefix and the path are cut out apart and put together again."""
    import torch

    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        new = [torch.cat([x[..., :cached, :], x[..., cached + kept, :]], dim=-2) for x in (keys, values)]
        set_layer_tensors(cache, layer, new[0], new[1])


def values_only(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: values are moved to their new rows and keys are not."""
    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        rows = np.concatenate([np.arange(cached), cached + kept])
        set_layer_tensors(cache, layer, keys[..., : len(rows), :], values[..., rows, :])


def one_row_fewer(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: the last of the rows to keep is dropped."""
    keep_path(cache, cached, kept[:-1])


def everything(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """Fault: nothing is dropped, as when a trim is a no-op."""


def _cropped(in_layer: Callable[[int, int], bool], *, keys: bool) -> Commit:
    """A commit by which some layers' values, or keys as well, are cut to their new number and not gathered.

    ``in_layer``: of the number of a layer and of how many there are, whether it is one of them.
    """

    def commit(cache: DynamicCache, cached: int, kept: Kept) -> None:
        held = layer_tensors(cache)
        rows = np.concatenate([np.arange(cached), cached + kept])
        for layer, (mine, theirs) in enumerate(held):
            cut = in_layer(layer, len(held))
            moved = mine[..., : len(rows), :] if cut and keys else mine[..., rows, :]
            set_layer_tensors(cache, layer, moved, theirs[..., : len(rows), :] if cut else theirs[..., rows, :])

    return commit


def _is_last(layer: int, count: int) -> bool:
    return layer == count - 1


def _is_first(layer: int, count: int) -> bool:
    return layer == 0


last_layer_cropped: Commit = _cropped(_is_last, keys=True)  # Fault
first_layer_cropped: Commit = _cropped(_is_first, keys=True)  # Fault
last_values_cropped: Commit = _cropped(_is_last, keys=False)  # Fault
first_values_cropped: Commit = _cropped(_is_first, keys=False)  # Fault
