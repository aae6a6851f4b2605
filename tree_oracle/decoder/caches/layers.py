"""Commit and rollback in one layer of a transformers cache, class by class.

Law: with ``cached`` rows before the round and the nodes' rows behind them, a layer afterwards holds the rows of the kept nodes,
in path order, behind those that it held; of these a window needs its newest ``window - 1`` only.

    DynamicLayer                rows are gathered
    StaticLayer                 rows are copied down in place and the count is set back; rejected rows stay behind it, stale
    DynamicSlidingWindowLayer   rows are gathered from what it recorded since the last commit, then cut to the window
    RingLayer                   the round's rows wait beside the ring until they are kept (``ring``)
    Fp8QuantizedLayer           the quantised rows are gathered as they are, so nothing is rounded twice

Every other layer is refused by name. A window that records nothing has dropped rows at its front, which the next round still
sees once nodes are rejected, so no path can be kept in it, nor in a static window. Layers that round whole blocks together
(transformers has those of optimum-quanto and hqq) cannot take a row back either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import cache_utils
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer, StaticLayer

from tree_oracle.decoder.caches.ring import RingLayer
from tree_oracle.record import Unsupported

Kept = Int[np.ndarray, " kept"]
Rows = Float[Tensor, "batch heads n width"]
KeepIn = Callable[[Any, int, Kept], None]

# Releases before it quantise through other packages alone.
FP8_LAYER: Any = getattr(cache_utils, "Fp8QuantizedLayer", None)


def keep_in(layer: Any, cached: int, kept: Kept) -> None:
    """Keep the first ``cached`` rows and, of the rows after them, those of the nodes in ``kept``, in that order."""
    _KEEPS[type(layer)](layer, cached, kept)


def held_in(layer: Any) -> tuple[Rows, Rows]:
    """Keys and values of the rows that the layer holds, oldest first; of a window the newest.

    Raises:
        Unsupported: a layer whose rows cannot be read.
    """
    kind: Any = type(layer)
    if kind not in _KEEPS:
        raise Unsupported(f"the rows of a {kind.__name__} cannot be read one by one")
    if kind is StaticLayer:
        count = int(layer.get_seq_length())
        return layer.keys[..., :count, :], layer.values[..., :count, :]
    if kind is FP8_LAYER:
        return layer._dequantize(layer._quantized_keys), layer._dequantize(layer._quantized_values)
    return layer.keys, layer.values


def refuse_layer(number: int, layer: Any) -> None:
    """Return if a path can be kept in this layer.

    Raises:
        Unsupported: it cannot.
    """
    where = f"layer {number} of the cache is a {type(layer).__name__}"
    if type(layer) not in _KEEPS:
        raise Unsupported(
            f"{where}, which keeps no path: rows that it has dropped or rounded together cannot be gathered; "
            "use a DynamicCache without a configuration"
        )
    if type(layer) is StaticLayer and not hasattr(layer, "cumulative_length"):
        raise Unsupported(f"{where}, which in this release does not count its rows; use a DynamicCache")
    if type(layer) is DynamicSlidingWindowLayer and not getattr(layer, "record_past", False):
        raise Unsupported(
            f"{where}, which keeps no path: it has dropped rows that come back into the window when nodes are rejected; "
            "use a DynamicCache without a configuration, or let the layer record its past"
        )


def gather(rows: Rows, index: Int[np.ndarray, " n"]) -> Rows:
    """These rows, in this order."""
    return rows.index_select(-2, torch.as_tensor(index, device=rows.device))


def newest(rows: Rows, count: int) -> Rows:
    """The last ``count`` rows, or all."""
    return rows[..., max(rows.shape[-2] - count, 0) :, :]


def _keep_dynamic(layer: Any, cached: int, kept: Kept) -> None:
    index = np.concatenate([np.arange(cached), cached + kept])
    layer.keys, layer.values = gather(layer.keys, index), gather(layer.values, index)


def _keep_static(layer: Any, cached: int, kept: Kept) -> None:
    for rows in (layer.keys, layer.values):
        rows[..., cached : cached + len(kept), :] = gather(rows, cached + kept)
    layer.cumulative_length.fill_(cached + len(kept))


def _keep_window(layer: Any, cached: int, kept: Kept) -> None:
    before = int(layer.keys.shape[-2]) - (int(layer.cumulative_length) - cached)
    index = np.concatenate([np.arange(before), before + kept])
    layer.keys, layer.values = (
        newest(gather(rows, index), layer.sliding_window - 1) for rows in (layer.keys, layer.values)
    )
    layer.cumulative_length = cached + len(kept)


def _keep_ring(layer: Any, cached: int, kept: Kept) -> None:
    layer.keep(kept)


def _keep_fp8(layer: Any, cached: int, kept: Kept) -> None:
    index = np.concatenate([np.arange(cached), cached + kept])
    for name in ("_quantized_keys", "_quantized_values"):
        rows, scale = getattr(layer, name)
        bits = gather(rows.view(torch.uint8), index)  # an index that is taken in fewer dtypes than bytes are
        setattr(layer, name, (bits.view(rows.dtype), scale))
    layer.cumulative_length = cached + len(kept)


_KEEPS: dict[Any, KeepIn] = {
    DynamicLayer: _keep_dynamic,
    StaticLayer: _keep_static,
    DynamicSlidingWindowLayer: _keep_window,
    RingLayer: _keep_ring,
}
if FP8_LAYER is not None:
    _KEEPS[FP8_LAYER] = _keep_fp8
