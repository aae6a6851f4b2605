"""Wrong ways to move rows in shared pools, and detours to the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tree_oracle.decoder import BlockTable, Moved, Part, Pool
from tree_oracle.decoder.caches.move import copy_page, keep_states, move, own_pages, per_token

Ints = Sequence[int]
Pools = Sequence[Pool]
Copy = Callable[[Pool, list[int], list[int]], None]  # within one pool: from these rows to these
Own = Callable[[BlockTable, int, Pools], BlockTable]
Move = Callable[[Ints, Ints, BlockTable, Pools], Moved]


def copied(pool: Pool, sources: Ints, destinations: Ints) -> None:
    """As the reference does it: everything is read before anything is written."""
    pool.write(destinations, pool.read(sources))


def moved_by(copy: Copy = copied, own: Own = own_pages) -> Move:
    """The reference with another way to copy rows, or to come by pages of its own."""

    def moved(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
        nodes = (0, *accepted)
        table = own(block_table, len(nodes), pools)
        for pool in per_token(pools):
            copy(pool, [slots[node] for node in nodes], table.rows(range(table.length, table.length + len(nodes))))
        keep_states(nodes, table.request, pools)
        return Moved(table.length + len(nodes), table.pages)

    return moved


def ordered(key: Callable[[Pool], int]) -> Move:
    """Twin: the pools are moved in another order."""
    return lambda accepted, slots, table, pools: move(accepted, slots, table, sorted(pools, key=key))


def without_values(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: values stay where they are."""
    if pool.part is not Part.VALUES:
        copied(pool, sources, destinations)


