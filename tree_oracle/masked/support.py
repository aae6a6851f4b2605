"""Which models and caches the tree-masked pass may be used on. Everything else is refused by name, with the reason.

A 4D mask is handed to the layers untouched: no causal, padding or window rule is added to it (transformers,
``masking_utils``). So a sliding or chunked layer would look outside its window, a recurrent layer would ignore the mask,
and a model that numbers positions by slot would ignore the positions, all of them silently. An allow-list is therefore
the only safe list: a model type enters it together with a property that proves its rows equal to sequential runs. The same
goes for caches: one that keeps a window, quantises or recurs holds something else than one row per token.
"""

from __future__ import annotations

from typing import Any

from transformers import DynamicCache, PreTrainedModel, StaticCache
from transformers.cache_utils import DynamicLayer, StaticLayer

from tree_oracle.record import Unsupported

PROVEN_MODEL_TYPES = ("gpt2", "llama", "mixtral", "qwen3", "tree_oracle_exact")
PROVEN_ATTENTION = ("eager", "sdpa")
_PROVEN_CACHES = (DynamicCache, StaticCache)
_PROVEN_LAYERS = (DynamicLayer, StaticLayer)


def refuse_unsupported(model: PreTrainedModel) -> None:
    """Return if a tree mask is proven to be obeyed by this model.

    Raises:
        Unsupported: the model type, one of its layer types, or its attention implementation is not proven.
    """
    config = model.config
    if config.model_type not in PROVEN_MODEL_TYPES:
        raise Unsupported(
            f"no tree-masked pass for model type {config.model_type!r}: not proven equal to sequential runs; "
            f"proven are {', '.join(PROVEN_MODEL_TYPES)}"
        )
    for layer, kind in enumerate(getattr(config, "layer_types", None) or ()):
        if kind != "full_attention":
            raise Unsupported(
                f"layer {layer} is {kind!r}: one mask handed to every layer would let it see outside its window; "
                f"only 'full_attention' layers are supported"
            )
    window = getattr(config, "sliding_window", None)
    if window is not None and getattr(config, "layer_types", None) is None:  # Mixtral windows every layer or none
        raise Unsupported(f"every layer has a window of {window}, which one mask handed to it would not keep")
    if config.model_type == "tree_oracle_exact":
        return  # it holds its own mask logic and has no attention kernel to choose
    attention = config._attn_implementation
    if attention not in PROVEN_ATTENTION:
        raise Unsupported(
            f"attention implementation {attention!r} is not proven for dense tree masks; use {' or '.join(PROVEN_ATTENTION)}"
        )


def refuse_cache(cache: Any) -> None:
    """Return if the cache is one whose columns are known: a row per token, and in a static one unfilled slots behind them.

    Raises:
        Unsupported: another class of cache, or of one of its layers; a class derived from a proven one is another class.
    """
    names = " or ".join(kind.__name__ for kind in _PROVEN_CACHES)
    if type(cache) not in _PROVEN_CACHES:
        raise Unsupported(f"no tree-masked pass over a {type(cache).__name__}: not proven; use a {names}")
    for index, layer in enumerate(cache.layers):
        if type(layer) not in _PROVEN_LAYERS:
            raise Unsupported(
                f"layer {index} of the cache is a {type(layer).__name__}, which does not keep one row per token; "
                f"use a {names} without windows"
            )
