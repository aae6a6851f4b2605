"""What stays in the cache after a round.

Rule: the cache holds the committed tokens without the newest one, which is the next root and has not been run yet. Of the
round's n new rows these are the root and the accepted path, *gathered by slot*: the accepted slots are scattered, so
keeping the first rows, or rewinding by a number, keeps other branches.

A layer that keeps a window cannot be committed to. Writing n nodes drops rows from its front that the next round still sees
once nodes are rejected, and nodes of the path itself where n reaches the window. The reference therefore keeps every row of
every layer, as ``prefill`` leaves them, and leaves windows to the mask.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from tree_oracle.record import Unsupported
from tree_oracle.target import layer_tensors, set_layer_tensors


def keep_path(cache: DynamicCache, cached: int, kept: Int[np.ndarray, " kept"]) -> None:
    """Keep the first ``cached`` rows and, of the rows after them, those of the nodes in ``kept``, in that order.

    Args:
        cache: ``cached + n`` rows; changed in place.
        cached: rows that were there before the round.
        kept: slots of the round, root first, in path order.

    Raises:
        Unsupported: a layer that does not keep every row.
    """
    for layer, found in enumerate(cache.layers):
        if type(found) is not DynamicLayer:
            raise Unsupported(
                f"layer {layer} of the cache is a {type(found).__name__}, which keeps no path: rows that it has dropped or has "
                "slots for cannot be gathered; use a DynamicCache without a configuration"
            )
    index = torch.as_tensor(np.concatenate([np.arange(cached), cached + kept]))
    for layer, (keys, values) in enumerate(layer_tensors(cache)):
        rows = index.to(keys.device)
        set_layer_tensors(cache, layer, keys.index_select(-2, rows), values.index_select(-2, rows))
