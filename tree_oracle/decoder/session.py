"""Rounds of the reference decoder over one request, with a cache that is kept and compacted.

State between rounds: the committed tokens, and a cache of all of them but the newest. One round lays out the tree, runs
the target, walks, cuts at the limits, and keeps the rows of the root and of the emitted path without its newest token:

    cache(after) = rows of committed[:-1]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tree_oracle.decoder.parts import Decision, Parts, Rows
from tree_oracle.decoder.stop import Ending
from tree_oracle.record import Array, EndReason, LayerRows, Limits, Round, UsageError
from tree_oracle.target import Target, layer_tensors, prefill
from tree_oracle.tree import CandidateTree, Layout


class Request:
    """One request: its committed tokens and its cache."""

    def __init__(self, target: Target, parts: Parts, prompt: Sequence[int], limits: Limits) -> None:
        if not prompt:
            raise UsageError("an empty prompt has no last token to be the root of a tree")
        self.committed = list(prompt)
        self.ended: EndReason | None = None
        self._target, self._parts, self._limits = target, parts, limits
        self._prompt_length = len(prompt)
        self._cache = prefill(target.model, self.committed[:-1])

    def step(self, tree: CandidateTree) -> Round:
        """Draft is given, verify, commit.

        Raises:
            UsageError: the root is not the last committed token, or the request has ended.
        """
        self._refuse(tree)
        prefix, parts = tuple(self.committed), self._parts
        layout = parts.lay_out(tree, len(prefix))
        rows = parts.target_pass(self._target.model, self._cache, tree, layout)
        decision = parts.walk(tree, rows)
        emitted, self.ended = self._stop(tree, decision)
        kept = parts.keep(tree, decision, len(emitted))
        parts.commit(self._cache, len(prefix) - 1, kept)
        self.committed += emitted
        scores = parts.score(tree, rows)
        return self._record(prefix, tree, layout, rows, decision, emitted, kept, scores)

    def cache(self) -> tuple[LayerRows, ...]:
        """Keys and values of every layer, heads x rows x width, widened to float32 from half precision."""
        return tuple(LayerRows(*(Array.of(_wide(part[0])) for part in layer)) for layer in layer_tensors(self._cache))

    def _refuse(self, tree: CandidateTree) -> None:
        if self.ended is not None:
            raise UsageError(f"the request has ended ({self.ended}); no further round can be run")
        if int(tree.tokens[0]) != self.committed[-1]:
            raise UsageError(
                f"the root holds token {int(tree.tokens[0])}; expected the last committed token, {self.committed[-1]}"
            )

    def _stop(self, tree: CandidateTree, decision: Decision) -> Ending:
        proposed = (*(int(tree.tokens[v]) for v in decision.accepted), decision.bonus)
        emitted = tuple(self.committed[self._prompt_length :])
        return self._parts.stop(self._prompt_length, emitted, proposed, self._limits)

    def _record(
        self,
        prefix: tuple[int, ...],
        tree: CandidateTree,
        layout: Layout,
        rows: Rows,
        decision: Decision,
        emitted: tuple[int, ...],
        kept: np.ndarray,
        scores: np.ndarray,
    ) -> Round:
        return Round(
            emitted=emitted,
            prefix=prefix,
            tokens=tuple(tree.tokens.tolist()),
            parents=tuple(tree.parents.tolist()),
            positions=tuple(layout.positions.tolist()),
            visible=Array.of(layout.visible),
            rows=Array.of(rows),
            scores=Array.of(scores.astype(np.float64)),
            accepted=decision.accepted,
            bonus=decision.bonus,
            kept=tuple(kept.tolist()),
            end=self.ended,
        )


class ReferenceSession:
    """Requests decoded side by side, each in a batch of its own."""

    def __init__(self, target: Target, parts: Parts, prompts: Sequence[Sequence[int]], limits: Limits) -> None:
        self.requests = [Request(target, parts, prompt, limits) for prompt in prompts]

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request, in order.

        Raises:
            UsageError: not one tree per request, or as for ``Request.step``.
        """
        if len(trees) != len(self.requests):
            raise UsageError(f"{len(trees)} trees for {len(self.requests)} requests; expected one each")
        return [request.step(tree) for request, tree in zip(self.requests, trees, strict=True)]

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """The cache of every request, layer by layer."""
        return [request.cache() for request in self.requests]


def _wide(values: object) -> np.ndarray:
    import torch

    assert isinstance(values, torch.Tensor)
    return values.to(torch.float64 if values.dtype == torch.float64 else torch.float32).cpu().numpy()
