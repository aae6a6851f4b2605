"""Which models the tree-masked pass may be used on. Everything else is refused by name, with the reason.

A 4D mask is handed to the layers untouched: no causal, padding or window rule is added to it (transformers,
``masking_utils``). So a sliding or chunked layer looks outside its window unless it is handed a mask of its own, a recurrent
layer ignores the mask, and a model that numbers positions by slot ignores the positions, all of them silently. An
allow-list is therefore the only safe list: a model type enters it together with a property that proves its rows equal to
sequential runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int
from transformers import PreTrainedModel

from tree_oracle.masked.kinds import FULL, MASK_PER_KIND, ONE_MASK, layer_kinds
from tree_oracle.record import Unsupported

PROVEN_MODEL_TYPES = tuple(sorted(ONE_MASK + MASK_PER_KIND))
PROVEN_ATTENTION = ("eager", "sdpa", "flex_attention")

_RECURRENT = "its recurrent layers carry one state from slot to slot and ignore the mask, so siblings see each other"
_CONVOLVED = "its convolutions mix neighbouring slots and ignore the mask, so siblings see each other"
_ALIBI = "its ALiBi bias counts slots, and neither position ids nor a mask can tell it that siblings stand side by side"

# Why a type that is often asked for is not on the list, as measured or read.
REASONS = {
    **dict.fromkeys(("bloom", "mpt"), _ALIBI),
    **dict.fromkeys(("lfm2", "lfm2_moe"), _CONVOLVED),
    **dict.fromkeys(
        (
            "bamba",
            "falcon_h1",
            "falcon_mamba",
            "granitemoehybrid",
            "jamba",
            "kimi_linear",
            "mamba",
            "mamba2",
            "minimax",
            "nemotron_h",
            "olmo_hybrid",
            "qwen3_5_moe_text",
            "qwen3_5_text",
            "qwen3_next",
            "recurrent_gemma",
            "rwkv",
            "xlstm",
            "zamba",
            "zamba2",
        ),
        _RECURRENT,
    ),
}


def refuse_unsupported(model: PreTrainedModel, *, windows: bool = False, attention: bool = True) -> None:
    """Return if a tree mask is proven to be obeyed by this model.

    Args:
        windows: the caller keeps to the window of each layer. Without it, a model with windows or chunks is refused.
        attention: the model's attention is that of transformers, so it has to be a proven one.

    Raises:
        Unsupported: the model type, one of its layers, a setting, or its attention implementation is not proven.
    """
    config = model.config
    if config.model_type not in PROVEN_MODEL_TYPES:
        reason = REASONS.get(config.model_type, "not proven equal to sequential runs")
        raise Unsupported(
            f"no tree-masked pass for model type {config.model_type!r}: {reason}; proven are {', '.join(PROVEN_MODEL_TYPES)}"
        )
    kinds = layer_kinds(config)
    if not windows:
        _refuse_windows(kinds)
    if getattr(config, "use_bidirectional_attention", None):
        raise Unsupported("the model is told to use bidirectional attention: its sequential rows see later tokens")
    if (
        attention and config.model_type != "tree_oracle_exact"
    ):  # which holds its own mask logic and has no attention kernel to choose
        _refuse_attention(config)


def _refuse_windows(kinds: tuple[str, ...]) -> None:
    for layer, kind in enumerate(kinds):
        if kind != FULL:
            raise Unsupported(
                f"layer {layer} is {kind!r}: one mask handed to every layer would let it see outside its window; "
                f"only {FULL!r} layers are supported"
            )


def _refuse_attention(config: Any) -> None:
    attention = config._attn_implementation
    if attention not in PROVEN_ATTENTION:
        raise Unsupported(
            f"attention implementation {attention!r} is not proven for dense tree masks; use {' or '.join(PROVEN_ATTENTION)}"
        )
    if attention == "sdpa" and config.model_type == "gemma2" and config.attn_logit_softcapping is not None:
        raise Unsupported("attention implementation 'sdpa' leaves out the cap on the attention scores; use eager")


def refuse_slot_scaling(config: Any, positions: Int[np.ndarray, " n"], past: int) -> None:
    """Return if Llama-4's temperature, which counts *slots* in layers without rotary positions, is that of the positions.

    The temperature is a function of ``(slot + 1) // floor_scale``: wrong only where that differs between slot and position.

    Raises:
        Unsupported: it differs for a node.
    """
    if config.model_type != "llama4_text" or not config.attn_temperature_tuning or all(config.no_rope_layers):
        return
    slots = past + np.arange(len(positions))
    scale = int(config.floor_scale)
    for node in np.flatnonzero((slots + 1) // scale != (positions + 1) // scale).tolist():
        raise Unsupported(
            f"node {node} in slot {slots[node]} has position {positions[node]}, and the model's attention temperature, which "
            f"changes every {scale} tokens, counts slots"
        )
