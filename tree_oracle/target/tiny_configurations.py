"""What the tiny models look like: two layers each, as small as their architecture allows.

``cohere2``, ``gemma2``, ``gemma3`` and ``gptoss`` put a sliding layer below a full one, ``llama4`` a chunked one, and both
layers of ``mistral`` slide. Window and chunk are 8 positions, so that a short text reaches past them.

``gemma2`` caps its attention scores (at 2 rather than 50, so that the cap is felt) and ``gptoss`` has attention sinks. sdpa can
do neither: releases from 5 on refuse it, older ones leave the cap of ``gemma2`` out without a word.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from transformers import (
    Cohere2Config,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    Llama4TextConfig,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    Qwen3Config,
)

RANGE = 0.3
VOCAB = 256
WINDOW = 8

_ORDINARY: dict[str, Any] = {"eos_token_id": None, "bos_token_id": None, "pad_token_id": None}
_SHAPE: dict[str, Any] = _ORDINARY | {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "initializer_range": RANGE,
    "tie_word_embeddings": False,
}
_HEADED = _SHAPE | {"head_dim": 16}
_MIXED: dict[str, Any] = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": WINDOW}
_CHUNKED: dict[str, Any] = {"layer_types": ["chunked_attention", "full_attention"], "attention_chunk_size": WINDOW}


def _cohere2() -> Cohere2Config:
    with warnings.catch_warnings():  # release 4.56 warns of an attribute that it reads itself
        warnings.simplefilter("ignore", FutureWarning)
        return Cohere2Config(**_SHAPE, **_MIXED, logit_scale=1.0)


def _gpt2() -> GPT2Config:
    """Its dropout is off in evaluation mode."""
    shape: dict[str, Any] = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 2048}
    return GPT2Config(vocab_size=VOCAB, initializer_range=RANGE, **shape, **_ORDINARY)


def _gptoss() -> GptOssConfig:
    rotary: dict[str, Any] = {"rope_scaling": {"rope_type": "default"}, "rope_theta": 10000.0}
    return GptOssConfig(**_HEADED, **_MIXED, **rotary, num_local_experts=4, num_experts_per_tok=2)


def _llama4() -> Llama4TextConfig:
    """The chunked layer has rotary positions and a dense block, the full one no positions and experts."""
    layers: dict[str, Any] = {"no_rope_layers": [1, 0], "interleave_moe_layer_step": 2, "use_qk_norm": False}
    experts: dict[str, Any] = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return Llama4TextConfig(**_HEADED, **_CHUNKED, **layers, **experts, intermediate_size_mlp=128)


CONFIGURATIONS: dict[str, Callable[[], Any]] = {
    "cohere2": _cohere2,
    "gemma2": lambda: Gemma2Config(
        **_HEADED, **_MIXED, query_pre_attn_scalar=16, attn_logit_softcapping=2.0, final_logit_softcapping=None
    ),
    "gemma3": lambda: Gemma3TextConfig(**_HEADED, **_MIXED, query_pre_attn_scalar=16),
    "gpt2": _gpt2,
    "gptoss": _gptoss,
    "llama": lambda: LlamaConfig(**_HEADED),
    "llama4": _llama4,
    "mistral": lambda: MistralConfig(**_HEADED, sliding_window=WINDOW),
    "mixtral": lambda: MixtralConfig(**_HEADED, num_local_experts=4, num_experts_per_tok=2),
    "qwen3": lambda: Qwen3Config(**_HEADED),
}

# What sdpa cannot compute.
EAGER_ONLY = {"gemma2": "capped attention scores", "gptoss": "attention sinks"}
ALSO = (("gemma2", "flex_attention"),)  # which caps scores as well
NO_FLEX = ("gpt2",)

# Whose heads may have any even width: their scores are scaled by it, and nothing else depends on it.
FREE_HEADS = ("llama", "mistral", "mixtral", "qwen3")
