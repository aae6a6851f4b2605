"""How many of the newest cached rows the next token can see, layer by layer.

Of a window of W positions these are W - 1, besides the token itself; of a chunk at most as many. A layer that may keep so few
says so in the configuration, by its type; every other needs all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SIZES = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}


def reaches(config: Any) -> tuple[int | None, ...]:
    """Rows per layer; None: all."""
    layers = int(config.num_hidden_layers)
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        slides = config.model_type in ("mistral", "mixtral") and getattr(config, "sliding_window", None) is not None
        kinds = ("sliding_attention" if slides else "full_attention",) * layers
    return tuple(int(getattr(config, _SIZES[kind])) - 1 if kind in _SIZES else None for kind in kinds)


def reach_of(layers: Sequence[int | None]) -> int | None:
    """How many of its newest tokens a row can depend on, from the cached rows that each layer sees; None: on all."""
    return None if any(layer is None for layer in layers) else 1 + sum(layer for layer in layers if layer is not None)
