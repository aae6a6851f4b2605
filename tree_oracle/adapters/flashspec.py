"""``flashspec``: its verification of chains, greedy and by chance, as functions on rows.

Its step functions draw the uniforms of all tests at once, then one token. They are those that its engine runs; its functions
``rejection_sample`` and ``greedy_verify``, which it also offers by themselves, are not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tree_oracle.adapters.chains import chain_path, drafted_tokens
from tree_oracle.adapters.chance import TorchChance, in_order
from tree_oracle.adapters.engines import load_engine
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

NAME = "flashspec"


class FlashSpec:
    """``greedy_step`` and ``rejection_step``.

    Raises:
        MissingEngine: flashspec is not installed.
    """

    declared_mode = Declaration(rule="ratio-chain", proposal="independent", siblings=1)

    def __init__(self, target: Target) -> None:
        self._greedy, self._rejection = load_engine(NAME, "sampling.greedy"), load_engine(NAME, "sampling.rejection")

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], int]:
        """A chain by the argmax of each row."""
        choices = torch.from_numpy(np.array(rows)).argmax(-1)[None]
        return _decision(self._greedy.greedy_step(_drafted(tree), choices))

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """A chain by chance."""
        drafted, laws = _drafted(tree), _logs(target)

        def decide(uniforms: Sequence[float], draws: Iterator[float]) -> tuple[list[int], int]:
            with TorchChance(iter(uniforms[1:]), draws):
                return _decision(self._step(drafted, _logs(draft)[:, :-1], laws))

        return in_order(tree, coins, decide)

    def _step(self, drafted: Tensor, draft: Tensor, target: Tensor) -> Tensor:
        found: Tensor = self._rejection.rejection_step(drafted, draft, target)
        return found


class FlashSpecLookup(FlashSpec):
    """``rejection_step_onehot``, for drafts that are not drawn."""

    declared_mode = Declaration(rule="point-mass", proposal="deterministic", siblings=1)

    def _step(self, drafted: Tensor, draft: Tensor, target: Tensor) -> Tensor:
        found: Tensor = self._rejection.rejection_step_onehot(drafted, target)
        return found


def _drafted(tree: CandidateTree) -> Tensor:
    return torch.tensor([drafted_tokens(tree)])


def _logs(laws: Any) -> Tensor:
    return torch.from_numpy(np.array(laws)).log()[None]


def _decision(step: Tensor) -> tuple[list[int], int]:
    count, token = step[0].tolist()
    return chain_path(count), token
