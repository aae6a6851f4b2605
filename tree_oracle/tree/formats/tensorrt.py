"""TensorRT-LLM's tensors: packed mask words, position offsets and the path to each node, all padded to the widest request.

    mask        int32 [batch, rows, words]          see ``words``
    offsets     int32 [batch, rows]                 depth; the engine adds the past length. Padding: 0
    paths       int32 [batch, rows, depth + 1]      node indices from the root down, padded with -1; padding rows all -1

A decoder reads the tree off the mask and refuses the others where they differ. Source: dynamic_tree_ops, spec_tree_manager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.batch import Trees
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.paths import PAD, path_rows
from tree_oracle.tree.formats.words import RowWords, decode_row_words, encode_row_words

_OFFSETS = Field("TensorRT-LLM tensors", "offsets")
_PATHS = Field("TensorRT-LLM tensors", "paths")


@dataclass(frozen=True, slots=True, eq=False)
class TensorrtTensors:
    """Tokens by request, and the three tensors of the batch."""

    tokens: tuple[Any, ...]
    mask: np.ndarray
    offsets: Any
    paths: Any


def encode_tensorrt(trees: Trees, *, rows: int | None = None, words: int | None = None) -> TensorrtTensors:
    """The tensors of a batch; ``rows`` and ``words`` pad beyond the largest tree.

    Raises:
        UsageError: a stride is smaller than the largest tree needs.
    """
    packed = encode_row_words(trees, rows=rows, words=words)
    return TensorrtTensors(packed.tokens, packed.mask, *_side_tables(trees, packed.mask.shape[1]))


def decode_tensorrt(tensors: TensorrtTensors) -> tuple[CandidateTree, ...]:
    """The trees of a batch.

    Raises:
        InvalidEncoding: the mask is no batch of trees, or offsets or paths are not theirs.
    """
    trees = decode_row_words(RowWords(tensors.tokens, tensors.mask))
    offsets, paths = _side_tables(trees, tensors.mask.shape[1])
    _OFFSETS.same(_OFFSETS.integers(tensors.offsets, offsets.shape), offsets)
    _PATHS.same(_PATHS.integers(tensors.paths, paths.shape), paths)
    return trees


def _side_tables(trees: Trees, rows: int) -> tuple[np.ndarray, np.ndarray]:
    deepest = max((tree.max_depth for tree in trees), default=0)
    offsets = np.zeros((len(trees), rows), dtype=np.int32)
    paths = np.full((len(trees), rows, deepest + 1), PAD, dtype=np.int32)
    for request, tree in enumerate(trees):
        offsets[request, : len(tree)] = tree.depths
        paths[request, : len(tree), : tree.max_depth + 1] = path_rows(tree, np.arange(len(tree)))
    return offsets, paths
