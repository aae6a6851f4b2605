"""Where transformers 4.56 and the newer 5.x releases differ: the name of the cache argument and how a cache is updated.

The cache that a model takes and returns is called ``past_key_values`` in older releases and ``cache`` in newer ones, where the
old name is on its way out. A cache of an older release must be told the slots that it writes to; a newer one counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from inspect import signature
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer
from transformers.modeling_outputs import CausalLMOutputWithPast

from tree_oracle.record import Unsupported

_OUTPUT_NAME = "cache" if "cache" in {field.name for field in fields(CausalLMOutputWithPast)} else "past_key_values"
SLOTS_ARE_TOLD = "cache_kwargs" in signature(DynamicLayer.update).parameters


def new_cache(config: Any = None) -> DynamicCache:
    """An empty cache that keeps every row; with ``config`` its sliding layers keep only what their window needs."""
    return DynamicCache() if config is None else DynamicCache(config=config)


@torch.no_grad()
def forward_with_cache(
    model: Any, ids: Int[Tensor, "batch n"], *, cache: Any, **inputs: Any
) -> Float[Tensor, "batch n vocab"]:
    """The logits of one forward pass that reads ``cache`` and appends to it; ``inputs`` are further arguments of the model."""
    logits: Tensor = model(
        input_ids=ids, use_cache=True, **{_cache_argument(type(model).forward): cache}, **inputs
    ).logits
    return logits


def prefill(model: Any, tokens: Sequence[int]) -> DynamicCache:
    """The cache after an ordinary run over ``tokens``; empty for no tokens."""
    cache = new_cache()
    if len(tokens):
        forward_with_cache(model, torch.tensor([list(tokens)], device=model.device), cache=cache)
    return cache


def layer_tensors(
    cache: Any,
) -> list[tuple[Float[Tensor, "batch heads n width"], Float[Tensor, "batch heads n width"]]]:
    """Keys and values of every layer, as the cache holds them (not a copy).

    Raises:
        Unsupported: a layer holds something else than keys and values.
    """
    rows = [(getattr(layer, "keys", None), getattr(layer, "values", None)) for layer in cache.layers]
    if any(keys is None or values is None for keys, values in rows):
        raise Unsupported(f"not every layer of a {type(cache).__name__} holds keys and values")
    return rows  # type: ignore[return-value]


def set_layer_tensors(
    cache: Any, layer: int, keys: Float[Tensor, "batch heads n width"], values: Float[Tensor, "batch heads n width"]
) -> None:
    """Replace what one layer of a cache that keeps every row holds."""
    cache.layers[layer].keys, cache.layers[layer].values = keys, values


def update_layer(
    cache: Any, keys: Float[Tensor, "b h t w"], values: Float[Tensor, "b h t w"], layer: int, past: int
) -> tuple[Float[Tensor, "b h n w"], Float[Tensor, "b h n w"]]:
    """Append to one layer and return all rows that attention must look at; ``past`` slots are filled already."""
    if not SLOTS_ARE_TOLD:
        return cache.update(keys, values, layer)  # type: ignore[no-any-return]
    slots = torch.arange(past, past + keys.shape[2], device=keys.device)
    return cache.update(keys, values, layer, {"cache_position": slots})  # type: ignore[no-any-return]


def output_with_cache(logits: Float[Tensor, "b t vocab"], cache: Any) -> CausalLMOutputWithPast:
    """A model output under this release's name of the cache."""
    return CausalLMOutputWithPast(logits=logits, **{_OUTPUT_NAME: cache})


def told_past(slots: Int[Tensor, " t"] | None) -> int | None:
    """The first slot to write, where this release has its callers name it; newer releases ignore the argument."""
    return int(slots[0]) if SLOTS_ARE_TOLD and slots is not None else None


@lru_cache(maxsize=64)
def _cache_argument(forward: Callable[..., Any]) -> str:
    return "cache" if "cache" in signature(forward).parameters else "past_key_values"
