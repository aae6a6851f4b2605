"""Whole rounds over a recurrent model: what a hybrid model's recurrent layers go through in a tree decoder, and no more.

Seams ``tree_logits`` and ``open``. A session shows its states as a cache of one row per layer: ``keys`` holds the state,
``values`` the window, so that the checks of a commit compare them with a cold run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from tree_oracle.decoder.caches.recurrent import RecurrentCache, RecurrentModel, States
from tree_oracle.record import Array, EndReason, LayerRows, Limits, Round, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import walk

MakeCache = Callable[[RecurrentModel], RecurrentCache]


@dataclass(frozen=True, slots=True)
class RecurrentDecoder:
    """A tree decoder over a recurrent model.

    Args:
        model: the recurrent model.
        make_cache: keeps its states.
    """

    model: RecurrentModel
    make_cache: MakeCache = field(default=RecurrentCache)

    def tree_logits(self, prefix: Sequence[int], tree: CandidateTree) -> Float[np.ndarray, "n vocab"]:
        """The row at every node, as float64, which holds every residue."""
        cache = self.make_cache(self.model)
        cache.append(prefix[:-1])
        return cache.draft(tree.tokens.tolist(), tree.parents.tolist()).astype(np.float64)

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> RecurrentSession:
        """Start a session; only ``limits.max_new_tokens`` is looked at.

        Raises:
            UsageError: a prompt is empty.
        """
        return RecurrentSession(self, prompts, limits)


class RecurrentSession:
    """Requests side by side, each with its states."""

    def __init__(self, decoder: RecurrentDecoder, prompts: Sequence[Sequence[int]], limits: Limits) -> None:
        if not all(map(len, prompts)):
            raise UsageError("an empty prompt has no last token to be the root of a tree")
        self.committed = [list(prompt) for prompt in prompts]
        self._room = [limits.max_new_tokens for _ in prompts]
        self._caches = [decoder.make_cache(decoder.model) for _ in prompts]
        for cache, prompt in zip(self._caches, prompts, strict=True):
            cache.append(prompt[:-1])

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request.

        Raises:
            UsageError: not one tree per request.
        """
        if len(trees) != len(self.committed):
            raise UsageError(f"{len(trees)} trees for {len(self.committed)} requests; expected one each")
        return [self._step(request, tree) for request, tree in enumerate(trees)]

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """State and window of every layer of every request."""
        return [layers_of(cache.committed) for cache in self._caches]

    def _step(self, request: int, tree: CandidateTree) -> Round:
        cache, prefix = self._caches[request], tuple(self.committed[request])
        rows = cache.draft(tree.tokens.tolist(), tree.parents.tolist()).astype(np.float64)
        walked = walk(tree, rows)
        emitted = (*(int(tree.tokens[v]) for v in walked.accepted), walked.bonus)[: self._room[request]]
        kept = (0, *walked.accepted)[: len(emitted)]
        cache.commit(kept)
        self.committed[request] += emitted
        self._room[request] -= len(emitted)
        return Round(
            emitted=emitted,
            prefix=prefix,
            tokens=tuple(tree.tokens.tolist()),
            parents=tuple(tree.parents.tolist()),
            rows=Array.of(rows),
            accepted=walked.accepted,
            bonus=walked.bonus,
            kept=kept,
            end=None if self._room[request] else EndReason.CAP,
        )


def layers_of(kept: States) -> tuple[LayerRows, ...]:
    """State and window of every layer, as a cache shows its keys and values."""
    return tuple(
        LayerRows(Array.of(state[None, None]), Array.of(window[None]))
        for state, window in zip(kept.states, kept.windows, strict=True)
    )
