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

With few heads most pairs of row and column are aimed at by nobody, and among a thousand keys in half precision a bit that
nobody aims at is lost in rounding. So in a case of ``bits`` all rows of a head aim at one column: every node's in turn, and
those of the prefix beside the sizes of tiles (``bit_columns``). Every bit of those columns then moves its row by order one.

All entries are small multiples of 1/4, which every dtype in use holds exactly; so are all products, up to the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from jaxtyping import Float, Int

from tree_oracle.checks.view import branch
from tree_oracle.record import AttendData, Case, UsageError

_AIMS, _GENTLE = 4, 3
_DOMINATING = 12.0  # least score of a target in units of 1: exp(12) is forty times the longest prefix that is drawn
_TILE = (63, 64)
_EDGES = (0, 127, 128, 511, 512, 1023, 1024, 2047, 2048, 4095)  # columns at the edges of tiles
_MOST = 2**24  # numbers in one array: no file makes us run out of memory
_RIGHT_WIDTHS = (16, 64, 128, 192, 256)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one operator is handed, and how to read what it answers."""

    q: Float[np.ndarray, "heads n width"]
    k: Float[np.ndarray, "groups columns width"]
    v: Float[np.ndarray, "groups columns width"]
    classes: Int[np.ndarray, "groups columns"]  # where column j has its 1
    targets: Int[np.ndarray, "heads n"]  # columns

    def group(self, head: int) -> int:
        """The group of keys that a query head reads."""
        return head * len(self.k) // len(self.q)


def inputs_of(case: Case) -> Inputs:
    """The arrays of one case, the same for all of its trees; float32, read-only."""
    return _inputs(msgspec.json.encode(case))


@lru_cache(maxsize=32)
def _inputs(encoded: bytes) -> Inputs:
    case = msgspec.json.decode(encoded, type=Case)
    sizes = case.attend
    assert sizes is not None
    parents = case.trees[0].parents
    n, cached = len(parents), sizes.prefix_len - 1
    codes = _codes(sizes, cached + n)
    classes = np.stack([_classes(n, cached, sizes.width, group) for group in range(sizes.groups)])
    targets = _targets(sizes, parents)
    gentle = [not sizes.bits and head % _AIMS == _GENTLE for head in range(sizes.heads)]
    strength = np.array([_strength(sizes.width, gently=one) for one in gentle], dtype=np.float32)
    own = codes[np.arange(sizes.heads) * sizes.groups // sizes.heads]
    q = strength[:, None, None] * np.take_along_axis(own, targets[:, :, None], axis=1)
    v = np.eye(sizes.width, dtype=np.float32)[classes]
    for made in (q, codes, v, classes, targets):
        made.flags.writeable = False
    return Inputs(q, codes, v, classes, targets)


def refuse_misfit(case: Case) -> None:
    """A case file may hold anything, and what no operator could compute must not be held against one.

    Raises:
        UsageError: sizes that do not fit together.
    """
    sizes = case.attend
    if sizes is None or not case.trees:
        raise UsageError("a case for attend holds no sizes or no tree")
    counts = {len(tree.parents) for tree in case.trees}
    if len(counts) > 1:
        raise UsageError(f"the trees of a case for attend have {sorted(counts)} nodes; expected as many each")
    if min(sizes.prefix_len, sizes.heads, sizes.groups) < 1 or min(sizes.window, sizes.salt) < 0:
        raise UsageError(f"{sizes} holds a size that is too small")
    if sizes.width not in _RIGHT_WIDTHS or sizes.heads % sizes.groups:
        raise UsageError(
            f"heads of width {sizes.width}, {sizes.heads} over {sizes.groups} groups; expected a width of {_RIGHT_WIDTHS} "
            "and a multiple of the groups"
        )
    (n,) = counts
    if sizes.heads * (sizes.prefix_len + n) * max(sizes.width, n) > _MOST:
        raise UsageError(f"{n} rows over {sizes.prefix_len - 1 + n} keys in {sizes.heads} heads are too many")


def _codes(sizes: AttendData, columns: int) -> Float[np.ndarray, "groups columns width"]:
    """+1 and -1 from the bits of a generator whose raw stream never changes."""
    count = sizes.groups * columns * sizes.width
    raw = np.asarray(np.random.PCG64(sizes.salt).random_raw(-(-count // 64)), dtype="<u8")
    bits = np.unpackbits(raw.view(np.uint8), count=count)
    return (2.0 * bits - 1.0).astype(np.float32).reshape(sizes.groups, columns, sizes.width)


def _classes(n: int, cached: int, width: int, group: int) -> Int[np.ndarray, " columns"]:
    """Nodes apart from each other and from the prefix as far as the width allows; every group joins others."""
    nodes = np.arange(n) if n <= width // 2 else (2 * group + 1) * np.arange(n) % width
    first = n if n <= width // 2 else 0
    return np.concatenate([first + (np.arange(cached) + 7 * group) % (width - first), nodes])


def bit_columns(n: int, cached: int) -> list[int]:
    """The columns that the heads of a case of ``bits`` aim at, one each: all nodes, then the edges of tiles before them."""
    edges = {edge for edge in (*_EDGES, *_TILE, cached - 1) if 0 <= edge < cached}
    return [*range(cached, cached + n), *sorted(edges)]


def _targets(sizes: AttendData, parents: tuple[int, ...]) -> Int[np.ndarray, "heads n"]:
    n, cached = len(parents), sizes.prefix_len - 1
    if sizes.bits:
        columns = bit_columns(n, cached)
        return np.repeat([columns[head % len(columns)] for head in range(sizes.heads)], n).reshape(sizes.heads, n)
    return np.array([[_target(head, v, parents, cached, sizes.salt) for v in range(n)] for head in range(sizes.heads)])


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
