"""Training the two models of a kit: AdamW on fresh random texts, one thread, the same weights for the same seed on one machine.

A text here is random, and what is learnt is the token due after each of its places. So rows are sharp after wrong histories
too, such as those below a rejected branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, Qwen3Config
from transformers.utils import logging

from tree_oracle.kit.language import END, FAR, VOCAB, Language
from tree_oracle.record import UsageError
from tree_oracle.target import one_torch_thread
from tree_oracle.target.tiny import seeded_model

CONTEXT = 256
LENGTH = 48  # tokens of a training text
BATCH = 32
RATE = 5e-3
CONFIGURATIONS = {"llama": LlamaConfig, "qwen3": Qwen3Config}

_SHAPE = {"target": {"hidden_size": 64, "num_hidden_layers": 2}, "drafter": {"hidden_size": 48, "num_hidden_layers": 1}}
_START = 1 / 3  # of the scale that tiny models have, which are not trained


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Loading and saving draw no bars inside the block."""
    drawn = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if drawn:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def untrained(architecture: str, role: str, seed: int) -> Any:
    """A new model; ``role`` is target or drafter.

    Raises:
        UsageError: an unknown architecture.
    """
    if architecture not in CONFIGURATIONS:
        raise UsageError(f"architecture {architecture!r} is none of {', '.join(CONFIGURATIONS)}")
    shape = _SHAPE[role]
    config = CONFIGURATIONS[architecture](
        vocab_size=VOCAB, intermediate_size=192, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=CONTEXT,
        head_dim=shape["hidden_size"] // 4, tie_word_embeddings=False, bos_token_id=None, eos_token_id=END, pad_token_id=END,
        **shape,
    )  # fmt: skip
    model = seeded_model(config, seed=seed, attention="sdpa")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(_START)
    return model


def train(model: Any, language: Language, *, steps: int, seed: int, misled: bool = False) -> float:
    """Teach ``model`` the language, in place; the loss of the last step.

    Args:
        misled: the language of a drafter.
    """
    draw = np.random.default_rng([seed, 2, int(misled)])
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1, pct_start=0.1)
    loss = torch.zeros(())
    with one_torch_thread():
        model.train()
        for _ in range(steps):
            texts = language.texts(draw, BATCH, LENGTH)
            due = torch.as_tensor(language.next_tokens(texts, misled=misled))
            rows = model(torch.as_tensor(texts)).logits[:, FAR:]
            loss = cross_entropy(rows.reshape(-1, VOCAB), due.reshape(-1))
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        model.eval().requires_grad_(False)
    return float(loss.detach())
