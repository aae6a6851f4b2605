"""One target pass over all nodes of a tree, above a cached prefix.

Rule: the cache holds the prefix without its last token; the nodes (root first) are the new tokens; row v attends to the
cached prefix, its own ancestors and itself, as far as the window or chunk of the layer reaches (``kinds``), and sits at
position L - 1 + depth(v). The mask is additive, 0 where visible and ``finfo.min`` elsewhere, *in the model's own dtype*: the
only form that both eager and sdpa read right. A boolean mask is added as 0 and 1 under eager, and another float dtype is an
error under sdpa (both measured). Each layer's mask has the columns that its cache shows (``columns``).
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel, StaticCache

from tree_oracle.masked.columns import laid_over, refuse_cache, shown_rows
from tree_oracle.masked.kinds import ONE_MASK, Masks, layer_kinds, layer_masks
from tree_oracle.masked.support import refuse_slot_scaling, refuse_unsupported
from tree_oracle.record import Unsupported
from tree_oracle.target import forward_with_cache

Given = Float[Tensor, "1 1 n columns"] | dict[str, Float[Tensor, "1 1 n columns"]]


def additive_mask(visible: Bool[np.ndarray, "n columns"], model: PreTrainedModel) -> Float[Tensor, "1 1 n columns"]:
    """The mask in the form that the model's attention adds to its scores."""
    seen = torch.as_tensor(visible.copy(), device=model.device)
    mask = torch.zeros(seen.shape, dtype=model.dtype, device=model.device)
    return mask.masked_fill(~seen, torch.finfo(model.dtype).min)[None, None]


def tree_pass(
    model: PreTrainedModel,
    cache: DynamicCache | StaticCache,
    tokens: Int[np.ndarray, " n"],
    positions: Int[np.ndarray, " n"],
    visible: Bool[np.ndarray, "n columns"],
    held: Int[np.ndarray, " cached"] | None = None,
) -> Float[np.ndarray, "n vocab"]:
    """Logits at every node; the cache grows by one row per node, in slot order.

    Args:
        model: a causal language model.
        cache: ``columns - n`` rows, the prefix without its last token. Changed in place.
        tokens: token id per node, root first.
        positions: position per node.
        visible: True where the row attends, were there no windows; columns are the cached prefix, then the nodes.
        held: position of each cached row, where they are not 0, 1, 2, ... (a cache with holes).

    Returns:
        The rows as float32 (float64 for a float64 model); widening from half precision is exact.

    Raises:
        Unsupported: the model cannot be trusted with a tree mask, or the cache is of another kind.
        UsageError: a cache that holds another number of rows, or is too short for the nodes.
    """
    refuse_unsupported(model, windows=True)
    return pass_with_masks(model, cache, tokens, positions, layer_masks(model.config, visible, positions, held))


@torch.no_grad()
def pass_with_masks(
    model: PreTrainedModel,
    cache: DynamicCache | StaticCache,
    tokens: Int[np.ndarray, " n"],
    positions: Int[np.ndarray, " n"],
    masks: Masks,
) -> Float[np.ndarray, "n vocab"]:
    """As ``tree_pass``, with a mask for each kind of layer (see ``layer_masks``), windows included.

    Raises:
        Unsupported, UsageError: as for ``tree_pass``.
    """
    refuse_unsupported(model, windows=True)
    refuse_cache(cache)
    past = next(iter(masks.values())).shape[1] - len(tokens)
    refuse_slot_scaling(model.config, positions, past)
    logits = forward_with_cache(
        model,
        torch.as_tensor(tokens.copy(), device=model.device)[None],
        cache=cache,
        attention_mask=_given(model, cache, masks, past),
        position_ids=torch.as_tensor(positions.copy(), device=model.device)[None],
    )
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return logits[0].to(wide).cpu().numpy()


def _given(model: PreTrainedModel, cache: DynamicCache | StaticCache, masks: Masks, past: int) -> Given:
    """What the model is handed: one mask, or one for each kind of layer."""
    kinds = layer_kinds(model.config)
    shown = [shown_rows(cache, layer, past, len(masks[kind])) for layer, kind in enumerate(kinds)]
    given: dict[str, Float[Tensor, "1 1 n columns"]] = {}
    for layer, (kind, rows) in enumerate(zip(kinds, shown, strict=True)):
        first = kinds.index(kind)
        if not np.array_equal(rows, shown[first]):
            raise Unsupported(f"layers {first} and {layer} are {kind!r}, but the cache shows them different columns")
        if layer == first:
            given[kind] = additive_mask(laid_over(masks[kind], rows, layer), model)
    return next(iter(given.values())) if model.config.model_type in ONE_MASK else given
