"""Pools filled with tags, so that after a move every row says where it came from.

In a plain pool every element of every pool has a number of its own, counted from 1: an element out of place, a wrong stride
and a wrong tensor are read off as exactly as a wrong row. In a packed pool an element has four bits, so a row holds the
digits, base 16, of a number that no other row of any pool has. Zero is no tag: a row that was zeroed says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from tree_oracle.decoder.caches import BlockTable, Part, Pool
from tree_oracle.record import MoveData, UsageError

Tags = Int[np.ndarray, "entries elements"]

REQUESTS = 3  # entries of pools with one entry per request
REQUEST = 1  # the one that commits
_DIGITS = 4  # hexadecimal, of the number of a packed row
_MOST = 2**24  # elements in all pools of one kind: tags stay exact in float32, and no file makes us run out of memory


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pool has an entry."""

    layer: int
    part: Part
    entry: int

    def __str__(self) -> str:
        name = {Part.STATE: "request", Part.WINDOW: "request", Part.SNAPSHOTS: "node", Part.INPUTS: "node"}
        return f"{name.get(self.part, 'slot')} {self.entry}, {self.part}, layer {self.layer}"


def tagged(move: MoveData) -> list[Pool]:
    """Fresh pools for one case, int32 (packed ones uint8)."""
    pools, first = [], 1
    for layer, part, shape, packed in _shapes(move):
        pools.append(Pool(layer, part, _packed(shape, first) if packed else _plain(shape, first), packed))
        first += shape[0] if packed else int(np.prod(shape))
    return pools


def table_of(move: MoveData) -> BlockTable:
    """The block table that the case hands over."""
    held = {page for pages in move.others for page in pages}
    taken = held | set(move.pages) | {slot // move.page_size for slot in move.slots}
    free = tuple(page for page in range(move.pool_pages) if page not in taken)
    shared = frozenset(held & set(move.pages))
    return BlockTable(move.pages, move.page_size, move.length, REQUEST, shared, free)


def refuse_misfit(move: MoveData) -> None:
    """A case file may hold anything, and what no decoder could move must not be held against one.

    Raises:
        UsageError: sizes, tables, slots or nodes that do not fit together.
    """
    wrong = next((said for fits, said in _conditions(move) if not fits), None)
    if wrong is not None:
        raise UsageError(f"the case holds no move that can be made: {wrong}")


def _conditions(move: MoveData) -> Iterator[tuple[bool, str]]:
    """What must hold, one after the other, each with what is said if it does not."""
    sizes = (move.page_size, move.pool_pages, move.layers, move.heads, move.width)
    yield min(sizes) >= 1, f"page_size, pool_pages, layers, heads and width are {sizes}; expected at least 1 of each"
    yield min(move.value_width, move.window) >= 0, f"a window of {move.window} and values of {move.value_width}"
    rows, widest = move.page_size * move.pool_pages, max(move.width, move.value_width)
    yield rows * move.layers * move.heads * widest <= _MOST, f"{rows} rows in {move.layers} layers are too many"
    yield len(move.slots) * move.window * move.layers * move.heads * widest <= _MOST, f"{len(move.slots)} nodes"
    pages = [page for table in (move.pages, *move.others) for page in table]
    yield all(0 <= page < move.pool_pages for page in pages), f"pages {pages} of {move.pool_pages}"
    yield len(set(move.pages)) == len(move.pages), f"block table {move.pages} holds a page twice"
    nodes = [0, *move.accepted]
    yield (
        bool(move.slots) and nodes == sorted(set(nodes)),
        f"accepted {move.accepted}; expected ascending, without root",
    )
    yield nodes[-1] < len(move.slots), f"accepted {move.accepted} of {len(move.slots)} nodes"
    due = move.length + len(nodes)
    yield move.length >= 0 and due <= len(move.pages) * move.page_size, f"{due} rows in {len(move.pages)} pages"
    table = table_of(move)
    theirs = {page for other in move.others for page in other}
    taken = set(table.rows(range(move.length)))
    free = [slot for slot in set(move.slots) - taken if 0 <= slot < rows and slot // move.page_size not in theirs]
    yield len(free) == len(move.slots), f"slots {move.slots}; expected different ones that nobody holds"
    written = {table.pages[row // move.page_size] for row in range(move.length, due)}
    yield len(written & table.shared) <= len(table.free), "too few free pages to copy the shared ones to"
    digits = move.heads * min(move.width, move.value_width or move.width)
    packs = rows % 2 == 0 and digits >= _DIGITS and 2 * rows * move.layers < 16**_DIGITS
    yield packs or not move.packed, f"{rows} rows of {digits} elements cannot be packed and told apart"


class Origins:
    """Reads tags: which entry of which pool a row was."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self._homes = {
            row.tobytes(): Place(pool.layer, pool.part, entry)
            for pool in pools
            for entry, row in enumerate(pool.read().astype(np.int64))
        }
        plain = [(pool, pool.read().astype(np.int64)) for pool in pools if not pool.packed]
        self._ranges = [(int(rows.flat[0]), int(rows.flat[-1]), rows.shape[1], pool) for pool, rows in plain]

    def of(self, row: Int[np.ndarray, " elements"]) -> str:
        """In words, what the row holds."""
        home = self._homes.get(np.asarray(row, dtype=np.int64).tobytes())
        if home is not None:
            return f"the row of {home}"
        if not row.any():
            return "zeros"
        parts = list(dict.fromkeys(self._of_element(int(value)) for value in row))
        # Said of the numbers, not of the copy: a sum of two rows may hold a third one's numbers.
        return f"no whole row, but numbers of {' and of '.join(parts[:3])}"

    def _of_element(self, value: int) -> str:
        for first, last, width, pool in self._ranges:
            if first <= value <= last:
                return str(Place(pool.layer, pool.part, (value - first) // width))
        return "no single row"


def _shapes(move: MoveData) -> list[tuple[int, Part, tuple[int, ...], bool]]:
    rows, heads, nodes = move.pool_pages * move.page_size, move.heads, len(move.slots)
    found: list[tuple[int, Part, tuple[int, ...], bool]] = []
    for layer in range(move.layers):
        found.append((layer, Part.KEYS, (rows, heads, move.width), move.packed))
        found.append((layer, Part.VALUES, (rows, heads, move.value_width or move.width), move.packed))
        if move.side:
            found.append((layer, Part.SIDE, (move.pool_pages, move.page_size, move.width), False))
        if move.window:
            found.append((layer, Part.STATE, (REQUESTS, heads, move.width), False))
            found.append((layer, Part.SNAPSHOTS, (nodes, heads, move.width), False))
            found.append((layer, Part.WINDOW, (REQUESTS, move.window, move.width), False))
            found.append((layer, Part.INPUTS, (nodes, move.width), False))
    return found


def _plain(shape: tuple[int, ...], first: int) -> np.ndarray:
    return np.arange(first, first + int(np.prod(shape)), dtype=np.int32).reshape(shape)


def _packed(shape: tuple[int, ...], first: int) -> np.ndarray:
    rows, heads, width = shape
    numbers, places = np.arange(first, first + rows)[:, None], np.arange(heads * width)[None]
    digits = ((numbers >> 4 * (places % _DIGITS)) & 15).astype(np.uint8).reshape(shape)
    return digits[::2] | digits[1::2] << 4
