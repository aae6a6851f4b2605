"""One target pass over all nodes of a tree, above a cached prefix.

Rule: the cache holds the prefix without its last token; the nodes (root first) are the new tokens; row v attends to the
cached prefix, its own ancestors and itself, and sits at position L - 1 + depth(v). The mask is additive, 0 where visible
and ``finfo.min`` elsewhere, *in the model's own dtype*: the only form that both eager and sdpa read right. A boolean mask
is added as 0 and 1 under eager, and another float dtype is an error under sdpa (both measured). A static cache shows attention
all of its ``max_cache_len`` slots, so there the mask is as wide as the cache and hides the slots that are not filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel, StaticCache

from tree_oracle.masked.support import refuse_cache, refuse_unsupported
from tree_oracle.record import UsageError
from tree_oracle.target import forward_with_cache


def additive_mask(visible: Bool[np.ndarray, "n columns"], model: PreTrainedModel) -> Float[Tensor, "1 1 n columns"]:
    """The mask in the form that the model's attention adds to its scores."""
    seen = torch.as_tensor(visible.copy(), device=model.device)
    mask = torch.zeros(seen.shape, dtype=model.dtype, device=model.device)
    return mask.masked_fill(~seen, torch.finfo(model.dtype).min)[None, None]


@torch.no_grad()
def tree_pass(
    model: PreTrainedModel,
    cache: DynamicCache | StaticCache,
    tokens: Int[np.ndarray, " n"],
    positions: Int[np.ndarray, " n"],
    visible: Bool[np.ndarray, "n columns"],
) -> Float[np.ndarray, "n vocab"]:
    """Logits at every node; the cache grows by one row per node, in slot order.

    Args:
        model: a causal language model.
        cache: ``columns - n`` rows, the prefix without its last token. Changed in place.
        tokens: token id per node, root first.
        positions: position per node.
        visible: True where the row attends; columns are the cached prefix, then the nodes.

    Returns:
        The rows as float32 (float64 for a float64 model); widening from half precision is exact.

    Raises:
        Unsupported: the model cannot be trusted with a tree mask, or the cache is of another kind.
        UsageError: a static cache that holds another number of rows, or is too short for the nodes.
    """
    refuse_unsupported(model)
    refuse_cache(cache)
    logits = forward_with_cache(
        model,
        torch.as_tensor(tokens.copy(), device=model.device)[None],
        cache=cache,
        attention_mask=additive_mask(_over_all_slots(visible, cache), model),
        position_ids=torch.as_tensor(positions.copy(), device=model.device)[None],
    )
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return logits[0].to(wide).cpu().numpy()


def _over_all_slots(
    visible: Bool[np.ndarray, "n columns"], cache: DynamicCache | StaticCache
) -> Bool[np.ndarray, "n slots"]:
    """The mask with a hidden column for every slot of a static cache that stays unfilled."""
    if not isinstance(cache, StaticCache):
        return visible
    nodes, columns = visible.shape
    layer: Any = cache.layers[0]  # every layer has as many slots
    held, slots = int(cache.get_seq_length()), int(layer.max_cache_len)
    if held != columns - nodes:  # a growing cache would give a wrong shape; this one would shift every node silently
        raise UsageError(f"the static cache holds {held} rows; the mask is made for {columns - nodes}")
    if columns > slots:
        raise UsageError(f"the static cache has {slots} slots; {held} rows and {nodes} nodes need {columns}")
    return np.pad(visible, ((0, 0), (0, slots - columns)))
