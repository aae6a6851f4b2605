"""A paged cache: the rows of many requests in shared pools, page by page, found through block tables.

A request's rows fill its pages in order. One round appends a row per node behind them (``draft``), so branches cross pages as
they come; ``commit`` moves the root and the accepted path to the front of those rows, and gives back the pages that only
rejected nodes were in. Requests may share pages (``fork``): a page is counted, and whoever writes to one that is shared gets
a copy first. Every pool is treated alike, whatever it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Shaped
from numpy.typing import DTypeLike

from tree_oracle.decoder.caches.block_table import BlockTable
from tree_oracle.decoder.caches.move import Moved, move, own_pages
from tree_oracle.decoder.caches.pools import PER_TOKEN, Part, Pool
from tree_oracle.record import UsageError

Kind = tuple[int, Part]  # layer, and what is kept of it
Rows = Mapping[Kind, Shaped[np.ndarray, "n ..."]]


@dataclass
class _Held:
    """One request: its pages, its rows, and the slots of a round that is not committed."""

    pages: tuple[int, ...] = ()
    length: int = 0
    slots: tuple[int, ...] = field(default=())


class PagedCache:
    """Pools of one shape per layer and part.

    Args:
        shapes: by layer and part the shape of one row, such as heads x width.
        pages: how many pages the pools have.
        page_size: rows in a page.
        dtype: of the pools.

    Raises:
        UsageError: a part that has no row per token, or no page, or no row in a page.
    """

    def __init__(
        self, shapes: Mapping[Kind, tuple[int, ...]], *, pages: int, page_size: int, dtype: DTypeLike = np.float32
    ) -> None:
        if pages < 1 or page_size < 1:
            raise UsageError(f"{pages} pages of {page_size} rows; expected at least one of each")
        for layer, part in shapes:
            if part not in PER_TOKEN:
                raise UsageError(f"the {part} of layer {layer} have no row per token; expected one of {PER_TOKEN}")
        self.page_size = page_size
        self.pools = [
            Pool(layer, part, np.zeros(_lead(part, pages, page_size) + shape, dtype=dtype))
            for (layer, part), shape in shapes.items()
        ]
        self._shapes = dict(shapes)
        self._free = list(range(pages))
        self._holders: Counter[int] = Counter()
        self._requests: dict[int, _Held] = {}
        self._next = 0

    @property
    def free_pages(self) -> int:
        """Pages that no request holds."""
        return len(self._free)

    def open(self) -> int:
        """A new request without rows."""
        return self._admit(_Held())

    def fork(self, request: int) -> int:
        """A new request with the same rows, in the same pages.

        Raises:
            UsageError: no such request, or a round of it is not committed.
        """
        held = self._idle(request)
        self._holders.update(held.pages)
        return self._admit(replace(held))

    def close(self, request: int) -> None:
        """Give the request's pages back.

        Raises:
            UsageError: no such request.
        """
        self._release(self._of(request).pages)
        del self._requests[request]

    def append(self, request: int, rows: Rows) -> None:
        """Add committed rows, such as those of a prompt.

        Raises:
            UsageError: as for ``draft``.
        """
        self.commit(request, range(len(self.draft(request, rows))))

    def draft(self, request: int, rows: Rows) -> tuple[int, ...]:
        """Write the rows of a round's nodes behind the request's own, and say in which pool rows.

        Raises:
            UsageError: no such request, a round that is not committed, rows of another shape, or no free page.
        """
        held, count = self._idle(request), self._count(rows)
        self._grow(held, held.length + count)
        if not count:
            return ()
        try:
            self._adopt(held, own_pages(self.table(request), count, self.pools).pages)
        except UsageError:
            self._trim(held)
            raise
        held.slots = tuple(self.table(request).rows(range(held.length, held.length + count)))
        for pool in self.pools:
            pool.write(held.slots, rows[pool.layer, pool.part].reshape(count, -1))
        return held.slots

    def commit(self, request: int, kept: Sequence[int]) -> None:
        """Keep the rows of these nodes of the round, in this order, and drop the others. None is a rollback.

        Raises:
            UsageError: no such request, or a node that the round does not have.
        """
        held = self._of(request)
        wrong = [node for node in kept if not 0 <= node < len(held.slots)]
        if wrong:
            raise UsageError(f"node {wrong[0]} is to be kept; the round has {len(held.slots)} nodes")
        if len(kept):
            found = self._move([held.slots[node] for node in kept], self.table(request))
            held.length = found.length
        held.slots = ()
        self._trim(held)

    def crop(self, request: int, length: int) -> None:
        """Go back to the request's first rows.

        Raises:
            UsageError: no such request, a round that is not committed, or fewer rows than that.
        """
        held = self._idle(request)
        if not 0 <= length <= held.length:
            raise UsageError(f"request {request} is to keep {length} rows; it has {held.length}")
        held.length = length
        self._trim(held)

    def table(self, request: int) -> BlockTable:
        """The block table of the request as it is.

        Raises:
            UsageError: no such request.
        """
        held = self._of(request)
        shared = frozenset(page for page in held.pages if self._holders[page] > 1)
        return BlockTable(held.pages, self.page_size, held.length, request, shared, tuple(self._free))

    def read(self, request: int) -> dict[Kind, Shaped[np.ndarray, "n ..."]]:
        """A copy of the request's committed rows.

        Raises:
            UsageError: no such request.
        """
        rows = self.table(request).rows(range(self._of(request).length))
        return {
            (pool.layer, pool.part): pool.read(rows).reshape(len(rows), *self._shapes[pool.layer, pool.part])
            for pool in self.pools
        }

    def _move(self, sources: Sequence[int], table: BlockTable) -> Moved:
        """The move of ``move``: the first node stands for the root."""
        return move(range(1, len(sources)), sources, table, self.pools)

    def _admit(self, held: _Held) -> int:
        self._next += 1
        self._requests[self._next - 1] = held
        return self._next - 1

    def _of(self, request: int) -> _Held:
        if request not in self._requests:
            raise UsageError(f"no request {request}; there are {sorted(self._requests)}")
        return self._requests[request]

    def _idle(self, request: int) -> _Held:
        held = self._of(request)
        if held.slots:
            raise UsageError(f"request {request} has a round of {len(held.slots)} nodes that is not committed")
        return held

    def _count(self, rows: Rows) -> int:
        if set(rows) != set(self._shapes):
            raise UsageError(f"rows for {sorted(rows)}; expected {sorted(self._shapes)}")
        counts = {len(found) for found in rows.values()}
        bad = next((kind for kind, found in rows.items() if found.shape[1:] != self._shapes[kind]), None)
        if bad is not None or len(counts) != 1:
            told = f"{bad} have shape {rows[bad].shape[1:]}" if bad is not None else f"{sorted(counts)} of them"
            raise UsageError(f"the rows are no rows of this cache: {told}; expected {self._shapes}, as many of each")
        return counts.pop()

    def _grow(self, held: _Held, rows: int) -> None:
        missing = -(-rows // self.page_size) - len(held.pages)
        if missing > len(self._free):
            raise UsageError(f"{missing} pages are needed for {rows} rows; {len(self._free)} are free")
        new, self._free = self._free[: max(missing, 0)], self._free[max(missing, 0) :]
        self._holders.update(new)
        held.pages += tuple(new)

    def _adopt(self, held: _Held, pages: tuple[int, ...]) -> None:
        """Take the pages that were copied because the old ones are shared."""
        for old, new in zip(held.pages, pages, strict=True):
            if old != new:
                self._free.remove(new)
                self._holders[new] += 1
                self._holders[old] -= 1
        held.pages = pages

    def _trim(self, held: _Held) -> None:
        """Give back the pages behind the request's rows."""
        needed = -(-held.length // self.page_size)
        self._release(held.pages[needed:])
        held.pages = held.pages[:needed]

    def _release(self, pages: Sequence[int]) -> None:
        self._holders.subtract(pages)
        self._free += [page for page in pages if self._holders[page] == 0]


def _lead(part: Part, pages: int, page_size: int) -> tuple[int, ...]:
    return (pages, page_size) if part is Part.SIDE else (pages * page_size,)
