"""``dflash``: blocks that a draft network proposes in one pass, verified as chains.

Its loop and its draft network run as they are, on a network without training whose last step alone is replaced: what it
proposes is right in part, since of a random block nothing would ever be accepted. It reads hidden states of the target, which
the exact model does not show, so it needs another target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Qwen3Config

from tree_oracle.adapters.chains import HalfRightChain, chain_path, drafted_tokens, room_of
from tree_oracle.adapters.chance import TorchChance, in_order
from tree_oracle.adapters.engines import load_engine
from tree_oracle.record import Limits
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

NAME = "dflash"
_BLOCK = 5


class DFlash:
    """Its greedy loop, and its test and residual by chance.

    Raises:
        MissingEngine: dflash is not installed.
    """

    declared_mode = Declaration(rule="ratio-chain", proposal="independent", siblings=1)

    def __init__(self, target: Target) -> None:
        self._target, self._module = target, load_engine(NAME, "model")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self._network = _half_right(self._module.DFlashDraftModel)(_config_for(target.model.config)).eval()

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """Whole texts."""
        return [self._generate(prompt, limits) for prompt in prompts]

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """One block; the uniforms of all tests are drawn at once."""
        tokens = drafted_tokens(tree)
        laws, drafts = (torch.from_numpy(np.array(rows))[None] for rows in (target, draft))

        def decide(uniforms: Sequence[float], draws: Iterator[float]) -> tuple[list[int], int]:
            with TorchChance(iter(uniforms[1:]), draws):
                count, token = self._module._rejection_sample(torch.tensor([tokens]), laws, drafts[:, :-1])
            return chain_path(count), int(token)

        return in_order(tree, coins, decide)

    def _generate(self, prompt: Sequence[int], limits: Limits) -> list[int]:
        room = room_of(limits, prompt)
        self._network.draft = HalfRightChain(self._target.model, prompt, room, self._target.vocab_size)
        stops = list(limits.eos_ids) or None
        found = self._network.spec_generate(self._target.model, torch.tensor([list(prompt)]), room, stops)
        return [int(token) for token in found[0, len(prompt) :]]


def _half_right(network: type[Any]) -> type[Any]:
    """The network with proposals of its ``draft``, by the position that it is asked for."""

    class HalfRight(network):  # type: ignore[misc]  # the class of an engine that need not be installed
        draft: HalfRightChain

        def forward(self, position_ids: Tensor, *given: Any, **named: Any) -> Any:
            self.ending = int(position_ids[0, -1]) + 1
            return super().forward(position_ids, *given, **named)

        def compute_logits(self, hidden: Tensor, output_head: Any) -> Tensor:
            logits: Tensor = super().compute_logits(hidden, output_head)
            count = hidden.shape[1]
            wanted = torch.tensor(self.draft.tokens(self.ending - count, count))
            return logits.scatter(-1, wanted[None, :, None], 1e4)

    return HalfRight


def _config_for(target: Any) -> Qwen3Config:
    """A draft network of one layer, as wide as the target, whose embeddings and head it uses."""
    own: dict[str, Any] = {  # what its network reads beside what this class knows
        "num_target_layers": target.num_hidden_layers,
        "dflash_config": {"mask_token_id": 0, "block_size": _BLOCK},
    }
    return Qwen3Config(
        vocab_size=target.vocab_size,
        hidden_size=target.hidden_size,
        intermediate_size=2 * target.hidden_size,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=target.max_position_embeddings,
        **own,
    )
