"""Deferred compaction: rejected rows stay where they are for several rounds, and a mask per request says which rows count.

All requests of a batch share one buffer per layer and part, requests x columns x a row. A round appends as many columns as
its widest tree has nodes, for every request; a commit only marks the columns of the kept nodes *for its own request*. What is
not marked (rejected nodes, padding of smaller trees) must be hidden from every later round by the mask, and takes up no
position. After ``every`` rounds the marked rows move to the front (TreeSpark, section D.3).

    rows(request) = buffer[request, valid[request]]         in column order, since parents are stored before children
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Shaped
from numpy.typing import DTypeLike

from tree_oracle.decoder.caches.paged import Kind, Rows
from tree_oracle.record import UsageError


class DeferredCache:
    """Rows of a batch of requests.

    Args:
        shapes: by layer and part the shape of one row, such as heads x width.
        requests: how many there are.
        every: compact after so many rounds; 1 is after each.
        dtype: of the buffers.
        padding: what a column holds for a request that has no node there: any finite number, since nothing may read it.

    Raises:
        UsageError: ``requests`` or ``every`` is below 1.
    """

    def __init__(
        self,
        shapes: Mapping[Kind, tuple[int, ...]],
        *,
        requests: int = 1,
        every: int = 4,
        dtype: DTypeLike = np.float32,
        padding: float = 0,
    ) -> None:
        if requests < 1 or every < 1:
            raise UsageError(f"{requests} requests, compacted every {every} rounds; expected at least 1 of each")
        self.requests, self.every, self._padding = requests, every, padding
        self._buffers = {kind: np.zeros((requests, 0, *shape), dtype=dtype) for kind, shape in shapes.items()}
        self.valid: Bool[np.ndarray, "requests columns"] = np.zeros((requests, 0), dtype=bool)
        self._counts: tuple[int, ...] | None = None  # nodes per request of a round that is not committed
        self._since = 0  # rounds since the last compaction

    @property
    def columns(self) -> int:
        """Columns of the buffers, those of a round that is not committed included."""
        return len(self.valid[0])

    def context(
        self, request: int
    ) -> tuple[dict[Kind, Shaped[np.ndarray, "columns ..."]], Bool[np.ndarray, " columns"]]:
        """What a target pass is handed for one request: every column, and which of them hold its rows."""
        return {kind: buffer[request].copy() for kind, buffer in self._buffers.items()}, self.valid[request].copy()

    def draft(self, rows: Sequence[Rows]) -> None:
        """Append the rows of a round's nodes, request by request; those of smaller trees are padded.

        Raises:
            UsageError: not one entry per request, or a round that is not committed.
        """
        if self._counts is not None:
            raise UsageError(f"a round of {max(self._counts)} columns is not committed")
        if len(rows) != self.requests:
            raise UsageError(f"rows for {len(rows)} requests; the batch has {self.requests}")
        self._counts = tuple(len(next(iter(found.values()))) for found in rows)
        width = max(self._counts)
        for kind, buffer in self._buffers.items():
            new = np.full((self.requests, width, *buffer.shape[2:]), self._padding, dtype=buffer.dtype)
            for request, found in enumerate(rows):
                new[request, : self._counts[request]] = found[kind]
            self._buffers[kind] = np.concatenate([buffer, new], axis=1)
        self.valid = np.pad(self.valid, ((0, 0), (0, width)))

    def commit(self, kept: Sequence[Sequence[int]]) -> None:
        """Mark the rows of these nodes of the round, request by request, a path each. None is a rollback.

        Raises:
            UsageError: no round to commit, not one path per request, or a node that the request's tree does not have.
        """
        counts, self._counts = self._counts, None
        if counts is None or len(kept) != self.requests:
            raise UsageError(
                f"{len(kept)} paths to keep for {self.requests if counts else 'no'} trees; expected one each"
            )
        first = self.columns - max(counts)
        for request, (path, count) in enumerate(zip(kept, counts, strict=True)):
            wrong = [node for node in path if not 0 <= node < count]
            if wrong or list(path) != sorted(set(path)):
                raise UsageError(f"nodes {list(path)} are to be kept; expected ascending ones of {count}")
            self.valid[request, [first + node for node in path]] = True
        self._since += 1
        if self._since == self.every:
            self.compact()

    def compact(self) -> None:
        """Move the rows that count to the front, request by request, and drop the columns that nobody needs."""
        counts = self.valid.sum(axis=1)
        order = np.argsort(~self.valid, axis=1, kind="stable")[:, : int(counts.max(initial=0))]
        requests = np.arange(self.requests)[:, None]
        self._buffers = {kind: buffer[requests, order] for kind, buffer in self._buffers.items()}
        self.valid = np.arange(order.shape[1])[None] < counts[:, None]
        self._since = 0

    def read(self, request: int) -> dict[Kind, Shaped[np.ndarray, "n ..."]]:
        """A copy of the request's committed rows."""
        return {kind: buffer[request, self.valid[request]] for kind, buffer in self._buffers.items()}
