"""Whole rounds of the reference decoder over another cache: paged, or compacted only now and then.

Between rounds nothing but the store keeps rows. Each round hands the target what the store has, holes included, with a mask
that shows a node the rows of its own request alone, and gives the new rows to the store:

    visible[node, column of row r] = layout.visible[node, r]         every other column is hidden
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool
from transformers import DynamicCache

from tree_oracle.decoder.caches.deferred import DeferredCache
from tree_oracle.decoder.caches.paged import Kind, PagedCache, Rows
from tree_oracle.decoder.caches.pools import Part
from tree_oracle.decoder.parts import Parts
from tree_oracle.decoder.session import Text, round_of
from tree_oracle.record import Array, LayerRows, Limits, Round, UsageError
from tree_oracle.target import Target, layer_tensors, prefill
from tree_oracle.target.compat import update_layer
from tree_oracle.tree import CandidateTree

Shapes = dict[Kind, tuple[int, ...]]


class Store(Protocol):
    """Keeps the rows of a batch."""

    def context(self, request: int) -> tuple[Rows, Bool[np.ndarray, " columns"]]: ...

    def draft(self, rows: Sequence[Rows]) -> None: ...

    def commit(self, kept: Sequence[Sequence[int]]) -> None: ...

    def read(self, request: int) -> Rows: ...


MakeStore = Callable[[Shapes, int], Store]  # (shape of a row by layer and part, number of requests)


class _Pages:
    """A paged cache as a store: the rows of each request are gathered through its block table."""

    def __init__(self, cache: PagedCache, requests: int) -> None:
        self.cache = cache
        self._requests = [cache.open() for _ in range(requests)]

    def context(self, request: int) -> tuple[Rows, Bool[np.ndarray, " columns"]]:
        rows = self.read(request)
        return rows, np.ones(len(next(iter(rows.values()))), dtype=bool)

    def draft(self, rows: Sequence[Rows]) -> None:
        for request, found in zip(self._requests, rows, strict=True):
            self.cache.draft(request, found)

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        for request, path in zip(self._requests, kept, strict=True):
            self.cache.commit(request, path)

    def read(self, request: int) -> Rows:
        return self.cache.read(self._requests[request])


def paged_store(page_size: int, pages: int = 256) -> MakeStore:
    """A store of pages."""
    return lambda shapes, requests: _Pages(PagedCache(shapes, pages=pages, page_size=page_size), requests)


def deferred_store(every: int, padding: float = 0) -> MakeStore:
    """A store that is compacted after so many rounds."""
    return lambda shapes, requests: DeferredCache(shapes, requests=requests, every=every, padding=padding)


@dataclass(frozen=True, slots=True)
class StoredDecoder:
    """A decoder with one seam, ``open``, whose sessions keep their rows in a store.

    Args:
        target: the target model.
        make_store: ``paged_store(...)``, ``deferred_store(...)`` or another.
        parts: what else it is put together from; ``commit`` is not used.
    """

    target: Target
    make_store: MakeStore
    parts: Parts = field(default_factory=Parts)

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> StoredSession:
        """Start a session.

        Raises:
            UsageError: a prompt is empty.
        """
        return StoredSession(self.target, self.make_store, self.parts, prompts, limits)


class StoredSession:
    """Requests that are decoded in step."""

    def __init__(
        self, target: Target, make_store: MakeStore, parts: Parts, prompts: Sequence[Sequence[int]], limits: Limits
    ) -> None:
        self.texts = [Text(parts, prompt, limits) for prompt in prompts]
        self._target, self._parts = target, parts
        cold = [
            _rows_of(prefill(target.model, prompt)) for prompt in prompts
        ]  # the last row tells shapes, and is left out
        self._store = make_store({kind: found.shape[1:] for kind, found in cold[0].items()}, len(prompts))
        self._store.draft([{kind: rows[:-1] for kind, rows in found.items()} for found in cold])
        self._store.commit([range(len(prompt) - 1) for prompt in prompts])

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        """One round for every request.

        Raises:
            UsageError: not one tree per request, a root that is not the last committed token, or a request has ended.
        """
        ended = next((text.ended for text in self.texts if text.ended is not None), None)
        if len(trees) != len(self.texts) or ended is not None:
            raise UsageError(f"{len(trees)} trees for {len(self.texts)} requests, ended: {ended}")
        for text, tree in zip(self.texts, trees, strict=True):
            root, due = int(tree.tokens[0]), text.committed[-1]
            if root != due:
                raise UsageError(f"the root holds token {root}; expected {due}, the last committed one")
        found = [self._round(request, tree) for request, tree in enumerate(trees)]
        self._store.draft([rows for _, rows in found])
        self._store.commit([round_.kept or () for round_, _ in found])
        return [round_ for round_, _ in found]

    def cache(self) -> list[tuple[LayerRows, ...]]:
        """The committed rows of every request, layer by layer."""
        return [_layers(self._store.read(request)) for request in range(len(self.texts))]

    def _round(self, request: int, tree: CandidateTree) -> tuple[Round, Rows]:
        """What the round of one request comes to, and the new rows of all its nodes."""
        text, parts = self.texts[request], self._parts
        prefix = tuple(text.committed)
        held, valid = self._store.context(request)
        layout = parts.lay_out(tree, len(prefix))
        cache = _cache_of(held, self._target)
        wide = replace(layout, visible=_over_columns(layout.visible, valid))
        rows = parts.target_pass(self._target.model, cache, tree, wide)
        processed = text.processed(tree, rows)
        decision = parts.walk(tree, rows if processed is None else processed)
        emitted = text.commit(tree, decision)
        kept, scores = parts.keep(tree, decision, len(emitted)), parts.score(tree, rows)
        seen = round_of(prefix, tree, layout, rows, processed, decision, emitted, kept, scores, text.ended)
        return seen, {kind: found[len(valid) :] for kind, found in _rows_of(cache).items()}


def _over_columns(visible: Bool[np.ndarray, "n rows"], valid: Bool[np.ndarray, " columns"]) -> np.ndarray:
    """The mask over the columns of a store: those that hold no row of the request are hidden from everybody.

    Raises:
        UsageError: the store has another number of rows than were committed.
    """
    held, due = int(valid.sum()), visible.shape[1] - len(visible)
    if held != due:  # one row for all would be spread over them silently
        raise UsageError(
            f"the store shows {held} rows of a request; expected {due}, the committed tokens without the newest"
        )
    wide = np.zeros((len(visible), len(valid) + len(visible)), dtype=bool)
    wide[:, np.flatnonzero(valid)] = visible[:, : -len(visible)]
    wide[:, len(valid) :] = visible[:, -len(visible) :]
    return wide


def _rows_of(cache: DynamicCache) -> dict[Kind, np.ndarray]:
    """Keys and values, rows x heads x width, widened to float32 from half precision, which is exact."""
    found: dict[Kind, np.ndarray] = {}
    for layer, tensors in enumerate(layer_tensors(cache)):
        for part, tensor in zip((Part.KEYS, Part.VALUES), tensors, strict=True):
            wide = tensor if tensor.dtype == torch.float64 else tensor.float()
            found[layer, part] = wide[0].transpose(0, 1).cpu().numpy()
    return found


def _cache_of(rows: Rows, target: Target) -> DynamicCache:
    """A cache of these rows, in the target's own dtype."""
    cache = prefill(target.model, [])
    model = target.model
    for layer in range(len(rows) // 2):
        keys, values = (
            torch.tensor(rows[layer, part], dtype=model.dtype, device=model.device).transpose(0, 1)[None]
            for part in (Part.KEYS, Part.VALUES)
        )
        update_layer(cache, keys, values, layer, 0)
    return cache


def _layers(rows: Rows) -> tuple[LayerRows, ...]:
    def heads_first(layer: int, part: Part) -> Array:
        return Array.of(rows[layer, part].transpose(1, 0, 2))

    layers = range(len(rows) // 2)
    return tuple(LayerRows(heads_first(layer, Part.KEYS), heads_first(layer, Part.VALUES)) for layer in layers)
