"""SGLang's three masks: flat with prefix columns, flat without, and packed in bytes. True attends, [query, key].

With c_b cached tokens and n nodes in every request of the batch, as one flat array:

    FULL         request b is n rows of c_b + n, from n (c_0 + ... + c_(b-1)) + n^2 b on      n (sum c + batch n) entries
    QLEN_ONLY    request b is n rows of n                                                   batch n^2 entries
    BITPACKING   row v is 1, 2 or 4 bytes, lowest bit the root; at most 32 nodes            batch n bytes, times 1, 2 or 4

Source: sgl-kernel eagle_utils.cu and packbit.cu. A batch of ragged prefixes makes only FULL ragged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Any

import numpy as np
from jaxtyping import Bool

from tree_oracle.record import Unsupported
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of, parents_of
from tree_oracle.tree.formats.batch import Trees, cached_of, common_size, token_rows
from tree_oracle.tree.formats.bits import pack, unpack
from tree_oracle.tree.formats.field import Field, first_false
from tree_oracle.tree.formats.invalid import Index

_MASK = Field("SGLang mask", "mask")
_BYTES = (1, 2, 4)
_MOST_BITS = 8 * _BYTES[-1]


class SglangLayout(Enum):
    """Which of the three, under SGLang's names."""

    FULL = "FULL_MASK"
    QLEN_ONLY = "QLEN_ONLY"
    BITPACKING = "QLEN_ONLY_BITPACKING"


@dataclass(frozen=True, slots=True, eq=False)
class SglangMask:
    """Tokens ``[batch, n]`` and the flat mask, bool or uint8."""

    tokens: Any
    mask: np.ndarray


def row_bytes(n: int) -> int:
    """The bytes of a packed row.

    Raises:
        Unsupported: more nodes than a row has bits.
    """
    if n > _MOST_BITS:
        raise Unsupported(f"{n} nodes do not fit a packed row; expected at most {_MOST_BITS}, the root among them")
    return next(width for width in _BYTES if n <= 8 * width)


def encode_sglang_mask(trees: Trees, prefix_lens: Sequence[int], layout: SglangLayout) -> SglangMask:
    """The mask of a batch.

    Raises:
        UsageError: trees of different sizes, or not one prefix length of at least 1 for each.
        Unsupported: more than 32 nodes are to be packed.
    """
    n, cached = common_size(trees), cached_of(prefix_lens, len(trees))
    tokens = np.stack([tree.tokens for tree in trees])
    if layout is SglangLayout.BITPACKING:
        width = row_bytes(n)
        return SglangMask(tokens, np.concatenate([pack(block_of(tree), width).ravel() for tree in trees]))
    columns = cached if layout is SglangLayout.FULL else [0] * len(trees)
    rows = [np.hstack([np.ones((n, c), np.bool_), block_of(t)]) for t, c in zip(trees, columns, strict=True)]
    return SglangMask(tokens, np.concatenate([one.ravel() for one in rows]))


def decode_sglang_mask(mask: SglangMask, prefix_lens: Sequence[int], layout: SglangLayout) -> tuple[CandidateTree, ...]:
    """The trees of a batch.

    Raises:
        InvalidEncoding: the mask is no batch of trees after these prefixes; the index is one into the flat array.
        UsageError: not one prefix length of at least 1 for each request.
        Unsupported: more than 32 nodes are said to be packed.
    """
    tokens = token_rows(_MASK.named("tokens"), mask.tokens)
    cached = cached_of(prefix_lens, len(tokens))
    if layout is SglangLayout.BITPACKING:
        blocks = _packed_blocks(mask.mask, len(tokens), tokens.shape[1])
    else:
        blocks = _flat_blocks(mask.mask, cached if layout is SglangLayout.FULL else [0] * len(cached), tokens.shape[1])
    fields = [field for _, field in blocks]
    return tuple(fields[b].tree(row, parents_of(*blocks[b]), request=b) for b, row in enumerate(tokens))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of one request stand in the flat array: ``stride`` entries each, ``per_entry`` columns in each."""

    start: int
    stride: int
    prefix: int = 0
    per_entry: int = 1

    def place(self, index: Index) -> Index:
        return (self.start + index[0] * self.stride + (self.prefix + index[1]) // self.per_entry,)


_Block = tuple[Bool[np.ndarray, "n n"], Field]


def _packed_blocks(mask: Any, requests: int, n: int) -> list[_Block]:
    width = row_bytes(n)
    rows = _MASK.array(mask, np.dtype(np.uint8), (requests * n * width,))
    blocks = unpack(rows.reshape(-1, width), n, _MASK.placed(_Rows(0, width).place)).reshape(requests, n, n)
    places = [_Rows(request * n * width, width, per_entry=8).place for request in range(requests)]
    return [(block, _MASK.placed(place)) for block, place in zip(blocks, places, strict=True)]


def _flat_blocks(mask: Any, cached: Sequence[int], n: int) -> list[_Block]:
    starts = list(accumulate((n * (c + n) for c in cached), initial=0))
    flat = _MASK.array(mask, np.dtype(np.bool_), (starts[-1],))
    blocks = []
    for start, stop, c in zip(starts, starts[1:], cached, strict=False):
        rows = flat[start:stop].reshape(n, c + n)
        hidden = first_false(rows[:, :c])
        if hidden is not None:
            raise _MASK.placed(_Rows(start, c + n).place).error(hidden, "is False; expected True for a cached token")
        blocks.append((rows[:, c:], _MASK.placed(_Rows(start, c + n, c).place)))
    return blocks
