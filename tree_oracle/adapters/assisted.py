"""Assisted generation and prompt lookup of ``transformers`` itself: chains, greedy, over any target that it can generate with.

The tap reads the rounds; that takes a cache which can be cropped, so no windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from tree_oracle.adapters.chains import room_of, spoiled
from tree_oracle.record import Limits
from tree_oracle.target import Target


class AssistedGeneration:
    """``generate(assistant_model=...)``, where the assistant is the target, moved at some positions."""

    def __init__(self, target: Target) -> None:
        self._model = target.model
        self._assistant = spoiled(target.model)
        self._assistant.generation_config.num_assistant_tokens = 4
        self._assistant.generation_config.num_assistant_tokens_schedule = "constant"
        self._assistant.generation_config.assistant_confidence_threshold = 0.0

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """Whole texts."""
        return [self._generate(prompt, limits) for prompt in prompts]

    def _generate(self, prompt: Sequence[int], limits: Limits) -> list[int]:
        room = room_of(msgspec.structs.replace(limits, min_new=0), prompt)
        if not room:
            return []
        ids = torch.tensor([list(prompt)], device=self._model.device)
        ends = {"eos_token_id": list(limits.eos_ids) or None, "min_new_tokens": min(limits.min_new, room) or None}
        found = self._model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=room, **ends, **self._drafting()
        )
        return [int(token) for token in found[0, len(prompt) :]]

    def _drafting(self) -> dict[str, Any]:
        return {"assistant_model": self._assistant}


class PromptLookup(AssistedGeneration):
    """``generate(prompt_lookup_num_tokens=...)``."""

    def _drafting(self) -> dict[str, Any]:
        return {"prompt_lookup_num_tokens": 4, "max_matching_ngram_size": 1}
