"""Rounds of the reference decoder over one request, with a cache that is kept and compacted.

State between rounds: the committed tokens, and a cache of all of them but the newest. One round lays out the tree, runs
the target, walks, cuts at the limits, and keeps the rows of the root and of the emitted path without its newest token:

    cache(after) = rows of committed[:-1]

Where processors apply, the walk goes by the processed rows; the rows that are shown beside them are the target's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tree_oracle.decoder.caches.layers import held_in
from tree_oracle.decoder.parts import Decision, Kept, Parts, Rows
from tree_oracle.decoder.path_parts import Path, Walked
from tree_oracle.decoder.ranks import Rank
from tree_oracle.record import Array, EndReason, LayerRows, Limits, Processors, Round, UsageError
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree, Layout

_RANKS = 2  # of the simulated group


class Text:
    """The committed tokens of one request, what its processors know of them, and whether they have ended."""

    def __init__(
        self, parts: Parts, prompt: Sequence[int], limits: Limits, processors: Processors | None = None
    ) -> None:
        if not prompt:
            raise UsageError("an empty prompt has no last token to be the root of a tree")
        self.committed = list(prompt)
        self.ended: EndReason | None = None
        self._limits, self._prompt_length, self._stop = limits, len(prompt), parts.stop
        self._path = Path(parts.path, prompt, limits, processors)

    def refuse(self, tree: CandidateTree) -> None:
        """Return if a round over this tree can be run.

        Raises:
            UsageError: the root is not the last committed token, or the request has ended.
        """
        if self.ended is not None:
            raise UsageError(f"the request has ended ({self.ended}); no further round can be run")
        if int(tree.tokens[0]) != self.committed[-1]:
            raise UsageError(
                f"the root holds token {int(tree.tokens[0])}; expected the last committed token, {self.committed[-1]}"
            )

    def processed(self, tree: CandidateTree, rows: Rows) -> Rows | None:
        """The rows of a round as tokens are chosen by them; None where that is as they are."""
        return self._path.processed(tree, rows)

    def commit(self, tree: CandidateTree, decision: Decision) -> tuple[int, ...]:
        """Append what the limits let pass of a decision, which is returned."""
        proposed = (*(int(tree.tokens[v]) for v in decision.accepted), decision.bonus)
        before = tuple(self.committed[self._prompt_length :])
        emitted, self.ended = self._stop(self._prompt_length, before, proposed, self._limits)
        self.committed += emitted
        self._path.commit(tree, Walked(decision.accepted, emitted))
        return emitted


class Request:
    """One request: its text and its cache."""

    def __init__(
        self,
        target: Target,
        parts: Parts,
        prompt: Sequence[int],
        limits: Limits,
        processors: Processors | None = None,
    ) -> None:
        self.text = Text(parts, prompt, limits, processors)
        self._target, self._parts = target, parts
        self._cache = parts.hold(target.model, None, tuple(self.committed[:-1]), parts.prefill)
        self._ranks = [Rank(rank, parts.ranks, list(prompt)) for rank in range(1, _RANKS)]

    @property
    def committed(self) -> list[int]:
        """Prompt and emitted tokens."""
        return self.text.committed

    @property
    def ended(self) -> EndReason | None:
        """Why no round follows."""
        return self.text.ended

    def step(self, tree: CandidateTree) -> Round:
        """Draft is given, verify, commit.

        Raises:
            UsageError: the root is not the last committed token, or the request has ended.
        """
        self.text.refuse(tree)
        prefix, parts = tuple(self.committed), self._parts
        self._cache = parts.hold(self._target.model, self._cache, prefix[:-1], parts.prefill)
        layout = parts.lay_out(tree, len(prefix))
        rows = parts.target_pass(self._target.model, self._cache, tree, layout)
        processed = self.text.processed(tree, rows)
        judged = rows if processed is None else processed
        decision = parts.walk(tree, judged)
        emitted = self.text.commit(tree, decision)
        kept = parts.keep(tree, decision, len(emitted))
        parts.commit(self._cache, len(prefix) - 1, kept)
        scores = parts.score(tree, rows)
        found = round_of(prefix, tree, layout, rows, processed, decision, emitted, kept, scores, self.ended)
        done = (tree, judged, decision, emitted, self.ended, parts.walk, parts.keep)
        return replace(found, work=parts.work(tree), peers=tuple(rank.follow(*done) for rank in self._ranks))

    def cache(self) -> tuple[LayerRows, ...]:
        """Keys and values of every layer, heads x rows x width, widened to float32 from half precision."""
        return cache_rows(self._cache)


class ReferenceSession:
    """Requests decoded side by side, each in a batch of its own; those that have ended leave after the round."""

    def __init__(
        self,
        target: Target,
        parts: Parts,
        prompts: Sequence[Sequence[int]],
        limits: Limits,
        processors: Processors | None = None,
    ) -> None:
        self._target, self._parts, self._limits, self._processors = target, parts, limits, processors
        self.requests: list[Request] = []
        self.admit(prompts)

    def admit(self, prompts: Sequence[Sequence[int]]) -> None:
        """Further requests, which take part from the next round on.

        Raises:
            UsageError: a prompt is empty.
        """
        self._leave()
        rules = self._limits, self._processors
        self.requests += [Request(self._target, self._parts, prompt, *rules) for prompt in prompts]

    def drop(self, places: Sequence[int]) -> None:
        """Requests leave before they have ended.

        Raises:
            UsageError: a place that no request has.
        """
        self._leave()
        refuse_places(places, len(self.requests))
        self.requests = [request for place, request in enumerate(self.requests) if place not in places]

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request, in order.

        Raises:
            UsageError: not one tree per request, or as for ``Request.step``.
        """
        self._leave()
        refuse_count(len(trees), len(self.requests))
        return [request.step(tree) for request, tree in zip(self.requests, trees, strict=True)]

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """The cache of every request of the last round, layer by layer."""
        return [request.cache() for request in self.requests]

    def _leave(self) -> None:
        self.requests = [request for request in self.requests if request.ended is None]


