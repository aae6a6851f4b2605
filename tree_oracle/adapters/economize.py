"""``economize``: draft trees, ragged batches and windows over its own cache and its own layer runner.

It calls the layers of a Hugging Face model one by one, so a tap on the model sees nothing. This adapter goes through the
places that it offers instead: a drafter of our own, its verifiers, its observers; and ``open`` runs the parts of its decoding
loop one cycle at a time, on trees that are handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from tree_oracle.adapters.chains import chain_path
from tree_oracle.adapters.chance import TorchChance, in_order
from tree_oracle.adapters.economize_session import CYCLE, EconomizeSession, HandedOver, draft_of, nodes_of
from tree_oracle.adapters.economize_text import Scripted, generated
from tree_oracle.adapters.engines import load_engine
from tree_oracle.decoder.draft import HalfRightDraft
from tree_oracle.record import Limits, Round
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration

NAME = "economize"


class EconomizeTrees:
    """Its tree passes, its greedy walk, and its recursive rejection sampling on independent draws.

    Raises:
        MissingEngine: economize is not installed.
    """

    declared_mode = Declaration(rule="multi-round", proposal="independent")
    _width = 3
    _chain = False

    def __init__(self, target: Target) -> None:
        economize = load_engine(NAME)
        self._decoding = load_engine(NAME, "decoding")
        self._target, self._runner = target, economize.apply(target.model).runner

    def accept(self, tree: CandidateTree, rows: Any) -> tuple[list[int], int]:
        """Its verifier ``greedy``."""
        logits = torch.from_numpy(np.array(rows))[None]
        return self._verified("greedy", draft_of([tree], chain=self._chain), logits, self._decoding.GreedySelector())

    def accept_sampled(self, tree: CandidateTree, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        """Its verifier ``rejection``, which draws the uniforms of all nodes before it tests the first."""
        logits = torch.from_numpy(np.array(target)).log()[None]
        drafted = draft_of([tree], chain=self._chain)
        drafted.probs = torch.from_numpy(np.array(draft)[tree.parents[1:]]).float()[
            None
        ]  # what each node was drawn from
        selector = self._decoding.TopPSampler(temperature=1.0, top_p=1.0)

        def decide(uniforms: Sequence[float], draws: Iterator[float]) -> tuple[list[int], int]:
            with TorchChance(iter(uniforms[1:]), draws):
                return self._verified("rejection", drafted, logits, selector)

        return in_order(tree, coins, decide)

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> EconomizeSession:
        """A batch of requests, cycle by cycle."""
        decoder = self._decoding.CycleDecoder(self._runner, HandedOver(chain=self._chain), self._config)
        return EconomizeSession(decoder, self._target.context_length, prompts, limits, chain=self._chain)

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        """Whole texts by its own loop, on drafts that are right in part."""
        draft = HalfRightDraft(self._target, width=self._width)
        return [
            generated(self._runner, Scripted(draft, chain=self._chain), self._config, prompt, limits)
            for prompt in prompts
        ]

    @property
    def _config(self) -> Any:
        return self._decoding.DecodeConfig(cycle_length=CYCLE)

    def _verified(self, name: str, draft: Any, logits: Any, selector: Any) -> tuple[list[int], int]:
        verifier = self._decoding.VERIFIERS.get(name)(self._decoding.DecodeConfig(verifier=name))
        if draft.is_tree:
            (path,), (bonus,) = verifier.verify_tree(logits, draft, selector)
            return nodes_of(path), int(bonus)
        accepted, token = verifier.verify_batch(logits, draft, selector, draft.tokens, [1])
        return chain_path(int(accepted[0])), int(token[0])


class EconomizeChains(EconomizeTrees):
    """Its chain passes, which lay out, mask and verify by other code than its trees."""

    declared_mode = Declaration(rule="ratio-chain", proposal="independent", siblings=1)
    _width = 1
    _chain = True


class EconomizeLookup:
    """Whole texts on the drafts of its own technique: here, what followed the last tokens where they stood before."""

    technique: ClassVar[tuple[str, str, dict[str, Any]]] = ("techniques.lookup", "LookupConfig", {"max_ngram": 2})

    def __init__(self, target: Target) -> None:
        economize = load_engine(NAME)
        part, name, options = self.technique
        self._model = economize.apply(target.model, getattr(load_engine(NAME, part), name)(**options))
        self._config = economize.DecodeConfig(cycle_length=CYCLE)

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        """Whole texts by its own loop."""
        drafter = self._model.drafting_technique.drafter(self._model.runner)
        return [generated(self._model.runner, drafter, self._config, prompt, limits) for prompt in prompts]


class EconomizeMedusa(EconomizeLookup):
    """The same on Medusa heads and their tree; the heads are untrained, so that most drafts are wrong."""

    technique = ("techniques.medusa", "MedusaConfig", {"tree": "small"})


class EconomizeEarlyExit(EconomizeLookup):
    """The same on the first of the target's own layers, which writes drafts into the very cache that is verified."""

    technique = ("techniques.early_exit", "EarlyExitConfig", {"exit_layer": 1})
