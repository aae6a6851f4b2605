"""MOVE: the commit in pools that several requests share, judged on made-up integers.

Law (``move(accepted, slots, block_table, pools)``): with k = 1 + len(accepted), the request of ``length`` rows then holds
``length + k``: the old ones, then what the pool rows of the root and the accepted path held, in every layer, in keys, values
and side buffers. Nothing else that anybody holds changes. A row is looked up through the block table that the request then
has, so that a decoder may move rows, or leave them where they are and change the table. Every element of every pool is
tagged with its place, so a wrong copy is read off, on any device, and none of it is rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.moved import Seen, seen_moves
from tree_oracle.checks.moves import MOVES
from tree_oracle.checks.say import NothingToJudge, fail, listing
from tree_oracle.checks.tags import Place
from tree_oracle.checks.view import View
from tree_oracle.decoder.caches.pools import PER_TOKEN
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Status, counted

_SOURCES = (Source(Seam.MOVE, MOVES),)
_CLASSES = "fault classes KV-MOVE and ROLLBACK"


@check("MOVE-01", rung=1, needs=("pools",), sources=_SOURCES, source=_CLASSES)
def the_path_follows_the_old_rows(view: View) -> Iterator[Finding]:
    """After a move the request's rows after the old ones are those of the root and the accepted path, in every pool.

    Woken by accepted slots that are scattered, one of them equal to the destination of another rank, and by a branch that
    crosses a page. Real causes: keys moved and values not, one layer or side buffer left out, a row that was overwritten
    before it was read, the stride or element size of another pool.
    """
    for index, seen in seen_moves(view):
        if not seen.has_room:
            yield fail(
                f"the block table names page {seen.unknown[0]}, which the pools do not have"
                if seen.unknown
                else f"the block table {listing(seen.pages)} has no room for {counted(seen.due, 'row')}",
                expected=f"at least {-(-seen.due // seen.move.page_size)} of the pages 0 to {seen.move.pool_pages - 1}",
                seen=f"{counted(len(seen.pages), 'page')} of {counted(seen.move.page_size, 'row')}",
                round=index,
            )
            return
        written = [f", where node {node} was written" for node in seen.nodes]
        yield from _first_wrong_row(seen, index, seen.move.length, seen.sources, written)


@check("MOVE-02", rung=1, needs=("pools",), sources=_SOURCES, source=_CLASSES)
def the_old_rows_stay(view: View) -> Iterator[Finding]:
    """After a move the request's old rows are what they were, in every pool, also where a page was exchanged for a copy.

    What nobody holds, such as the slots of rejected nodes, may change. Woken by destinations that lie beside old rows.
    Real causes: a copy that begins a row early, a fresh page that was not filled, a neighbour that shares the byte.
    """
    for index, seen in seen_moves(view):
        _need_room(seen)
        old = seen.table.rows(range(seen.move.length))
        yield from _first_wrong_row(seen, index, 0, old, [", its place before"] * len(old))


def _first_wrong_row(seen: Seen, index: int, first: int, sources: list[int], reasons: list[str]) -> Iterator[Finding]:
    """The first of the request's rows from ``first`` on that does not hold what the source held before."""
    places = seen.rows()[first:]
    for pool, before, after in seen.of(*PER_TOKEN):
        for row, (place, source) in enumerate(zip(places, sources, strict=False)):
            if not np.array_equal(after[place], before[source]):
                held = seen.origin(after[place])
                yield fail(
                    f"{Place(pool.layer, pool.part, place)} (row {first + row} of the request) holds {held}",
                    expected=f"the row of {Place(pool.layer, pool.part, source)}{reasons[row]}",
                    seen=f"{held}; from row {first} on the request's rows are slots {listing(places)}",
                    round=index,
                )
                return


def _need_room(seen: Seen) -> None:
    if not seen.has_room:
        raise NothingToJudge(Status.NOT_APPLICABLE, "the block table has no place for the rows; see MOVE-01")


@check("MOVE-03", rung=1, needs=("pools",), sources=_SOURCES, source="fault classes KV-MOVE and BATCH")
def other_requests_stay(view: View) -> Iterator[Finding]:
    """A move changes no page that another request holds, shared pages included: those are copied before they are written.

    Woken by a last page that two requests share, as after a fork, and by packed rows whose neighbour belongs to somebody
    else. Real causes: no copy on write, page numbers of another request, both halves of a byte written for one row.
    """
    for index, seen in seen_moves(view):
        watched = _rows_of_others(seen)
        for pool, before, after in seen.of(*PER_TOKEN):
            changed = [row for row in watched if not np.array_equal(after[row], before[row])]
            if changed:
                yield fail(
                    f"{Place(pool.layer, pool.part, changed[0])}, a row of another request, was changed",
                    expected="what it held before",
                    seen=f"{seen.origin(after[changed[0]])}; changed slots {listing(changed)}",
                    round=index,
                )
                return


def _rows_of_others(seen: Seen) -> list[int]:
    size = seen.move.page_size
    held = sorted({page for pages in seen.move.others for page in pages})
    return [page * size + offset for page in held for offset in range(size)]


@check("MOVE-04", rung=1, needs=("pools", "length"), sources=_SOURCES, source="fault class ROLLBACK")
def the_request_grows_by_the_path(view: View) -> Iterator[Finding]:
    """After a move the request holds one row more for the root and one for each accepted node.

    Woken by one rejected node. Real causes: a trim that is a no-op or one row off, rejected rows that are zeroed and stay.
    """
    for index, seen in seen_moves(view):
        length, path = view.rounds[index].length or 0, seen.move.accepted
        if length != seen.due:
            yield fail(
                f"the request holds {counted(length, 'row')} after the move",
                expected=f"{seen.due}: {seen.move.length} old ones, the root and {counted(len(path), 'accepted node')}",
                seen=f"{counted(length, 'row')}, after {counted(len(seen.move.slots), 'node')} had been written",
                round=index,
            )
            return
