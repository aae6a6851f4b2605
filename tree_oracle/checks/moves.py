"""The scenes ``moves`` and ``states``: one commit in pools of made-up integers. No target is asked.

A kernel takes another way with another page size, so every size that real ones dispatch on is there with every condition
that wakes a fault: a scattered path, a slot that is the destination of another rank, a branch that crosses a page, nodes
that were written elsewhere, a page that is shared, packed rows with neighbours, values wider than keys, a side buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import listed_shapes, note_of
from tree_oracle.checks.shapes import SHAPES, Shape
from tree_oracle.record import Case, MoveData
from tree_oracle.record.names import by_name
from tree_oracle.strategies import draw_move, placed
from tree_oracle.strategies.moves import PAGE_SIZES

_BY_NAME = by_name(SHAPES)
_SCATTERED = (
    (_BY_NAME["an accepted slot equal to a later rank"], 4),
    (_BY_NAME["a short branch stored between the nodes of a long one"], 5),
)
# Heads, width of keys, width of values where it is another.
_SIZES = ((2, 4, 0), (1, 4, 6), (3, 5, 4), (4, 1, 0))
_ORDER = (5, 2, 7, 0, 3, 6, 1, 4)  # of pages, so that no two pages of a request are neighbours


def _commit(number: int, shape: Shape, goal: int, page_size: int, length: int, **more: int | bool) -> MoveData:
    heads, width, value_width = _SIZES[number % len(_SIZES)]
    sizes = {"heads": heads, "width": width, "value_width": value_width, "layers": 2, "side": number % 2 == 0}
    return placed(
        shape.parents,
        goal,
        page_size=page_size,
        length=length,
        order=_ORDER,
        **{**sizes, **more},  # type: ignore[arg-type]
    )


def _scattered() -> Iterator[tuple[str, MoveData]]:
    """Every condition with every page size; the request ends a row before a page does, so the branch crosses it."""
    every = list(enumerate((size, pair) for pair in _SCATTERED for size in PAGE_SIZES))
    for number, (size, (shape, goal)) in every:
        yield f"pages of {size}, across a page", _commit(number, shape, goal, size, _before_end(size))
    for number, (size, (shape, goal)) in every:
        yield f"pages of {size}, written apart", _commit(number, shape, goal, size, _before_end(size), apart=True)
    for number, (size, (shape, goal)) in every:
        yield f"pages of {size}, packed", _commit(number, shape, goal, size, _before_end(size) - 1, packed=True)
    for number, (size, (shape, goal)) in every:
        if size > 1:
            yield f"pages of {size}, one shared", _commit(number, shape, goal, size, _before_end(size), shared=True)


def _before_end(page_size: int) -> int:
    return max(2 * page_size - 1, 3)


def _shapes(**more: int | bool) -> Iterator[tuple[str, MoveData]]:
    for number, (shape, goal) in enumerate(listed_shapes()):
        page_size = PAGE_SIZES[number % len(PAGE_SIZES)]
        length = (0, page_size, page_size - 1, 1, 2 * page_size + 1)[number % 5]
        yield f"pages of {page_size}, {note_of(shape, goal)}", _commit(number, shape, goal, page_size, length, **more)


def _cases(commits: Iterator[tuple[str, MoveData]]) -> list[Case]:
    return [Case(prefix=(0,), move=move, note=note) for note, move in commits]


def _listed_moves(stage: Stage) -> list[Case]:
    return _cases(_scattered()) + _cases(_shapes())


def _listed_states(stage: Stage) -> list[Case]:
    return [case for window in (3, 1) for case in _cases(_shapes(window=window))]


def _drawn_moves(draw: st.DrawFn, stage: Stage) -> Case:
    return Case(prefix=(0,), move=draw_move(draw))


def _drawn_states(draw: st.DrawFn, stage: Stage) -> Case:
    return Case(prefix=(0,), move=draw_move(draw, recurrent=True))


MOVES = Scene("moves", _listed_moves, st.composite(_drawn_moves), trees=range(1), moved=True, drawn=_drawn_moves)
STATES = Scene("states", _listed_states, st.composite(_drawn_states), trees=range(1), moved=True, drawn=_drawn_states)
