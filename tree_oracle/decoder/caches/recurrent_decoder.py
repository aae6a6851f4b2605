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
from tree_oracle.decoder.parts import Decision, Parts
from tree_oracle.decoder.session import Text, refuse_count
from tree_oracle.record import Array, LayerRows, Limits, Processors, Round
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import walk

MakeCache = Callable[[RecurrentModel], RecurrentCache]
_RIGHT = Parts()  # of a text: what is right of any decoder, whatever its model keeps


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

    def open(
        self, prompts: Sequence[Sequence[int]], limits: Limits, processors: Processors | None = None
    ) -> RecurrentSession:
        """Start a session.

        Raises:
            UsageError: a prompt is empty.
        """
        return RecurrentSession(self, prompts, limits, processors)


class RecurrentSession:
    """Requests side by side, each with its states; those that have ended leave after the round."""

    def __init__(
        self,
        decoder: RecurrentDecoder,
        prompts: Sequence[Sequence[int]],
        limits: Limits,
        processors: Processors | None = None,
    ) -> None:
        self._requests = [_Request(decoder, Text(_RIGHT, prompt, limits, processors)) for prompt in prompts]

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request.

        Raises:
            UsageError: not one tree per request, or a root that is not the last committed token.
        """
        self._requests = [request for request in self._requests if request.text.ended is None]
        refuse_count(len(trees), len(self._requests))
        return [request.step(tree) for request, tree in zip(self._requests, trees, strict=True)]

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """State and window of every layer of every request."""
        return [layers_of(request.cache.committed) for request in self._requests]


class _Request:
    """One request: its text and its states."""

    def __init__(self, decoder: RecurrentDecoder, text: Text) -> None:
        self.text, self.cache = text, decoder.make_cache(decoder.model)
        self.cache.append(text.committed[:-1])

    def step(self, tree: CandidateTree) -> Round:
        self.text.refuse(tree)
        prefix = tuple(self.text.committed)
        rows = self.cache.draft(tree.tokens.tolist(), tree.parents.tolist()).astype(np.float64)
        processed = self.text.processed(tree, rows)
        walked = walk(tree, rows if processed is None else processed)
        emitted = self.text.commit(tree, Decision(tuple(walked.accepted), walked.bonus))
        kept = (0, *walked.accepted)[: len(emitted)]
        self.cache.commit(kept)
        return Round(
            emitted=emitted,
            prefix=prefix,
            tokens=tuple(tree.tokens.tolist()),
            parents=tuple(tree.parents.tolist()),
            rows=Array.of(rows),
            processed=None if processed is None else Array.of(processed),
            accepted=walked.accepted,
            bonus=walked.bonus,
            kept=kept,
            end=self.text.ended,
        )


def layers_of(kept: States) -> tuple[LayerRows, ...]:
    """State and window of every layer, as a cache shows its keys and values."""
    return tuple(
        LayerRows(Array.of(state[None, None]), Array.of(window[None]))
        for state, window in zip(kept.states, kept.windows, strict=True)
    )
