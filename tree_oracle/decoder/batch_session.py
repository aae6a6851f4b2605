"""Rounds of many requests, one target pass each, over buffers that keep their size: the reference for batched decoders.

Rule: what a request gets depends on nothing but itself. Its row of every array is its own, padding is seen by nobody and kept
nowhere, and what it shares with others is only what an ordinary run would have made as well: the cached rows of a common
prefix. On the exact model the result is that of ``ReferenceSession``, which runs each request alone, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from msgspec.structs import replace

from tree_oracle.decoder.batch_parts import Drafted, Padded, Rows
from tree_oracle.decoder.batch_pass import batch_pass
from tree_oracle.decoder.batch_state import BatchState
from tree_oracle.decoder.parts import Decision, Parts
from tree_oracle.decoder.session import Text, cache_rows, refuse_count, refuse_places, round_of
from tree_oracle.record import LayerRows, Limits, Processors, Round
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree, Layout

_COLUMNS = 16  # of the first cache; it doubles when it must
_NODES = 8  # of the first buffers; they grow with the trees


@dataclass(frozen=True, slots=True)
class _Step:
    """One request's part of one round, as far as it has come."""

    prefix: tuple[int, ...]
    tree: CandidateTree
    layout: Layout
    rows: Rows
    processed: Rows | None
    decision: Decision


class BatchSession:
    """Requests decoded together. They are counted in the order of admission; those that have ended leave after the round."""

    def __init__(
        self,
        target: Target,
        parts: Parts,
        prompts: Sequence[Sequence[int]],
        limits: Limits,
        processors: Processors | None = None,
    ) -> None:
        self._target, self._parts = target, parts
        self._limits, self._processors = parts.batch.rules(limits, processors)
        self._texts: list[Text] = []
        self._state = BatchState(target.model, columns=_COLUMNS)
        self._padded = Padded.of(0, _NODES, _COLUMNS)
        self.admit(prompts)

    def admit(self, prompts: Sequence[Sequence[int]]) -> None:
        """Further requests, which take part from the next round on.

        Raises:
            UsageError: a prompt is empty.
        """
        self._leave()
        first = len(self._texts)
        self._texts += [Text(self._parts, prompt, self._limits, self._processors) for prompt in prompts]
        for _ in prompts:
            self._state.add_row()
        for place in range(first, len(self._texts)):
            self._prefill(place)

    def drop(self, places: Sequence[int]) -> None:
        """Requests leave before they have ended.

        Raises:
            UsageError: a place that no request has.
        """
        self._leave()
        refuse_places(places, len(self._texts))
        self._keep(self._parts.batch.stay(places, len(self._texts)))

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request, in order.

        Raises:
            UsageError: not one tree per request, or a root that is not the request's last committed token.
        """
        self._leave()
        refuse_count(len(trees), len(self._texts))
        for text, tree in zip(self._texts, trees, strict=True):
            text.refuse(tree)
        steps = self._verify(trees)
        rounds, kept = zip(*(self._commit(row, step) for row, step in enumerate(steps)), strict=True)
        self._state.lengths = self._parts.batch.advance(self._state.lengths, kept)
        return list(rounds)

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """The cache of every request of the last round, layer by layer."""
        return [cache_rows(self._state.view(row, int(count))) for row, count in enumerate(self._state.lengths)]

    def _verify(self, trees: Sequence[CandidateTree]) -> list[_Step]:
        parts = self._parts
        layouts = [parts.lay_out(tree, int(held) + 1) for tree, held in zip(trees, self._state.lengths, strict=True)]
        logits = self._pass(trees, layouts)
        rows = parts.batch.read(logits, [len(tree) for tree in trees])
        shaped = parts.batch.process(self._texts, trees, rows)
        judged = [own if new is None else new for own, new in zip(rows, shaped, strict=True)]
        decisions = parts.batch.decide(parts.walk, trees, judged)
        prefixes = [tuple(text.committed) for text in self._texts]
        return [_Step(*found) for found in zip(prefixes, trees, layouts, rows, shaped, decisions, strict=True)]

    def _pass(self, trees: Sequence[CandidateTree], layouts: Sequence[Layout]) -> Float[np.ndarray, "rows n vocab"]:
        """The logits of all requests; afterwards the cache holds the rows of all nodes behind those that it held."""
        state = self._state
        drafted = [
            Drafted(tree, layout.positions, layout.visible, int(held))
            for tree, layout, held in zip(trees, layouts, state.lengths, strict=True)
        ]
        self._make_room(max(map(len, trees)), int(state.lengths.max()))
        self._parts.batch.fill(self._padded, drafted)
        cache = state.whole(len(self._padded.tokens))
        logits = batch_pass(self._target.model, cache, self._padded)
        state.write(cache, self._padded.slots)
        return logits

    def _commit(self, row: int, step: _Step) -> tuple[Round, int]:
        """The record of one request's round, and how many rows it added to the cache."""
        parts, text, held = self._parts, self._texts[row], int(self._state.lengths[row])
        emitted = text.commit(step.tree, step.decision)
        kept = parts.keep(step.tree, step.decision, len(emitted))
        cache = self._state.view(row, held + len(step.tree))
        parts.commit(cache, held, kept)
        added = self._state.take(row, cache) - held
        scores = parts.score(step.tree, step.rows)
        made = step.prefix, step.tree, step.layout, step.rows, step.processed, step.decision
        found = round_of(*made, emitted, kept, scores, text.ended)
        return replace(found, visible=None), added  # the mask that was used is a padded one

    def _prefill(self, place: int) -> None:
        state, tokens = self._state, self._texts[place].committed
        texts = [tuple(text.committed) for text in self._texts]
        donor, count = self._parts.batch.share(place, texts, state.lengths)
        state.copy_rows(donor, place, count)
        state.run_prompt(place, tokens[:-1])

    def _leave(self) -> None:
        """Those that ended in the last round leave."""
        self._keep([place for place, text in enumerate(self._texts) if text.ended is None])

    def _keep(self, places: list[int]) -> None:
        if len(places) < len(self._texts):
            self._parts.batch.keep_rows(self._state, places)
            self._texts = [self._texts[place] for place in places]

    def _make_room(self, nodes: int, cached: int) -> None:
        """Buffers that are too small are made anew, larger; all others stay, with what they hold."""
        state, (rows, width) = self._state, self._padded.tokens.shape
        state.widen(cached + nodes)
        if rows < len(self._texts) or width < nodes or self._padded.columns < state.columns:
            self._padded = Padded.of(max(rows, len(self._texts)), max(width, nodes), state.columns)