def refuse_count(trees: int, requests: int) -> None:
    """Return if there is one tree per request.

    Raises:
        UsageError: there is not.
    """
    if trees != requests:
        raise UsageError(
            f"{trees} trees for {requests} requests; expected one each, and none for a request that has ended"
        )


def refuse_places(places: Sequence[int], requests: int) -> None:
    """Return if there is a request at each of these places.

    Raises:
        UsageError: there is none.
    """
    for place in places:
        if not 0 <= place < requests:
            raise UsageError(f"request {place} is to be dropped; the session has requests 0 to {requests - 1}")


def round_of(
    prefix: tuple[int, ...],
    tree: CandidateTree,
    layout: Layout,
    rows: Rows,
    processed: Rows | None,
    decision: Decision,
    emitted: tuple[int, ...],
    kept: Kept,
    scores: np.ndarray,
    end: EndReason | None,
) -> Round:
    """The record of one request's round."""
    return Round(
        emitted=emitted,
        prefix=prefix,
        tokens=tuple(tree.tokens.tolist()),
        parents=tuple(tree.parents.tolist()),
        positions=tuple(layout.positions.tolist()),
        visible=Array.of(layout.visible),
        rows=Array.of(rows),
        processed=None if processed is None else Array.of(processed),
        scores=Array.of(scores.astype(np.float64)),
        accepted=decision.accepted,
        bonus=decision.bonus,
        kept=tuple(kept.tolist()),
        end=end,
    )


def cache_rows(cache: Any) -> tuple[LayerRows, ...]:
    """Keys and values of the first request of a cache, layer by layer, heads x rows x width; of a window its newest rows.

    Raises:
        Unsupported: a layer whose rows cannot be read.
    """
    return tuple(LayerRows(*(Array.of(_wide(part[0])) for part in held_in(layer))) for layer in cache.layers)


def _wide(values: object) -> np.ndarray:
    import torch

    assert isinstance(values, torch.Tensor)
    return values.to(torch.float64 if values.dtype == torch.float64 else torch.float32).cpu().numpy()
