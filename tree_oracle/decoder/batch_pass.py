"""One target pass over the trees of all requests, padded to one width, above caches of one length.

As ``tree_oracle.masked.tree_pass`` for a single tree, with a real batch axis: every request has its own rows of the mask, whose
columns are first those of the cache, of which it sees its own, then the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from transformers import DynamicCache

from tree_oracle.decoder.batch_parts import Padded
from tree_oracle.masked import additive_mask, layer_masks
from tree_oracle.masked.kinds import ONE_MASK
from tree_oracle.masked.support import refuse_slot_scaling, refuse_unsupported
from tree_oracle.target import forward_with_cache


def batch_pass(model: Any, cache: DynamicCache, padded: Padded) -> Float[np.ndarray, "rows n vocab"]:
    """Logits at every node of every request, padding included; the cache grows by one row per node and request.

    Raises:
        Unsupported: the model cannot be trusted with a tree mask, or with slots that are not positions.
    """
    refuse_unsupported(model, windows=True)
    masks = [_masks(model, padded, row) for row in range(len(padded.tokens))]
    given = {kind: torch.cat([one[kind] for one in masks]) for kind in masks[0]}
    logits = forward_with_cache(
        model,
        torch.as_tensor(padded.tokens.copy(), device=model.device),
        cache=cache,
        attention_mask=next(iter(given.values())) if model.config.model_type in ONE_MASK else given,
        position_ids=torch.as_tensor(padded.positions.copy(), device=model.device),
    )
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return np.asarray(logits.to(wide).cpu().numpy())


def _masks(model: Any, padded: Padded, row: int) -> dict[str, torch.Tensor]:
    """One request's mask for each kind of layer, 1 x 1 x n x columns; row r of the cache holds position r."""
    refuse_slot_scaling(model.config, padded.positions[row], padded.columns)
    found = layer_masks(model.config, padded.visible[row], padded.positions[row], np.arange(padded.columns))
    return {kind: additive_mask(seen, model) for kind, seen in found.items()}
