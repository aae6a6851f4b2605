"""Wrong ways to pack a tree into the buffers of an encoding, and detours to the right one.

Each writes the document of one request. What is right comes from the reference encoder and is spoilt where the fault is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree import CandidateTree, lay_out
from tree_oracle.tree.formats import (
    FORMATS,
    DenseMask,
    EagleBuffers,
    KeyWords,
    LinkIndex,
    Links,
    ParentList,
    SegmentMask,
    SglangMask,
    TensorrtTensors,
    encode_links,
    encode_tensorrt,
)

_TILE = 16  # rows and columns of a mask that a kernel looks at together


def _right(name: str, tree: CandidateTree, prefix_len: int) -> Any:
    (document,) = FORMATS[name].encode([tree], [prefix_len])
    return document


def _nodes(tree: CandidateTree) -> Bool[np.ndarray, "n n"]:
    return lay_out(tree, 1).visible.copy()


def _dense(tree: CandidateTree, prefix_len: int, nodes: Bool[np.ndarray, "n n"]) -> DenseMask:
    """The boolean mask with these bits over the nodes."""
    document: DenseMask = _right("bool", tree, prefix_len)
    mask = document.mask.copy()
    mask[0, :, prefix_len - 1 :] = nodes
    return replace(document, mask=mask)


def stride_of_widest(tree: CandidateTree, prefix_len: int) -> TensorrtTensors:
    """Fault: rows are written as far apart as the widest tree needs, and read as far as this one needs."""
    document = word_rows_padded(tree, prefix_len)
    needed = -(-len(tree) // 32)
    mask = document.mask.reshape(-1)[: len(tree) * needed].reshape(1, len(tree), needed)
    return replace(document, mask=mask)


def word_rows_padded(tree: CandidateTree, prefix_len: int) -> TensorrtTensors:
    """Twin: rows are padded with a word, and the shape says so."""
    return encode_tensorrt([tree], words=-(-len(tree) // 32) + 1)


def rows_at_bytes(tree: CandidateTree, prefix_len: int) -> SegmentMask:
    """Fault: every row begins at a byte of its own, although only the request does."""
    document: SegmentMask = _right("flashinfer", tree, prefix_len)
    rows = np.packbits(lay_out(tree, prefix_len).visible, axis=1, bitorder="little").reshape(-1)
    return replace(document, packed=np.ascontiguousarray(rows[: len(document.packed)]))


def bits_carried(tree: CandidateTree, prefix_len: int) -> SegmentMask:
    """Twin: rows are added to one long number, each where the one before it ends."""
    document: SegmentMask = _right("flashinfer", tree, prefix_len)
    visible = lay_out(tree, prefix_len).visible
    number = sum(int(bit) << place for place, bit in enumerate(visible.reshape(-1).tolist()))
    packed = np.frombuffer(number.to_bytes(len(document.packed), "little"), dtype=np.uint8)
    return replace(document, packed=packed.copy())


def shift_of_32_bits(tree: CandidateTree, prefix_len: int) -> KeyWords:
    """Fault: bits of 64-bit words are made by shifting a 32-bit 1: bit 31 is a sign, and later ones begin anew."""

    def bit(query: int) -> int:
        shifted = 1 << (query % 32)
        return shifted - (1 << 32) if shifted >> 31 else shifted

    return KeyWords(tree.tokens, _key_words(tree, bit))


def shift_of_64_bits(tree: CandidateTree, prefix_len: int) -> KeyWords:
    """Twin: the same with a 1 of 64 bits."""
    return KeyWords(tree.tokens, _key_words(tree, lambda query: 1 << query))


def _key_words(tree: CandidateTree, bit: Any) -> np.ndarray:
    words = [0] * len(tree)
    for query, key in np.argwhere(_nodes(tree)).tolist():
        words[key] |= bit(query)
    return np.array([word & (2**64 - 1) for word in words], dtype=np.uint64)


def polarity_flipped(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Fault: where true hides, true is written for what is seen."""
    document: DenseMask = _right("bool-hides", tree, prefix_len)
    return replace(document, mask=~document.mask)


