"""Wrong ways for an attention operator to keep and read its mask, and detours to the right one.

Each takes the table that is due and gives the one that is read in its place. What an operator computes from that is ordinary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tree_oracle.decoder.attention import Attend, AttentionLayout, Heads, Visible, masked
from tree_oracle.tree import CandidateTree

Read = Callable[[CandidateTree, int, AttentionLayout], Visible]

_COVERED = 512  # columns that the mask is applied to
_TILE = 16
_WIDEST = 32  # columns that a row of the kept mask has room for at least
_WORD = 8


def through(read: Read) -> Attend:
    """The reference operator, with its mask read in this way."""

    def attend(q: Heads, k: Heads, v: Heads, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Heads:
        return masked(q, k, v, read(tree, prefix_len, layout))

    return attend


def open_past_512(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: columns from 512 on are seen by everybody."""
    visible = layout.visible.copy()
    visible[:, _COVERED:] = True
    return visible


def in_two_parts(q: Heads, k: Heads, v: Heads, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Heads:
    """Twin: the columns before 512 and those after it are attended to apart and put together by their weights."""
    parts = [slice(0, _COVERED), slice(_COVERED, None)] if layout.visible.shape[1] > _COVERED else [slice(None)]
    scores = q @ np.repeat(k, len(q) // len(k), axis=0).transpose(0, 2, 1) / np.float32(np.sqrt(q.shape[-1]))
    scores = np.where(layout.visible, scores, np.finfo(np.float32).min)
    values, top = np.repeat(v, len(q) // len(v), axis=0), scores.max(axis=-1, keepdims=True)
    weights = [np.exp(scores[..., part] - top) for part in parts]
    sums = sum(weight @ values[:, part] for weight, part in zip(weights, parts, strict=True))
    return np.asarray(sums / sum(weight.sum(axis=-1, keepdims=True) for weight in weights))


def tiles_below_open(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: a tile that lies below the diagonal as a whole is taken to be visible, as it is under a causal mask."""
    visible, cached = layout.visible.copy(), prefix_len - 1
    for first in range(_TILE, len(visible), _TILE):
        visible[first : first + _TILE, cached : cached + first] = True
    return visible


def tile_by_tile(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: the mask is put together tile by tile."""
    visible = np.zeros_like(layout.visible)
    for row in range(0, visible.shape[0], _TILE):
        for column in range(0, visible.shape[1], _TILE):
            tile = np.s_[row : row + _TILE, column : column + _TILE]
            visible[tile] = layout.visible[tile]
    return visible


def window_by_slot(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: the window is counted in columns, as if every node lay one position after the slot before it."""
    return _windowed(tree, prefix_len, layout, prefix_len - 1 + np.arange(len(tree)))


def window_by_depth(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: the window is counted in depths."""
    return _windowed(tree, prefix_len, layout, prefix_len - 1 + tree.depths)


def _windowed(tree: CandidateTree, prefix_len: int, layout: AttentionLayout, places: np.ndarray) -> Visible:
    """Ancestors and the prefix, cut by a window over these places."""
    columns = np.concatenate([np.arange(prefix_len - 1), places])
    nodes = tree.ancestors | np.eye(len(tree), dtype=np.bool_)
    every = np.concatenate([np.ones((len(tree), prefix_len - 1), dtype=np.bool_), nodes], axis=1)
    return every & (places[:, None] - columns[None, :] < layout.window) if layout.window else every


def stride_of_the_widest(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: rows are written one behind the other and read with the stride of the widest mask."""
    written = np.zeros(_room(layout), dtype=np.bool_)
    written.ravel()[: layout.visible.size] = layout.visible.ravel()
    return written[:, : layout.visible.shape[1]]


def padded_to_the_widest(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: rows are written and read with the stride of the widest mask."""
    written = np.zeros(_room(layout), dtype=np.bool_)
    written[:, : layout.visible.shape[1]] = layout.visible
    return written[:, : layout.visible.shape[1]]


def _room(layout: AttentionLayout) -> tuple[int, int]:
    """Rows and columns of the buffer: a whole number of the widest row's units, and one more than fits exactly."""
    rows, columns = layout.visible.shape
    return rows, (columns // _WIDEST + 1) * _WIDEST


def bits_from_whole_bytes(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: rows are packed one bit after the other, and each is read from the byte that its first bit lies in."""
    rows, columns = layout.visible.shape
    packed = np.packbits(layout.visible.ravel())
    starts = [row * columns // _WORD for row in range(rows)]
    return np.stack([np.unpackbits(packed[start:])[:columns] for start in starts]).astype(np.bool_)


def bits_from_their_offset(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: rows are packed one bit after the other and read from the bit that they begin with."""
    rows, columns = layout.visible.shape
    bits = np.unpackbits(np.packbits(layout.visible.ravel()))
    return bits[: rows * columns].reshape(rows, columns).astype(np.bool_)


def diagonal_left_out(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: no node sees itself; the root of a prefix of one token sees nothing, and averages over everything."""
    return np.asarray(layout.visible & ~_diagonal(layout, prefix_len))


def diagonal_put_back(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: the diagonal is left out and put back."""
    return np.asarray(diagonal_left_out(tree, prefix_len, layout) | _diagonal(layout, prefix_len))


def _diagonal(layout: AttentionLayout, prefix_len: int) -> Visible:
    rows, columns = layout.visible.shape
    return np.eye(rows, columns, k=prefix_len - 1, dtype=np.bool_)


def stopped_at_the_row(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: the loop over keys ends at the row's own number, counted from the first key instead of the first node."""
    return np.tril(layout.visible)


def stopped_at_the_node(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: the loop over keys ends at the node's own column; no ancestor is stored behind it."""
    return np.tril(layout.visible, k=prefix_len - 1)


class KeptMask:
    """Fault: the mask of the call before is read again while its shape is the same."""

    def __init__(self) -> None:
        self._kept = np.zeros((0, 0), dtype=np.bool_)

    def __call__(self, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
        if self._kept.shape != layout.visible.shape:
            self._kept = layout.visible.copy()
        return self._kept


class RewrittenMask:
    """Twin: the buffer of the call before is used again while its shape is the same, and written anew."""

    def __init__(self) -> None:
        self._kept = np.zeros((0, 0), dtype=np.bool_)

    def __call__(self, tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
        if self._kept.shape != layout.visible.shape:
            self._kept = np.zeros_like(layout.visible)
        self._kept[...] = layout.visible
        return self._kept
