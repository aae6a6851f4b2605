"""The commit of one round in shared pools: the rows of the root and the accepted path move to the end of their request.

Law: with k = 1 + len(accepted), row ``length + i`` of the request becomes, in every pool that has an entry per token, what
the pool row ``slots[(0, *accepted)[i]]`` held before, for i below k; the request then holds ``length + k`` rows. A source
may be the destination of an earlier rank, so everything is read before anything is written. A page that another request
holds too is never written: it is copied to a free page first, which takes its place in the block table. Of a recurrent
layer the state becomes the snapshot of the last kept node, and the window the newest inputs *along the path*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tree_oracle.decoder.caches.block_table import BlockTable
from tree_oracle.decoder.caches.pools import PER_TOKEN, Part, Pool, of_layer
from tree_oracle.record import UsageError


@dataclass(frozen=True, slots=True)
class Moved:
    """What the request is after a move: how many rows it holds, and where."""

    length: int
    pages: tuple[int, ...]


def move(accepted: Sequence[int], slots: Sequence[int], block_table: BlockTable, pools: Sequence[Pool]) -> Moved:
    """Keep the root and the accepted path.

    Args:
        accepted: nodes followed, in path order, root excluded.
        slots: per node, root first, the pool row that the target pass wrote.
        block_table: the request before the round; its pages have room for the path.
        pools: all pools of all layers, changed in place.

    Raises:
        UsageError: the pages have no room for the path, or a shared page would be written and no page is free.
    """
    nodes = (0, *accepted)
    table = own_pages(block_table, len(nodes), pools)
    sources = [slots[node] for node in nodes]
    destinations = table.rows(range(table.length, table.length + len(nodes)))
    for pool in per_token(pools):
        pool.write(destinations, pool.read(sources))
    keep_states(nodes, table.request, pools)
    return Moved(table.length + len(nodes), table.pages)


def per_token(pools: Sequence[Pool]) -> list[Pool]:
    """The pools with an entry for every token."""
    return [pool for pool in pools if pool.part in PER_TOKEN]


def own_pages(table: BlockTable, count: int, pools: Sequence[Pool]) -> BlockTable:
    """The table in which the next ``count`` rows lie in pages that nobody else holds, with what these pages held.

    Raises:
        UsageError: the pages have no room, or no page is free.
    """
    written = {index // table.page_size for index in range(table.length, table.length + count)}
    table.rows(range(table.length + count))  # refuses a table that is too short
    pages, free = list(table.pages), list(table.free)
    for place in sorted(written):
        if pages[place] not in table.shared:
            continue
        if not free:
            raise UsageError(f"page {pages[place]} is shared and must be copied before it is written; no page is free")
        copy_page(pages[place], free[0], table.page_size, pools)
        pages[place] = free.pop(0)
    return replace(table, pages=tuple(pages), free=tuple(free))


def copy_page(source: int, destination: int, page_size: int, pools: Sequence[Pool]) -> None:
    """Copy one whole page of every pool that has an entry per token."""
    old, new = ([page * page_size + offset for offset in range(page_size)] for page in (source, destination))
    for pool in per_token(pools):
        pool.write(new, pool.read(old))


def keep_states(nodes: Sequence[int], request: int, pools: Sequence[Pool]) -> None:
    """Commit the recurrent layers: state after the last kept node, window along the path."""
    for pool in pools:
        if pool.part is Part.STATE:
            pool.write([request], _beside(pools, pool, Part.SNAPSHOTS).read([nodes[-1]]))
        if pool.part is Part.WINDOW:
            slide(pool, request, _beside(pools, pool, Part.INPUTS).read(nodes))


def slide(window: Pool, request: int, new: np.ndarray) -> None:
    """Push inputs into the window of one request; the oldest drop out."""
    held = window.data[request]
    held[...] = np.concatenate([held, new.reshape(-1, held.shape[-1])])[-len(held) :]


def _beside(pools: Sequence[Pool], pool: Pool, part: Part) -> Pool:
    found = of_layer(pools, pool.layer, part)
    if found is None:
        raise UsageError(f"layer {pool.layer} has a pool of its {pool.part}, but none of its {part}")
    return found
