"""The scene ``wide``: layouts as large as the words, bytes and tiles that masks are kept in, asked for one after another.

A tree of seven nodes fits one byte, one word and one tile, and hides every fault in how these are joined. Sizes stand on both
sides of 8, 16, 32 and 64, and a smaller tree may follow a larger one, whose buffers it may find. Trees are stored level by
level with at most eight siblings, which every encoding can hold; the node in the middle holds token 0, which some take for
padding.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.checks.scenes import spread_prefix
from tree_oracle.record import Case, TreeData

_SIBLINGS = 8
_STEP = 7  # from token to token; no two of eight neighbours are equal in any vocabulary of 60 or more
_LISTED = (
    ((1, 8), 1),
    ((9, 8), 2),
    ((16, 17), 9),
    ((31, 32), 33),
    ((33, 32), 1),
    ((33, 65), 9),
    ((64, 31), 8),
    ((65, 2), 7),
)  # nodes of each tree, committed tokens


def _parents(n: int, salt: int) -> tuple[int, ...]:
    """Level by level, some nodes without children."""
    parents = [-1]
    for node in range(1, n):
        wanted = max(parents[-1], node - 1 - (node * node + salt) % 5, 0)
        parents.append(wanted + (parents.count(wanted) >= _SIBLINGS))
    return tuple(parents)


def _tree(stage: Stage, root: int, n: int, salt: int) -> TreeData:
    tokens = [_STEP * (node - n // 2) % stage.vocab_size for node in range(1, n)]
    return TreeData((root, *tokens), _parents(n, salt))


def _case(stage: Stage, sizes: tuple[int, ...], length: int, salt: int, note: str = "") -> Case:
    prefix = spread_prefix(stage, length, salt)
    return Case(prefix=prefix, trees=tuple(_tree(stage, prefix[-1], n, salt) for n in sizes), note=note)


def _listed(stage: Stage) -> list[Case]:
    return [
        _case(stage, sizes, length, salt, f"{sizes[0]} nodes, then {sizes[1]}, after {length} tokens")
        for salt, (sizes, length) in enumerate(_LISTED)
    ]


def _drawn(draw: st.DrawFn, stage: Stage) -> Case:
    sizes = draw(st.integers(1, 70)), draw(st.integers(1, 70))
    return _case(stage, sizes, draw(st.integers(1, 40)), draw(st.integers(0, 4)))


WIDE = Scene("wide", _listed, st.composite(_drawn), trees=range(2, 3), drawn=_drawn)
