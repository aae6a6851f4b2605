"""The parts of a batched round that mix requests, apart from the pass itself. A planted fault replaces exactly one of them.

Everything that one round of many requests holds is an array with one row per request, of a fixed size that the rounds share.
Five places decide whose row is whose: what the pass is handed (``fill``), whose logits come back (``read``), which decision is
whose (``decide``), how far each cache reaches afterwards (``advance``), and what stays where when a request leaves
(``keep_rows``). A sixth, ``share``, says how many cached rows of another request a new one may copy. Three more say which
requests are left when some are dropped (``stay``), by which limits and processors each is decoded (``rules``), and with whose
history its rows are processed (``process``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.decoder.batch_state import BatchState
from tree_oracle.record import Limits, Processors
from tree_oracle.tree import CandidateTree

if TYPE_CHECKING:
    from tree_oracle.decoder.parts import Decision, Walker
    from tree_oracle.decoder.session import Text

NOWHERE = -1  # slot of a node whose row is not to be kept: padding
PAD_TOKEN = 0  # a token of every vocabulary; nothing may depend on it

Tokens: TypeAlias = tuple[int, ...]
Rows: TypeAlias = Float[np.ndarray, "n vocab"]


@dataclass(frozen=True, slots=True)
class Drafted:
    """One request's part of a round."""

    tree: CandidateTree
    positions: Int[np.ndarray, " n"]
    visible: Bool[np.ndarray, "n columns"]  # columns: the request's own cached rows, then the nodes
    cached: int  # cached rows


@dataclass(frozen=True, slots=True)
class Padded:
    """What one pass over all requests is handed, in buffers that keep their size and their place from round to round."""

    tokens: Int[np.ndarray, "rows n"]
    positions: Int[np.ndarray, "rows n"]
    visible: Bool[np.ndarray, "rows n columns"]  # columns: the cache's, then the nodes
    slots: Int[np.ndarray, "rows n"]  # where the cache keeps each node's row until the commit

    @classmethod
    def of(cls, rows: int, nodes: int, columns: int) -> Padded:
        """Buffers with nothing in them yet."""
        whole = (rows, nodes)
        return cls(
            np.zeros(whole, np.int64), np.zeros(whole, np.int64), np.zeros((*whole, columns + nodes), bool),
            np.full(whole, NOWHERE),
        )  # fmt: skip

    @property
    def columns(self) -> int:
        """Columns of the cache."""
        return int(self.visible.shape[2] - self.tokens.shape[1])


def fill(padded: Padded, drafted: Sequence[Drafted]) -> None:
    """Write the requests into the buffers, one row each, over everything that an earlier round left there.

    Padding sees itself alone, so that no attention is over nothing, and is kept nowhere.
    """
    nodes = padded.tokens.shape[1]
    padded.tokens[:], padded.positions[:], padded.slots[:] = PAD_TOKEN, 0, NOWHERE
    padded.visible[:] = np.eye(nodes, padded.visible.shape[2], padded.columns, dtype=bool)
    for row, found in enumerate(drafted):
        write_row(padded, row, found)


def write_row(padded: Padded, row: int, found: Drafted) -> None:
    """Write one request where nothing but padding stands."""
    n, columns = len(found.tree), padded.columns
    padded.tokens[row, :n] = found.tree.tokens
    padded.positions[row, :n] = found.positions
    padded.slots[row, :n] = found.cached + np.arange(n)
    padded.visible[row, :n, : found.cached] = found.visible[:, : found.cached]
    padded.visible[row, :n, columns : columns + n] = found.visible[:, found.cached :]


def read(logits: Float[np.ndarray, "rows n vocab"], counts: Sequence[int]) -> list[Rows]:
    """The logits of each request's own nodes; ``counts``: how many it has."""
    return [logits[row, :count] for row, count in enumerate(counts)]


def decide(walk: Walker, trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Decision]:
    """Each request's decision, from its own tree and rows."""
    return [walk(tree, found) for tree, found in zip(trees, rows, strict=True)]


def advance(lengths: Int[np.ndarray, " rows"], kept: Sequence[int]) -> Int[np.ndarray, " rows"]:
    """How far each cache reaches after a round that added ``kept`` rows to it."""
    return lengths + np.asarray(kept, dtype=np.int64)


def keep_rows(state: BatchState, rows: Sequence[int]) -> None:
    """Requests have left: those in ``rows`` stay, in that order, in the first rows of every array."""
    state.lengths = state.lengths[list(rows)]
    for tensors in (state.keys, state.values):
        for layer, tensor in enumerate(tensors):
            tensors[layer] = state.refilled(tensor[list(rows)])


def share(place: int, texts: Sequence[Tokens], lengths: Int[np.ndarray, " rows"]) -> tuple[int, int]:
    """Whose cached rows the new request may copy, and how many: the longest common prefix with what is cached.

    Args:
        place: row of the new request, of which nothing is cached yet.
        texts: committed tokens of every request, the newest of which is never cached.
        lengths: how many of these tokens are cached.
    """
    due = texts[place][:-1]
    hits = [common(due, text[: int(length)]) for text, length in zip(texts, lengths, strict=True)]
    donor = max(range(len(hits)), key=hits.__getitem__)
    return donor, hits[donor]


def common(some: Tokens, others: Tokens) -> int:
    """Length of the longest common prefix."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(some), len(others)))


def stay(places: Sequence[int], count: int) -> list[int]:
    """Which of ``count`` requests are left when those at ``places`` are dropped together."""
    return [place for place in range(count) if place not in places]


def rules(limits: Limits, processors: Processors | None) -> tuple[Limits, Processors | None]:
    """The limits and processors by which each request of the batch is decoded: those that were asked for."""
    return limits, processors


def process(texts: Sequence[Text], trees: Sequence[CandidateTree], rows: Sequence[Rows]) -> list[Rows | None]:
    """Each request's rows as its tokens are chosen by them, with its own history; None where that is as they are."""
    return [text.processed(tree, own) for text, tree, own in zip(texts, trees, rows, strict=True)]


Fill = Callable[[Padded, Sequence[Drafted]], None]
Read = Callable[[Float[np.ndarray, "rows n vocab"], Sequence[int]], list[Rows]]
Decide: TypeAlias = "Callable[[Walker, Sequence[CandidateTree], Sequence[Rows]], list[Decision]]"
Advance = Callable[[Int[np.ndarray, " rows"], Sequence[int]], Int[np.ndarray, " rows"]]
KeepRows = Callable[[BatchState, Sequence[int]], None]
Stay = Callable[[Sequence[int], int], list[int]]
RulesOf: TypeAlias = "Callable[[Limits, Processors | None], tuple[Limits, Processors | None]]"
Process: TypeAlias = "Callable[[Sequence[Text], Sequence[CandidateTree], Sequence[Rows]], list[Rows | None]]"
Share = Callable[[int, Sequence[Tokens], Int[np.ndarray, " rows"]], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class BatchParts:
    """What a batched decoder is put together from, beside the parts of a single request."""

    fill: Fill = field(default=fill)
    read: Read = field(default=read)
    decide: Decide = field(default=decide)
    advance: Advance = field(default=advance)
    keep_rows: KeepRows = field(default=keep_rows)
    share: Share = field(default=share)
    stay: Stay = field(default=stay)
    rules: RulesOf = field(default=rules)
    process: Process = field(default=process)
