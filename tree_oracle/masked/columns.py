"""Which rows a layer of a cache shows attention in one pass, column by column: a mask has to have the same columns.

Rows are numbered in the order in which they were written: ``past`` cached ones, then ``n`` nodes.

    DynamicLayer                  all of them; so does Fp8QuantizedLayer
    DynamicSlidingWindowLayer     the cached ones that it still holds (window - 1), then the nodes
    StaticLayer                   all of them, then slots that are not filled
    StaticSlidingWindowLayer      as StaticLayer while everything fits into its slots, the window; then as the dynamic one

Masks of another width are an error under sdpa; some models under eager cut them off on the right, and then columns and keys are
shifted against each other without a word. What a sliding layer has dropped cannot be got back: a pass over it is right, but of
its rows no path can be kept afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Bool, Int
from transformers import DynamicCache, StaticCache, cache_utils
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer, StaticLayer

from tree_oracle.record import Unsupported, UsageError

UNFILLED = -1

# Releases before it could write a tree into a full static window; the older class takes one token at a time.
_STATIC_SLIDING: Any = getattr(cache_utils, "StaticSlidingWindowLayer", None)
_FP8: Any = getattr(cache_utils, "Fp8QuantizedLayer", None)

_PROVEN_CACHES = (DynamicCache, StaticCache)

Columns = Int[np.ndarray, " columns"]
_Shown = Callable[[Any, int, int], Columns]


def refuse_cache(cache: Any) -> None:
    """Return if the cache is one whose columns are known.

    Raises:
        Unsupported: another class of cache, or of one of its layers; a class derived from a proven one is another class.
    """
    names = " or ".join(kind.__name__ for kind in _PROVEN_CACHES)
    if type(cache) not in _PROVEN_CACHES:
        raise Unsupported(f"no tree-masked pass over a {type(cache).__name__}: not proven; use a {names}")
    for index, layer in enumerate(cache.layers):
        if type(layer) not in _SHOWN:
            raise Unsupported(
                f"layer {index} of the cache is a {type(layer).__name__}, whose columns in a pass over several nodes are not "
                f"proven; use a DynamicCache"
            )


def shown_rows(cache: Any, layer: int, past: int, n: int) -> Columns:
    """For each column of a layer the row that it shows, or ``UNFILLED``.

    Raises:
        UsageError: the layer holds another number of rows, or has too few slots.
    """
    if layer >= len(cache.layers):  # a cache that makes its layers on first use
        return _all(past, n) if not past else _refuse_count(0, past)
    found = cache.layers[layer]
    held = int(found.get_seq_length())
    if held != past:  # a growing layer would give a wrong shape; a static one would shift every node
        _refuse_count(held, past)
    return _SHOWN[type(found)](found, past, n)


def show_as(kind: type, shown: _Shown) -> None:
    """Make a class of layer known, with a function (layer, past, n) that says which row each of its columns is."""
    _SHOWN[kind] = shown


def columns_if_known(cache: Any, layer: int, past: int, n: int) -> Columns | None:
    """``shown_rows`` for whoever only looks: None for a cache, or a state of it, whose columns are not known."""
    if type(cache) not in _PROVEN_CACHES or (layer < len(cache.layers) and type(cache.layers[layer]) not in _SHOWN):
        return None
    try:
        return shown_rows(cache, layer, past, n)
    except UsageError:  # the decoder's caches may be out of step, which is for the rows to show
        return None


def laid_over(visible: Bool[np.ndarray, "n rows"], columns: Columns, layer: int) -> Bool[np.ndarray, "n columns"]:
    """The mask over rows as a mask over columns; slots that are not filled are hidden.

    Raises:
        UsageError: a node sees a row that has no column.
    """
    lost = np.asarray(visible.any(axis=0))
    lost[columns[columns != UNFILLED]] = False
    if lost.any():  # made for another window, or with holes among the rows that it kept
        raise UsageError(f"layer {layer} of the cache has dropped row {int(lost.argmax())}, which a node still sees")
    return np.asarray(visible[:, np.maximum(columns, 0)] & (columns != UNFILLED))


def _all(past: int, n: int) -> Columns:
    return np.arange(past + n)


def _dynamic(_: Any, past: int, n: int) -> Columns:
    return _all(past, n)


def _dynamic_window(layer: Any, past: int, n: int) -> Columns:
    held = 0 if layer.keys is None else int(layer.keys.shape[-2])
    held = min(held, int(layer.sliding_window) - 1)  # one that records the past holds more, and does not show it
    return np.arange(past - held, past + n)


def _static(layer: Any, past: int, n: int) -> Columns:
    slots = int(layer.max_cache_len)
    if past + n > slots:
        raise UsageError(f"the static cache has {slots} slots; {past} rows and {n} nodes need {past + n}")
    return _with_unfilled(_all(past, n), slots)


def _static_window(layer: Any, past: int, n: int) -> Columns:
    slots = int(layer.max_cache_len)
    if past + n <= slots:
        return _with_unfilled(_all(past, n), slots)
    return np.arange(past - slots + 1 if past >= slots else 0, past + n)


def _with_unfilled(rows: Columns, slots: int) -> Columns:
    return np.pad(rows, (0, slots - len(rows)), constant_values=UNFILLED)


def _refuse_count(held: int, past: int) -> NoReturn:
    raise UsageError(f"the cache holds {held} rows; the mask is made for {past}")


_SHOWN: dict[Any, _Shown] = {DynamicLayer: _dynamic, DynamicSlidingWindowLayer: _dynamic_window, StaticLayer: _static}
if _STATIC_SLIDING is not None:
    _SHOWN[_STATIC_SLIDING] = _static_window
if _FP8 is not None:
    _SHOWN[_FP8] = _dynamic
