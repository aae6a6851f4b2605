"""Commits in shared pools: trees whose accepted path is scattered, in pages that are scattered too, among other requests.

A tree and the node where its path ends are drawn, then where things lie: page size, rows held before, the order of the pages,
whether the round's slots follow the request's rows or lie in pages of their own, and whether another request shares the page
that is written. Shrinks to a root alone in a page of one row.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tree_oracle.record import MoveData, UsageError
from tree_oracle.strategies.scripted import scripted_trees

PAGE_SIZES = (1, 16, 64, 128)
_HELD = 2  # pages that the longest drawn request fills
_ORDERS = 16  # pages whose order is drawn: enough for a request of page size 1


def placed(
    parents: Sequence[int],
    goal: int,
    *,
    page_size: int = 1,
    length: int = 0,
    order: Sequence[int] = (),
    apart: bool = False,
    shared: bool = False,
    **more: int | bool,
) -> MoveData:
    """The commit of the path to ``goal`` for a request of ``length`` rows.

    Args:
        parents: the tree, root first.
        goal: the last accepted node.
        page_size: rows in a page.
        length: rows of the request before the round.
        order: says in which order page numbers are given away; any integers.
        apart: the nodes were written to pages of their own, in reverse, and not to the rows behind the request's.
        shared: another request holds the first page that is written, so the nodes were written apart. Needs a page of two
            rows, and a request that does not end with a page.
        more: further fields of ``MoveData``.

    Raises:
        UsageError: nothing can be shared.
    """
    if shared and length % page_size == 0:
        raise UsageError(f"a request of {length} rows in pages of {page_size} ends with a page; no page is half shared")
    nodes, path = len(parents), _path(parents, goal)
    own, away = -(-(length + nodes) // page_size), -(-nodes // page_size)
    foreign = min(own, 2)
    count = own + foreign + away + 2
    numbers = _shuffled(count + count % 2, order)  # an even number, for rows that are packed in pairs
    pages, theirs, scratch = numbers[:own], numbers[own : own + foreign], numbers[own + foreign : own + foreign + away]
    rows = [
        page * page_size + offset for page in (scratch if apart or shared else pages) for offset in range(page_size)
    ]
    slots = rows[:nodes][::-1] if apart or shared else rows[length : length + nodes]
    others = (
        ((*pages[: length // page_size], pages[length // page_size]), tuple(theirs)) if shared else (tuple(theirs),)
    )
    return MoveData(
        page_size=page_size, pool_pages=len(numbers), pages=tuple(pages), length=length, slots=tuple(slots),
        accepted=tuple(path), others=others, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def draw_move(draw: st.DrawFn, *, recurrent: bool = False) -> MoveData:
    """One commit, draw by draw; with recurrent layers if asked for."""
    tree = draw(scripted_trees(vocab_size=2))
    page_size = draw(st.sampled_from(PAGE_SIZES))
    length = draw(st.integers(0, _HELD * page_size))
    shared = draw(st.booleans()) and length % page_size > 0
    return placed(
        tree.parents,
        tree.goal,
        page_size=page_size,
        length=length,
        order=draw(st.permutations(range(_ORDERS))),
        apart=draw(st.booleans()),
        shared=shared,
        layers=draw(st.integers(1, 2)),
        heads=draw(st.integers(1, 3)),
        width=draw(st.integers(4, 5)),
        value_width=draw(st.sampled_from((0, 4, 6))),
        side=draw(st.booleans()),
        packed=draw(st.booleans()),
        window=draw(st.integers(1, 4)) if recurrent else 0,
    )


def move_data(*, recurrent: bool = False) -> st.SearchStrategy[MoveData]:
    """Commits as from ``placed``; with recurrent layers if asked for."""

    @st.composite
    def drawn(draw: st.DrawFn) -> MoveData:
        return draw_move(draw, recurrent=recurrent)

    return drawn()


def _path(parents: Sequence[int], goal: int) -> list[int]:
    found: list[int] = []
    while goal > 0:
        found.append(goal)
        goal = parents[goal]
    return found[::-1]


def _shuffled(count: int, order: Sequence[int]) -> list[int]:
    """The numbers below ``count``, those in ``order`` first and the rest from the last to the first."""
    first = [number for number in dict.fromkeys(order) if 0 <= number < count]
    return [*first, *(number for number in reversed(range(count)) if number not in first)]
