"""The cache that a call of the target is given: an object of transformers, or a pair of buffers per layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from transformers import Cache

from tree_oracle.decoder.tap_mask import given


def cache_given(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The cache of a call; None where it is given none."""
    found = cache_among((*args, *kwargs.values()))
    return found if found is not None else _pairs(given(module, args, kwargs, "past_key_values"))


def cache_among(parts: tuple[Any, ...]) -> Cache | None:
    """The cache, whatever this release calls it."""
    return next((part for part in parts if isinstance(part, Cache)), None)


def rows_held(cache: Any) -> int:
    """How many rows a cache holds, or a list of keys and values per layer; none where there is none."""
    if cache is None:
        return 0
    return int(cache.get_seq_length()) if isinstance(cache, Cache) else int(cache[0][0].shape[-2])


def _pairs(value: Any) -> Any:
    """A list or tuple with one pair of keys and values for each layer, whatever these are, as long as they have a shape."""
    pairs = isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], list | tuple)
    return value if pairs and len(value[0]) and hasattr(value[0][0], "shape") else None
