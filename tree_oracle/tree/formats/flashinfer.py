"""flashinfer's packed custom mask: the bits of one request after another, each ended at a whole byte.

Request b with c_b cached tokens and n_b nodes is a mask of n_b rows and c_b + n_b columns, true where a row attends,
flattened row by row and packed lowest bit first into ceil(n_b (c_b + n_b) / 8) bytes. ``indptr[b]`` is its first byte. Rows do
not begin at bytes, so it is q * kv, not q or kv, that must miss a multiple of 8 to show a wrong stride.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int32, UInt8

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of, parents_of
from tree_oracle.tree.formats.batch import Trees, cached_of
from tree_oracle.tree.formats.bits import pack, unpack
from tree_oracle.tree.formats.field import Field, first_false
from tree_oracle.tree.formats.invalid import Index

_MASK = Field("flashinfer mask", "packed")


@dataclass(frozen=True, slots=True, eq=False)
class SegmentMask:
    """Tokens by request, the packed bytes of all requests, and where each begins (with the end of the last)."""

    tokens: tuple[Any, ...]
    packed: UInt8[np.ndarray, " bytes"]
    indptr: Int32[np.ndarray, " requests_and_one"]


def encode_segments(trees: Trees, prefix_lens: Sequence[int]) -> SegmentMask:
    """The mask of a batch, ragged in trees and prefixes.

    Raises:
        UsageError: not one prefix length of at least 1 for each tree; more bytes than an int32 counts.
    """
    parts = [_segment(tree, c) for tree, c in zip(trees, cached_of(prefix_lens, len(trees)), strict=True)]
    ends = np.cumsum([0, *map(len, parts)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise UsageError(
            f"the mask has {ends[-1]} bytes; expected at most {np.iinfo(np.int32).max}, as indptr is int32"
        )
    return SegmentMask(tuple(tree.tokens for tree in trees), np.concatenate(parts), ends.astype(np.int32))


def decode_segments(mask: SegmentMask, prefix_lens: Sequence[int]) -> tuple[CandidateTree, ...]:
    """The trees of a batch.

    Raises:
        InvalidEncoding: no batch of trees after these prefixes; the index is that of a byte.
        UsageError: not one prefix length of at least 1 for each request.
    """
    tokens = _MASK.named("tokens").each(mask.tokens)
    cached = cached_of(prefix_lens, len(tokens))
    sizes = [-(-len(one) * (c + len(one)) // 8) for one, c in zip(tokens, cached, strict=True)]
    starts = np.cumsum([0, *sizes])
    field = _MASK.named("indptr")
    field.same(field.integers(mask.indptr, (len(tokens) + 1,)), starts)
    packed = _MASK.array(mask.packed, np.dtype(np.uint8), (int(starts[-1]),))
    return tuple(
        _tree(request, one, c, packed[start:end], int(start))
        for request, (one, c, start, end) in enumerate(zip(tokens, cached, starts[:-1], starts[1:], strict=True))
    )


def _segment(tree: CandidateTree, cached: int) -> UInt8[np.ndarray, " bytes"]:
    bits = np.hstack([np.ones((len(tree), cached), np.bool_), block_of(tree)]).ravel()
    return pack(bits, -(-len(bits) // 8))


def _tree(request: int, tokens: np.ndarray, cached: int, packed: np.ndarray, start: int) -> CandidateTree:
    n, columns = len(tokens), cached + len(tokens)

    def place(index: Index) -> Index:
        return (start + (index[0] * columns + index[1]) // 8,)

    bits = unpack(packed, n * columns, _MASK.placed(lambda index: (start + index[0],))).reshape(n, columns)
    hidden = first_false(bits[:, :cached])
    if hidden is not None:
        raise _MASK.placed(place).error(hidden, f"hides cached token {hidden[1]} from node {hidden[0]}")
    inside = _MASK.placed(lambda index: place((index[0], cached + index[1])))
    return inside.tree(tokens, parents_of(bits[:, cached:], inside), request=request)
