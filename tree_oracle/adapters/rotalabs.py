"""``rotalabs-accel``: draft trees, chains and Medusa heads over Hugging Face models.

It decodes text, not tokens, and takes a tokenizer for it: ``Numbers`` is one whose text is the token ids. Its trees have no
greedy mode and no temperature of 0; at a temperature near 0 target and draft are point masses, and its text must be the
greedy one. The drafter is a copy of the target whose choices are moved at some places, so that drafts are right in part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.adapters.chains import LawModel, NextLaw, chain_path, drafted_tokens, room_of, spoiled
from tree_oracle.adapters.chance import TorchChance
from tree_oracle.adapters.engines import load_engine
from tree_oracle.record import Limits, Unsupported
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

NAME = "rotalabs-accel"
_COLD = 1e-6
_CPU = torch.device("cpu")


class Numbers:
    """A tokenizer whose text is the token ids, written out."""

    def __init__(self, eos: int | None = None) -> None:
        self.eos_token_id = -1 if eos is None else eos

    def encode(self, text: str, **_: Any) -> Tensor:
        """One row of ids."""
        return torch.tensor([[int(word) for word in text.split()]])

    def decode(self, ids: Tensor, **_: Any) -> str:
        """The ids as text."""
        return " ".join(map(str, ids.tolist()))

    def write(self, ids: Sequence[int]) -> str:
        """The ids as text."""
        return " ".join(map(str, ids))


class Rotalabs:
    """Whole texts by one of its functions.

    Raises:
        MissingEngine: rotalabs-accel is not installed.
    """

    _function: str

    def __init__(self, target: Target) -> None:
        self._module, self._target = load_engine(NAME, "speculative"), target
        self._drafter = self._draft_model(target.model)

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """What is emitted beyond the limits is cut here, as its loops look at them between rounds only."""
        if len(limits.eos_ids) > 1:
            raise Unsupported("its tokenizer has one end token")
        return [self._generate(prompt, limits) for prompt in prompts]

    def _generate(self, prompt: Sequence[int], limits: Limits) -> list[int]:
        tokenizer, room = Numbers(*limits.eos_ids), room_of(limits, prompt)
        if not room:
            return []
        decode, config = getattr(self._module, self._function), self._config(room)
        text, _ = decode(self._drafter, self._target.model, tokenizer, tokenizer.write(prompt), config, _CPU)
        emitted: list[int] = tokenizer.encode(text)[0, len(prompt) :].tolist()[:room]
        ends = [place + 1 for place, token in enumerate(emitted) if token in limits.eos_ids]
        return emitted[: ends[0]] if ends else emitted

    def _draft_model(self, model: Any) -> Any:
        return spoiled(model)

    def _config(self, room: int) -> Any:
        raise NotImplementedError


class RotalabsTrees(Rotalabs):
    """Its ``tree_speculative_decode``."""

    _function = "tree_speculative_decode"

    def open_sampled(self, target: NextLaw, draft: NextLaw) -> TreeText:
        """A text of its own trees, at temperature 1."""
        return TreeText(self._module, target, draft)

    def _config(self, room: int) -> Any:
        return self._module.TreeSpecConfig(max_new_tokens=room, temperature=_COLD, branch_factor=2, max_depth=3)


class TreeText:
    """A text that grows by one round of its tree decoding per step: a cap of one token, as it never cuts a round."""

    def __init__(self, module: Any, target: NextLaw, draft: NextLaw) -> None:
        self._decode, self._models = module.tree_speculative_decode, (LawModel(draft), LawModel(target))
        self._config = module.TreeSpecConfig(max_new_tokens=1, temperature=1.0, branch_factor=2, max_depth=2)
        self._text = [0]

    def step(self, coins: Iterator[float]) -> dict[str, Any]:
        """One round."""
        tokenizer, before = Numbers(), len(self._text)
        with TorchChance(coins):
            text, _ = self._decode(*self._models, tokenizer, tokenizer.write(self._text), self._config, _CPU)
        self._text = tokenizer.encode(text)[0].tolist()
        return {"emitted": self._text[before:]}


class RotalabsChains(Rotalabs):
    """Its ``speculative_decode``, greedy; and ``verify_tokens``, which verifies a chain, by itself."""

    declared_mode = Declaration(rule="ratio-chain", proposal="independent", siblings=1)
    _function = "speculative_decode"

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], int]:
        """A chain without sampling."""
        tokens = torch.tensor(drafted_tokens(tree))
        model = _RowModel(torch.from_numpy(np.array(rows)))
        found, count, _ = self._module.verify_tokens(
            model, torch.tensor([[int(tree.tokens[0])]]), tokens, torch.ones(len(tokens)), None, 1.0, 1.0, False
        )
        return chain_path(count), int(found[-1])

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """A chain by chance; of the draft it takes the probability of each token alone."""
        tokens = torch.tensor(drafted_tokens(tree))
        model = _RowModel(torch.from_numpy(np.array(target)).log())
        probs = torch.from_numpy(np.array(draft)[range(len(tokens)), tokens.tolist()])
        with TorchChance(coins):
            found, count, _ = self._module.verify_tokens(
                model, torch.tensor([[int(tree.tokens[0])]]), tokens, probs, None, 1.0, 1.0, True
            )
        return chain_path(count), int(found[-1])

    def _config(self, room: int) -> Any:
        return self._module.SpeculativeConfig(max_new_tokens=room, mode=self._module.DecodingMode.GREEDY)


class RotalabsMedusa(Rotalabs):
    """Its ``medusa_decode`` on two heads without training; the first token of a candidate is the target's own."""

    _function = "medusa_decode"

    def _draft_model(self, model: Any) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return self._module.MedusaModel(model, num_heads=2).eval()

    def _config(self, room: int) -> Any:
        return self._module.MedusaConfig(max_new_tokens=room)


class _RowModel:
    """A model that answers every call with the same rows."""

    def __init__(self, rows: Tensor) -> None:
        self.logits, self.past_key_values = rows[None], None

    def __call__(self, *_: Any, **__: Any) -> _RowModel:
        return self
