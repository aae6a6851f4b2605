"""Tiny random models of real architectures: real attention kernels and real rounding at the cost of a toy.

Weights are scaled so that the history matters: with ``initializer_range`` 0.3 the logits have a standard deviation of about
2.4 and greedy text runs long without repeating; with the usual 0.02 everything ties or repeats. They are set here, by
parameter name, so that a target means the same numbers in every release of transformers. No id is special: 0, 1 and 2 are
ordinary tokens.

``mixtral``, ``gptoss`` and ``llama4`` are mixtures of experts. Where the last expert chosen for a token and the next one score
nearly the same, a rounding step swaps them and moves the row by far more than rounding does elsewhere: in bfloat16 plain rows
of ``mixtral`` were up to 1.4 logits off (0.3 in a dense model), and up to 3.5 off one another. Those are near rows, not faults,
and they widen the measured floor. Releases before 5 name the experts' weights of ``mixtral`` one by one, so its numbers hold
from release 5 on.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from tree_oracle.record import UsageError
from tree_oracle.target.tiny_configurations import ALSO, EAGER_ONLY, FREE_HEADS, NO_FLEX, RANGE
from tree_oracle.target.tiny_configurations import CONFIGURATIONS as CONFIGURATIONS


def tiny_model(name: str, *, seed: int, attention: str, head: int | None = None) -> Any:
    """A float32 model on the CPU; ``name`` is a key of ``CONFIGURATIONS``, ``head`` the width of an attention head.

    Raises:
        UsageError: an attention kernel that cannot compute this architecture, or a width of heads that it cannot have.
    """
    if name in EAGER_ONLY and attention != "eager" and (name, attention) not in ALSO:
        raise UsageError(f"tiny:{name} has {EAGER_ONLY[name]}, which {attention} cannot compute; use attention eager")
    if attention == "flex_attention" and name in NO_FLEX:
        raise UsageError(f"transformers has no flex_attention for tiny:{name}; use attention eager or sdpa")
    config = CONFIGURATIONS[name]()
    if head is not None:
        if name not in FREE_HEADS or head < 2 or head % 2:
            raise UsageError(f"head={head} of tiny:{name}: expected an even width, and one of {', '.join(FREE_HEADS)}")
        config.head_dim = head
    return seeded_model(config, seed=seed, attention=attention)


def seeded_model(config: Any, *, seed: int, attention: str) -> Any:
    """A float32 model of this configuration whose weights depend on their names and the seed alone."""
    with torch.random.fork_rng(devices=[]):  # the release's own initialisation must not move the caller's random state
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention)  # type: ignore[no-untyped-call]
    gain = 0.0 if config.model_type.startswith("gemma") else 1.0  # Gemma's norms multiply by 1 + weight
    with torch.no_grad():
        for label, parameter in model.named_parameters():
            parameter.copy_(_value(label, parameter, seed, gain))
    return model


def _value(label: str, parameter: Tensor, seed: int, gain: float) -> Tensor:
    if parameter.dim() >= 2 or label.endswith((".sinks", ".router.bias")):
        key = torch.Generator().manual_seed(zlib.crc32(f"{seed} {label}".encode()))
        return torch.randn(parameter.shape, generator=key) * RANGE
    return torch.full_like(parameter, 0.0 if label.endswith("bias") else gain)
