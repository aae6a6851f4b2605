"""``sequential-speculative-decoding``: one round of standard and of hierarchical speculative sampling, over two models.

Each step function drafts and verifies by itself and draws from torch's generator, so the laws are handed over as models and
the coins as ``TorchChance``. Standard sampling is also judged on given chains: the draft's draws are then the given tokens.
The hierarchical rules scan a chain backwards and are no rule of ``tree_oracle.verify``: their texts are judged, whatever the
rule, and their coins are never looked into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch

from tree_oracle.adapters.chains import LawModel, NextLaw, chain_path, drafted_tokens
from tree_oracle.adapters.chance import TorchChance
from tree_oracle.adapters.engines import load_engine
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

NAME = "sequential-speculative-decoding"
_LENGTH = 3  # tokens that are drafted per round of a text


class StepText:
    """A text that grows by one call of a step function per round."""

    def __init__(self, step: Any, target: NextLaw, draft: NextLaw) -> None:
        self._step, self._target, self._draft = step, LawModel(target), LawModel(draft)
        self._ids = torch.zeros(1, 1, dtype=torch.long)

    def step(self, coins: Iterator[float]) -> dict[str, Any]:
        """One round."""
        before = self._ids.shape[1]
        with TorchChance(coins):
            self._ids, *_ = self._step(self._draft, self._target, self._ids, _LENGTH, 1.0, 1.0)
        return {"emitted": self._ids[0, before:].tolist()}


class HierarchicalSampling:
    """Its step ``naive_hsd_step``.

    Raises:
        MissingEngine: it is not installed.
    """

    rule: ClassVar[tuple[str, str]] = ("naive_hsd", "naive_hsd_step")

    def __init__(self, target: Target) -> None:
        part, name = self.rule
        self._step = getattr(load_engine(NAME, part), name)

    def open_sampled(self, target: NextLaw, draft: NextLaw) -> StepText:
        """A text of its own drafts."""
        return StepText(self._step, target, draft)


class CappedHierarchicalSampling(HierarchicalSampling):
    """Its step ``capped_hsd_step``."""

    rule = ("capped_hsd", "capped_hsd_step")


class StandardSampling(HierarchicalSampling):
    """Its step ``standard_speculative_step``."""

    rule = ("standard_sd", "standard_speculative_step")
    declared_mode = Declaration(rule="ratio-chain", proposal="independent", siblings=1)

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """One step whose drafts are the nodes of a chain."""
        tokens = drafted_tokens(tree)
        ids = torch.tensor([[0]])
        models = (_rows(draft, len(tokens)), _rows(target, len(tokens)))
        with TorchChance(coins, forced=tokens):
            found, accepted, _ = self._step(*models, ids, len(tokens), 1.0, 1.0)
        return chain_path(int(accepted)), int(found[0, -1])


def _rows(laws: Any, count: int) -> LawModel:
    """The laws of a chain, which depend on the number of tokens alone; the draft's last one is never asked for."""

    def law(history: Sequence[int]) -> Any:
        return laws[min(len(history), count)]

    return LawModel(law)