def without_side_buffers(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: side buffers stay where they are."""
    if pool.part is not Part.SIDE:
        copied(pool, sources, destinations)


def first_layer_only(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: the rows of the first layer are moved and no others."""
    if pool.layer == 0:
        copied(pool, sources, destinations)


def descending(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: rows are copied one by one from the last to the first, so that a row still to be read may be overwritten."""
    for source, destination in reversed(list(zip(sources, destinations, strict=True))):
        copied(pool, [source], [destination])


def ascending(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Twin: rows are copied one by one from the first to the last; a slot is never before its destination."""
    for source, destination in zip(sources, destinations, strict=True):
        copied(pool, [source], [destination])


def one_element_short(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: the last element of every row is not copied, as where the size of a row is rounded down."""
    rows = pool.read(destinations)
    rows[:, :-1] = pool.read(sources)[:, :-1]
    pool.write(destinations, rows)


def in_two_parts(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Twin: all elements but the last are copied, then the last."""
    new, rows = pool.read(sources), pool.read(destinations)
    rows[:, :-1] = new[:, :-1]
    rows[:, -1:] = new[:, -1:]
    pool.write(destinations, rows)


def whole_bytes(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Fault: in a packed pool the byte is written whole, and the neighbour's half with it."""
    copied(pool, sources, destinations)
    if pool.packed:
        for row in set(destinations):
            if row ^ 1 not in destinations:
                pool.write([row ^ 1], pool.read([row]))


def neighbours_put_back(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Twin: whole bytes are written, and the neighbours' halves put back."""
    beside = [row ^ 1 for row in destinations if row ^ 1 not in destinations] if pool.packed else []
    old = pool.read(beside) if beside else None
    whole_bytes(pool, sources, destinations)
    if old is not None:
        pool.write(beside, old)


def _strided(stride_of: Callable[[Pool, Pools], int]) -> Move:
    """Plain pools are copied as flat arrays with this many elements a row."""

    def moved(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
        def copy(pool: Pool, sources: list[int], destinations: list[int]) -> None:
            if pool.packed or pool.part is Part.SIDE:
                return copied(pool, sources, destinations)
            flat, stride = pool.data.reshape(-1), stride_of(pool, pools)
            new = [flat[row * stride : (row + 1) * stride].copy() for row in sources]
            for row, values in zip(destinations, new, strict=True):
                flat[row * stride : (row + 1) * stride][: len(values)] = values
            return None

        return moved_by(copy)(accepted, slots, block_table, pools)

    return moved


def _elements(pool: Pool) -> int:
    return int(np.prod(pool.data.shape[1:]))


keys_stride = _strided(
    lambda pool, pools: _elements(pools[0])
)  # Fault: every pool has rows as long as those of the keys.
own_stride = _strided(lambda pool, pools: _elements(pool))  # Twin: each pool has its own.


def past_its_page(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: the destinations follow the first one in the pool, over the end of its page."""
    rows = min(len(pool.read()) for pool in per_token(pools))

    def copy(pool: Pool, sources: list[int], destinations: list[int]) -> None:
        copied(pool, sources, [(destinations[0] + rank) % rows for rank in range(len(sources))])

    return moved_by(copy)(accepted, slots, block_table, pools)


def page_by_page(pool: Pool, sources: list[int], destinations: list[int]) -> None:
    """Twin: what is written follows the first destination as long as the rows do, and then the next."""
    new, begin = pool.read(sources), 0
    for end in range(1, len(destinations) + 1):
        if end == len(destinations) or destinations[end] != destinations[end - 1] + 1:
            pool.write(range(destinations[begin], destinations[begin] + end - begin), new[begin:end])
            begin = end


def slots_by_table(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: the nodes are looked for behind the request's rows, wherever they were written."""
    behind = [block_table.row(block_table.length + node) for node in range(len(slots))]
    return move(accepted, behind, block_table, pools)


def slots_by_node(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Twin: the slots are looked up by node first."""
    by_node = dict(enumerate(slots))
    return move(accepted, [by_node[node] for node in range(len(slots))], block_table, pools)


def first_slots(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: as many nodes as were accepted are kept, but the first ones."""
    return move(range(1, len(accepted) + 1), slots, block_table, pools)


def path_by_mask(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Twin: the path is read from a mask over all nodes; parents stand before children, so the order is the same."""
    return move([node for node in range(len(slots)) if node in set(accepted)], slots, block_table, pools)


def shared_pages_written(table: BlockTable, count: int, pools: Pools) -> BlockTable:
    """Fault: no copy is made of a page that another request holds too."""
    return table


def fresh_pages_empty(table: BlockTable, count: int, pools: Pools) -> BlockTable:
    """Fault: a shared page is exchanged for a free one that is not filled."""
    return own_pages(table, count, ())


def all_pages_copied(table: BlockTable, count: int, pools: Pools) -> BlockTable:
    """Twin: the page that is written first is copied whether or not it is shared, if enough pages are free."""
    first = table.pages[table.length // table.page_size]
    if len(table.free) <= count:
        return own_pages(table, count, pools)
    return own_pages(replace(table, shared=table.shared | {first}), count, pools)


def copied_then_exchanged(table: BlockTable, count: int, pools: Pools) -> BlockTable:
    """Twin: the pages are exchanged first and filled afterwards."""
    fresh = own_pages(table, count, ())
    for old, new in zip(table.pages, fresh.pages, strict=True):
        if old != new:
            copy_page(old, new, table.page_size, pools)
    return fresh


def one_row_more(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: one rejected row is counted to the request."""
    found = move(accepted, slots, block_table, pools)
    return replace(found, length=found.length + (len(slots) > 1 + len(accepted)))


def one_row_fewer(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: the root is not counted, whose token was committed a round before."""
    found = move(accepted, slots, block_table, pools)
    return replace(found, length=found.length - 1)


def tail_zeroed(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Fault: the rejected rows are zeroed and stay."""
    found = tail_zeroed_and_dropped(accepted, slots, block_table, pools)
    return replace(found, length=block_table.length + len(slots))


def tail_zeroed_and_dropped(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Twin: the rejected rows are zeroed and dropped."""
    found = move(accepted, slots, block_table, pools)
    table = replace(block_table, pages=found.pages, length=found.length)
    held = set(table.rows(range(found.length)))
    rejected = [slot for slot in slots if slot not in held]
    for pool in per_token(pools):
        pool.write(rejected, np.zeros_like(pool.read(rejected)))
    return found


def counted_on(accepted: Ints, slots: Ints, block_table: BlockTable, pools: Pools) -> Moved:
    """Twin: the rows are counted one node at a time."""
    found, length = move(accepted, slots, block_table, pools), block_table.length
    for _ in (0, *accepted):
        length += 1
    return replace(found, length=length)
