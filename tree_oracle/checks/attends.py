"""The scene ``attends``: trees over made-up keys, in sizes on both sides of what attention kernels dispatch on.

Rows stand beside 1, 2, 8, 16, 32, 64, 128 and 256, keys beside 128, 512, 1,024 and 2,048; the width of a head, how heads share
keys and windows change along. Of large sizes few are listed, since they cost most: every size alone is met, every pair is not.
Each case of more than two nodes holds two trees that differ in one node's parent. Every listed size is there twice: with rows
that aim at single keys, and balanced over all of them, so that every bit of its mask is alive (``attend_aimed`` and
``attend_balanced``). Drawn cases are of either kind.
"""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.record import AttendData, Case, TreeData

_SIBLINGS = 4
_HEADS = ((4, 2), (4, 1), (4, 4), (8, 2))
# Of drawn cases, beside all small sizes: around words, tiles and blocks.
_ROWS = (63, 64, 65, 127, 129)
_CACHED = (503, 511, 512, 1020, 2041, 4090, 4096)
_TOKENS = 50  # no operator looks at them; every target has so many
_LARGE = 10_000  # pairs of row and key, from which on a case has two heads only
# Rows, then keys in all; the tree's columns are the last of them. Windows where there is a third number.
_LISTED = (
    (8, 129), (1, 1), (1, 130), (2, 2), (2, 128), (9, 40), (16, 527), (17, 20), (17, 530), (9, 60, 6), (32, 1025), (33, 48, 9),
    (33, 131), (64, 513), (65, 127), (128, 140), (129, 260), (256, 300), (9, 2050),
)  # fmt: skip
# Balanced alone: a mask of the prefix has bits of 0 under a window only, and only balanced cases tell them in half precision.
_WINDOWED = ((17, 1025, 700), (65, 300, 129))


def _parents(n: int, salt: int) -> list[int]:
    """Trees with branches of all lengths; every third is stored depth first, so that siblings stand far apart."""
    if salt % 3 == 2:
        return [-1, *(max(0, node - 1 - (node * 7 + salt) % 6 * (node % 3 == 0)) for node in range(1, n))]
    parents = [-1]
    for node in range(1, n):
        wanted = max(parents[-1], node - 1 - (node * node + salt) % 7, 0)
        parents.append(wanted + (parents.count(wanted) >= _SIBLINGS))
    return parents


def _case(n: int, keys: int, window: int, salt: int, shared: int, *, bits: bool = False, width: int = 64) -> Case:
    heads, groups = _HEADS[shared % len(_HEADS)] if n * keys < _LARGE else (2, 1)
    first = _parents(n, salt)
    trees = [first]
    if n > 2:
        moved = 2 + salt % (n - 2)
        second = list(first)
        second[moved] = next(p for p in range(moved) if p != first[moved])
        trees.append(second)
    attend = AttendData(
        prefix_len=keys - n + 1, heads=heads, groups=groups, width=width, window=window, salt=salt, bits=bits
    )
    tokens = tuple(node % _TOKENS for node in range(n))
    note = "every bit of " * bits + f"{n} nodes over {keys} keys" + (f" in a window of {window}" if window else "")
    return Case(prefix=(0,), trees=tuple(TreeData(tokens, tuple(tree)) for tree in trees), attend=attend, note=note)


def _listed(stage: Stage) -> list[Case]:
    aimed, balanced = [], []
    for salt, (n, keys, *window) in enumerate((*_LISTED, *_WINDOWED)):
        width = (64, 128)[salt % 5 == 4]
        make = partial(_case, n, keys, window[0] if window else 0, salt, salt, width=width)
        aimed += [make()] if salt < len(_LISTED) else []
        balanced.append(make(bits=True))
    return [*aimed, *balanced]


def _drawn(draw: st.DrawFn, stage: Stage) -> Case:
    n = draw(st.integers(1, 40) | st.sampled_from(_ROWS))
    cached = draw(st.integers(0, 140) | st.sampled_from(_CACHED))
    window = draw(st.integers(1, 24)) if draw(st.booleans()) else 0
    shared = draw(st.integers(0, len(_HEADS) - 1)) if n * (cached + n) < _LARGE else 0
    salt = draw(st.integers(0, 99))
    case = _case(n, cached + n, window, salt, shared, bits=bool(salt % 2))
    return Case(prefix=case.prefix, trees=case.trees, attend=case.attend)


ATTENDS = Scene("attends", _listed, st.composite(_drawn), trees=range(1, 3), attended=True, heavy=True, drawn=_drawn)