def hidden_then_shown(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Twin: everything is hidden, then what is seen is shown."""
    document: DenseMask = _right("bool-hides", tree, prefix_len)
    mask = np.ones_like(document.mask)
    mask[0][lay_out(tree, prefix_len).visible] = False
    return replace(document, mask=mask)


def rows_for_keys(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Fault: where keys come first, queries are written first."""
    document: DenseMask = _right("block-by-key", tree, prefix_len)
    return replace(document, mask=_nodes(tree)[None])


def descendants_of_keys(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Twin: for each key, the nodes below it and itself are written."""
    document: DenseMask = _right("block-by-key", tree, prefix_len)
    mask = np.zeros((1, len(tree), len(tree)), dtype=np.bool_)
    for node in range(len(tree)):
        mask[0, list(tree.path(node)), node] = True
    return replace(document, mask=mask)


def root_counted(tree: CandidateTree, prefix_len: int) -> ParentList:
    """Fault: where the root is not listed, parents are still numbered with it."""
    return ParentList(tree.tokens, tree.parents[1:].copy())


def root_taken_off(tree: CandidateTree, prefix_len: int) -> ParentList:
    """Twin: parents are numbered with the root, and every number is then one less."""
    return ParentList(tree.tokens, (tree.parents - 1)[1:])


def last_sibling_linked(tree: CandidateTree, prefix_len: int) -> Links:
    """Fault: each child is noted as the first of its parent, so the last one stays, and no link leads to the others."""
    document = encode_links([tree], LinkIndex.LOCAL)
    first = np.full((1, len(tree)), -1, dtype=np.int64)
    for node in range(1, len(tree)):
        first[0, tree.parents[node]] = node
    return replace(document, next_token=first)


def first_sibling_linked_last(tree: CandidateTree, prefix_len: int) -> Links:
    """Twin: the same from the last node to the first."""
    document = encode_links([tree], LinkIndex.LOCAL)
    first = np.full((1, len(tree)), -1, dtype=np.int64)
    for node in range(len(tree) - 1, 0, -1):
        first[0, tree.parents[node]] = node
    return replace(document, next_token=first)


def paths_padded_with_root(tree: CandidateTree, prefix_len: int) -> EagleBuffers:
    """Fault: short rows of the path table are padded with 0, which is the root, and gather its token."""
    document: EagleBuffers = _right("eagle", tree, prefix_len)
    rows = document.retrieve_indices
    return replace(document, retrieve_indices=np.where(rows == -1, 0, rows))


def paths_cut_after_padding(tree: CandidateTree, prefix_len: int) -> EagleBuffers:
    """Twin: rows are padded to as many columns as there are nodes and cut to the longest."""
    document: EagleBuffers = _right("eagle", tree, prefix_len)
    rows = document.retrieve_indices
    padded = np.full((len(rows), len(tree) + 1), -1, dtype=np.int64)
    padded[:, : rows.shape[1]] = rows
    return replace(document, retrieve_indices=padded[:, : rows.shape[1]].copy())


def causal_in_token_order(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Fault: nodes are stored by token, below a causal mask: ancestors that come later are lost."""
    return _dense(tree, prefix_len, _below_causal(tree, np.argsort(tree.tokens, kind="stable")))


def causal_in_level_order(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Twin: nodes are stored by depth and then by token, below a causal mask."""
    return _dense(tree, prefix_len, _below_causal(tree, np.lexsort((tree.tokens, tree.depths))))


def _below_causal(tree: CandidateTree, order: Int[np.ndarray, " n"]) -> Bool[np.ndarray, "n n"]:
    """The mask of nodes that are stored in this order below a causal mask, told by their own slots again."""
    stored = _nodes(tree)[np.ix_(order, order)] & np.tri(len(tree), dtype=np.bool_)
    back = np.argsort(order)
    told: Bool[np.ndarray, "n n"] = stored[np.ix_(back, back)]
    return told


def prefix_with_root(tree: CandidateTree, prefix_len: int) -> SglangMask:
    """Fault: rows are as long as if the root were cached too, so each begins a place later than the one before it."""
    document: SglangMask = _right("sglang-full", tree, prefix_len)
    rows = _with_column_of_root(tree, prefix_len)
    return replace(document, mask=np.ascontiguousarray(rows.reshape(-1)[: len(document.mask)]))


def column_of_root_dropped(tree: CandidateTree, prefix_len: int) -> SglangMask:
    """Twin: the column too many is dropped before the rows are joined."""
    document: SglangMask = _right("sglang-full", tree, prefix_len)
    return replace(document, mask=np.delete(_with_column_of_root(tree, prefix_len), prefix_len - 1, axis=1).reshape(-1))


def _with_column_of_root(tree: CandidateTree, prefix_len: int) -> Bool[np.ndarray, "n columns"]:
    return np.hstack([np.ones((len(tree), prefix_len), dtype=np.bool_), _nodes(tree)])


def counted_by_token(tree: CandidateTree, prefix_len: int) -> SglangMask:
    """Fault: nodes are counted by tokens that are not 0, which pads."""
    return _first_nodes(tree, int((tree.tokens != 0).sum()))


def counted_by_no_token(tree: CandidateTree, prefix_len: int) -> SglangMask:
    """Twin: nodes are counted by tokens that are not -1, which is none."""
    return _first_nodes(tree, int((tree.tokens != -1).sum()))


def _first_nodes(tree: CandidateTree, count: int) -> SglangMask:
    return SglangMask(tree.tokens[None, :count].copy(), _nodes(tree)[:count, :count].reshape(-1).copy())


def tiles_below_taken_as_full(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Fault: tiles that lie wholly below the diagonal are taken to be visible, as below a causal mask."""
    return _dense(tree, prefix_len, _tiles(tree, lambda tile: np.ones_like(tile)))


def full_tiles_skipped(tree: CandidateTree, prefix_len: int) -> DenseMask:
    """Twin: of the tiles that lie wholly below the diagonal those are taken to be visible that are."""
    return _dense(tree, prefix_len, _tiles(tree, lambda tile: tile | tile.all()))


def _tiles(tree: CandidateTree, below: Any) -> Bool[np.ndarray, "n n"]:
    nodes = _nodes(tree)
    for row in range(_TILE, len(tree), _TILE):
        for column in range(0, row, _TILE):
            tile = np.s_[row : row + _TILE, column : column + _TILE]
            nodes[tile] = below(nodes[tile])
    return nodes
