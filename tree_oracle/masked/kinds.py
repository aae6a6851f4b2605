"""What each kind of layer may see of what a tree mask shows, by *position*.

    full_attention      everything
    sliding_attention   position(key) > position(query) - window
    chunked_attention   position(key) // chunk == position(query) // chunk

A node's position is L - 1 + depth. Its slot in the tree, or in a cache with holes, says nothing: siblings share a position,
and a window that counts slots ends too early for every node behind a sibling or cousin.

Some model types hand one mask to every layer; they have layers of one kind. Others look a mask up by layer type; handed one
tensor, they give it to layers of every kind, whose windows are then gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.record import Unsupported, UsageError

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"

ONE_MASK = ("gpt2", "llama", "mistral", "mixtral")
MASK_PER_KIND = ("cohere2", "gemma2", "gemma3_text", "gpt_oss", "llama4_text", "qwen3", "tree_oracle_exact")

_SIZES = {SLIDING: "sliding_window", CHUNKED: "attention_chunk_size"}
_WINDOWED_WITHOUT_TYPES = ("mistral", "mixtral")

Masks = Mapping[str, Bool[np.ndarray, "n columns"]]


def layer_kinds(config: Any) -> tuple[str, ...]:
    """The kind of each layer of a proven model type.

    Raises:
        Unsupported: a layer of another kind, or layers of several kinds where the model hands all of them one mask.
    """
    layers = int(config.num_hidden_layers)
    if config.model_type in ONE_MASK:
        slides = config.model_type in _WINDOWED_WITHOUT_TYPES and config.sliding_window is not None
        kinds = (SLIDING if slides else FULL,) * layers
        _refuse_unread_types(config, kinds)
        return kinds
    kinds = tuple(config.layer_types)
    for layer, kind in enumerate(kinds):
        if kind not in (FULL, *_SIZES):
            raise Unsupported(f"layer {layer} is {kind!r}; a tree mask is obeyed by {FULL}, {SLIDING} and {CHUNKED}")
    return kinds


def _refuse_unread_types(config: Any, kinds: tuple[str, ...]) -> None:
    """A configuration may name layer types that the model type never reads."""
    named = tuple(getattr(config, "layer_types", None) or kinds)
    for layer, (name, kind) in enumerate(zip(named, kinds, strict=False)):
        if name != kind:
            raise Unsupported(
                f"layer {layer} is {name!r}, but model type {config.model_type!r} hands every layer one mask, here {kind!r}"
            )


def size_of(config: Any, kind: str) -> int:
    """Window or chunk of the layers of this kind; 0 in full layers."""
    return int(getattr(config, _SIZES[kind])) if kind in _SIZES else 0


def layer_masks(
    config: Any,
    visible: Bool[np.ndarray, "n columns"],
    positions: Int[np.ndarray, " n"],
    held: Int[np.ndarray, " cached"] | None = None,
) -> dict[str, Bool[np.ndarray, "n columns"]]:
    """The mask of each kind of layer that the model has: ``visible`` less what lies outside its window or chunk.

    Args:
        config: configuration of a proven model type.
        visible: True where a node attends; columns are the cached rows, then the nodes.
        positions: position per node.
        held: position of every cached row; default: 0, 1, 2, ... as after an ordinary run.

    Raises:
        Unsupported: as for ``layer_kinds``.
        UsageError: not one position for each cached row.
    """
    cached = visible.shape[1] - len(positions)
    held = np.arange(cached) if held is None else np.asarray(held)
    if len(held) != cached:
        raise UsageError(f"{len(held)} positions for {cached} cached rows; expected one each")
    keys = np.concatenate([held, positions])
    return {
        kind: visible & near(kind, size_of(config, kind), positions, keys)
        for kind in dict.fromkeys(layer_kinds(config))
    }


def near(
    kind: str, size: int, queries: Int[np.ndarray, " n"], keys: Int[np.ndarray, " columns"]
) -> Bool[np.ndarray, "n columns"]:
    """Whether a key at its position is within the window or chunk of a query at its own."""
    if kind == FULL:
        return np.ones((len(queries), len(keys)), dtype=bool)
    if kind == SLIDING:
        return np.asarray(keys[None] > queries[:, None] - size)
    return np.asarray(keys[None] // size == queries[:, None] // size)
