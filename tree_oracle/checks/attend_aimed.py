"""Queries, keys and values from which an output says exactly whom a row looked at.

Values are one-hot: column j holds 1 at its *class*, so an output row holds the weight that went to every class, and its
entries sum to 1. Nodes have a class each while the head is wide enough; the prefix shares the rest. Keys are codes of +1 and
-1, one per column, and a query is a multiple of one column's code, its *target*: the score of the target is then far above all
others, and it takes nearly all weight whenever the row sees it, at any length of the prefix. What a head's rows aim at goes by
its number:

    0  a column that the row must not see: one leak takes the whole row
    1  a column on the row's own branch: a lost ancestor empties the row
    2  a column of the prefix, those beside the sizes of tiles first
    3  as 0, but gently, so that all keys keep a part

Most pairs of row and column are aimed at by nobody, and among a thousand keys in half precision a bit that nobody aims at is
lost in rounding: for those there are the balanced cases (``attend_balanced``).

All entries are small multiples of 1/4, which every dtype in use holds exactly; so are all products, up to the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.checks.attend_arrays import Inputs, raw_bits
from tree_oracle.checks.view import branch
from tree_oracle.record import AttendData

_AIMS, _GENTLE = 4, 3
_DOMINATING = 12.0  # least score of a target in units of 1: exp(12) is forty times the longest prefix that is drawn
_EDGES = (0, 127, 128, 511, 512, 1023, 1024, 2047, 2048, 4095)  # columns at the edges of tiles


@dataclass(frozen=True, slots=True)
class Aimed(Inputs):
    """Inputs whose every output names the keys behind it."""

    classes: Int[np.ndarray, "groups columns"]  # where column j has its 1
    targets: Int[np.ndarray, "heads n"]  # columns


def aimed(sizes: AttendData, parents: tuple[int, ...]) -> Aimed:
    """The arrays over the first tree's nodes."""
    n, cached = len(parents), sizes.prefix_len - 1
    codes = _codes(sizes, cached + n)
    classes = np.stack([_classes(n, cached, sizes.width, group) for group in range(sizes.groups)])
    rows = [[_target(head, v, parents, cached, sizes.salt) for v in range(n)] for head in range(sizes.heads)]
    targets = np.array(rows)
    gentle = [head % _AIMS == _GENTLE for head in range(sizes.heads)]
    strength = np.array([_strength(sizes.width, gently=one) for one in gentle], dtype=np.float32)
    own = codes[np.arange(sizes.heads) * sizes.groups // sizes.heads]
    q = strength[:, None, None] * np.take_along_axis(own, targets[:, :, None], axis=1)
    classes.flags.writeable = targets.flags.writeable = False
    return Aimed(q, codes, np.eye(sizes.width, dtype=np.float32)[classes], classes, targets)


def _codes(sizes: AttendData, columns: int) -> Float[np.ndarray, "groups columns width"]:
    bits = raw_bits(sizes.salt, sizes.groups * columns * sizes.width)
    return (2.0 * bits - 1.0).astype(np.float32).reshape(sizes.groups, columns, sizes.width)


def _classes(n: int, cached: int, width: int, group: int) -> Int[np.ndarray, " columns"]:
    """Nodes apart from each other and from the prefix as far as the width allows; every group joins others."""
    nodes = np.arange(n) if n <= width // 2 else (2 * group + 1) * np.arange(n) % width
    first = n if n <= width // 2 else 0
    return np.concatenate([first + (np.arange(cached) + 7 * group) % (width - first), nodes])


def _target(head: int, node: int, parents: tuple[int, ...], cached: int, salt: int) -> int:
    """The column that a row aims at."""
    mine = branch(parents, node)
    turn = salt + 3 * (head // _AIMS) + node
    aim = head % _AIMS
    if aim == 2 and cached:
        edges = [edge for edge in (*_EDGES, cached - 1) if edge < cached]
        return edges[turn % len(edges)] if turn % 2 else (turn * 37) % cached
    others = [other for other in range(len(parents)) if other not in mine]
    if aim in (0, _GENTLE) and others:
        return cached + others[turn * 5 % len(others)]
    return cached + mine[turn % len(mine)]


def _strength(width: int, *, gently: bool) -> float:
    """A power of two, so that the query is exact: the score of a target is at least ``_DOMINATING``, or an eighth of it."""
    full = 2.0 ** np.ceil(np.log2(_DOMINATING / np.sqrt(width)))
    return float(full / 4 if gently else full)
