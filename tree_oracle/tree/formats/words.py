"""Packed words: TensorRT-LLM's 32-bit words for each query row, and FlexFlow's 64-bit word for each key.

    TensorRT-LLM   int32 [batch, rows, words]; bit j % 32 of word j // 32 of row v: v sees j. Bit 0 is the root.
                   ceil(n / 32) words are needed; a stride in words or rows may be padded (with zeros). 4 n ceil(n / 32) bytes
    FlexFlow       uint64 [n]; bit v of word u: v sees u, that is [key, query]. At most 64 nodes. 8 n bytes

Source: dynamicTreeKernels.cu; batch_config.h. (FlexFlow sets its bits with a 32-bit shift, which is wrong from bit 31 on.) At
n = 33, a budget of 32 and the root, every 32-bit boundary is crossed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of, parents_of
from tree_oracle.tree.formats.batch import Trees
from tree_oracle.tree.formats.bits import pack, unpack
from tree_oracle.tree.formats.field import Field, first_false
from tree_oracle.tree.values import whole_number

_WORD = np.dtype("<i4")
_KEY_WORD = np.dtype("<u8")
_MOST_KEYS = 64
_ROW_WORDS = Field("packed words", "mask")
_KEY_WORDS = Field("key words", "mask")


@dataclass(frozen=True, slots=True, eq=False)
class RowWords:
    """Tokens by request, and int32 ``[batch, rows, words]``; unused rows and words are zero."""

    tokens: tuple[Any, ...]
    mask: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class KeyWords:
    """Tokens and uint64 ``[n]`` of one tree."""

    tokens: Any
    mask: np.ndarray


def words_of(n: int) -> int:
    """The words that a row of n bits needs."""
    return -(-n // 32)


def encode_row_words(trees: Trees, *, rows: int | None = None, words: int | None = None) -> RowWords:
    """The words of a batch; ``rows`` and ``words`` pad beyond the largest tree.

    Raises:
        UsageError: a stride is smaller than the largest tree needs, or there is no tree.
    """
    if not trees:
        raise UsageError("no trees; expected at least one")
    largest = max(map(len, trees))
    rows = whole_number("rows", largest if rows is None else rows, at_least=largest)
    words = whole_number("words", words_of(largest) if words is None else words, at_least=words_of(largest))
    packed = np.zeros((len(trees), rows, 4 * words), dtype=np.uint8)
    for request, tree in enumerate(trees):
        packed[request, : len(tree)] = pack(block_of(tree), 4 * words)
    return RowWords(tuple(tree.tokens for tree in trees), packed.view(_WORD).astype(np.int32))


def decode_row_words(words: RowWords) -> tuple[CandidateTree, ...]:
    """The trees of a batch, their sizes given by their tokens.

    Raises:
        InvalidEncoding: no batch of trees, or a bit outside of one is set.
    """
    tokens = _ROW_WORDS.named("tokens").each(words.tokens)
    mask = _ROW_WORDS.array(words.mask, np.dtype(np.int32), (len(tokens), None, None))
    return tuple(_tree_of_words(one, mask[b], _ROW_WORDS.row(b)) for b, one in enumerate(tokens))


def encode_key_words(tree: CandidateTree) -> KeyWords:
    """One word for each key.

    Raises:
        Unsupported: more than 64 nodes.
    """
    _check_fits(len(tree))
    return KeyWords(tree.tokens, pack(block_of(tree).T, 8).view(_KEY_WORD).ravel().astype(np.uint64))


def decode_key_words(words: KeyWords) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: no tree, or a bit beyond its last node is set.
        Unsupported: more than 64 nodes.
    """
    tokens = _KEY_WORDS.named("tokens").integers(words.tokens, (None,))
    _check_fits(len(tokens))
    mask = _KEY_WORDS.array(words.mask, np.dtype(np.uint64), (len(tokens),))
    rows = mask.astype(_KEY_WORD)[:, None].view(np.uint8)
    keys = unpack(rows, len(tokens), _KEY_WORDS.placed(lambda index: index[:1]), unit=8)
    inside = _KEY_WORDS.placed(lambda index: index[1:])
    return inside.tree(tokens, parents_of(keys.T, inside))


def _tree_of_words(tokens: np.ndarray, mask: np.ndarray, field: Field) -> CandidateTree:
    n, (rows, words) = len(tokens), mask.shape
    if rows < n or words < words_of(n):
        raise field.malformed(None, f"has {rows} rows of {words} words; expected at least {n} of {words_of(n)}")
    unused = first_false(mask[n:] == 0)
    if unused is not None:
        raise field.error((n + unused[0], unused[1]), f"is not 0; expected a padding row, as there are {n} nodes")
    packed = np.ascontiguousarray(mask[:n]).astype(_WORD).view(np.uint8)
    block = unpack(packed, n, field, unit=4)
    inside = field.placed(lambda index: (index[0], index[1] // 32))
    return inside.tree(tokens, parents_of(block, inside))


def _check_fits(n: int) -> None:
    if n > _MOST_KEYS:
        raise Unsupported(f"{n} nodes do not fit a key's word; expected at most {_MOST_KEYS}, the root among them")
