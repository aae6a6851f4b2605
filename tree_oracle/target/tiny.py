"""Tiny random models of real architectures: real attention kernels and real rounding at the cost of a toy.

Weights are scaled so that the history matters: with ``initializer_range`` 0.3 the logits have a standard deviation of about
2.4 and greedy text runs long without repeating; with the usual 0.02 everything ties or repeats. They are drawn here, by
parameter name, so that a target means the same numbers in every release of transformers. No id is special: 0, 1 and 2 are
ordinary tokens.

``mixtral`` is a mixture of experts. Where a token's second and third expert score nearly the same, a rounding step swaps them
and moves the row by far more than rounding does elsewhere: in bfloat16 plain rows were up to 1.4 logits off (0.3 in a dense
model), and up to 3.5 off one another. Those are near rows, not faults, and they widen the measured floor. Releases before 5
name the experts' weights one by one, so its numbers hold from release 5 on.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MixtralConfig, Qwen3Config

RANGE = 0.3
VOCAB = 256
_ORDINARY: dict[str, Any] = {"eos_token_id": None, "bos_token_id": None, "pad_token_id": None}
_SHAPE: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "initializer_range": RANGE,
    "tie_word_embeddings": False,
}


def _gpt2() -> GPT2Config:
    shape: dict[str, Any] = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 2048}
    return GPT2Config(
        vocab_size=VOCAB, initializer_range=RANGE, **shape, **_ORDINARY
    )  # dropout is off in evaluation mode


CONFIGURATIONS: dict[str, Callable[[], Any]] = {
    "gpt2": _gpt2,
    "llama": lambda: LlamaConfig(**_SHAPE, **_ORDINARY),
    "mixtral": lambda: MixtralConfig(**_SHAPE, **_ORDINARY, num_local_experts=4, num_experts_per_tok=2),
    "qwen3": lambda: Qwen3Config(**_SHAPE, **_ORDINARY),
}


def tiny_model(name: str, *, seed: int, attention: str) -> Any:
    """A float32 model on the CPU; ``name`` is a key of ``CONFIGURATIONS``."""
    with torch.random.fork_rng(devices=[]):  # the release's own initialisation must not move the caller's random state
        config = CONFIGURATIONS[name]()
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for label, parameter in model.named_parameters():
            if parameter.dim() >= 2:  # the rest are gains of 1 and biases of 0
                key = torch.Generator().manual_seed(zlib.crc32(f"{seed} {label}".encode()))
                parameter.copy_(torch.randn(parameter.shape, generator=key) * RANGE)
    return model
