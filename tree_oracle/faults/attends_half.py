"""An attention operator in bfloat16, and single bits of its mask that are dead.

Among some hundred keys one bit is less than a step of rounding in half precision, unless a case is made to show it.
"""

from __future__ import annotations

import numpy as np
import torch

from tree_oracle.decoder.attention import AttentionLayout, Heads, Visible
from tree_oracle.faults.attends import Read
from tree_oracle.target.backends import kernel_named
from tree_oracle.tree import CandidateTree

_COLUMN, _NODE = 77, 40  # at no tile's edge


class InHalf:
    """Eager attention in bfloat16, with its mask read in this way."""

    dtype = "bfloat16"

    def __init__(self, read: Read) -> None:
        self._read = read

    def __call__(
        self, q: Heads, k: Heads, v: Heads, tree: CandidateTree, prefix_len: int, layout: AttentionLayout
    ) -> Heads:
        """Attention in bfloat16."""
        queries, keys, values = (torch.from_numpy(given.copy())[None].bfloat16() for given in (q, k, v))
        visible = torch.from_numpy(self._read(tree, prefix_len, layout).copy())
        out = kernel_named("eager").attend(queries, keys, values, visible, float(q.shape[-1]) ** -0.5)[0]
        return np.asarray(out.float().numpy())


def as_laid_out(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Twin: the table as it is."""
    return layout.visible


def prefix_column_hidden(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: column 77 of the prefix is seen by nobody."""
    visible = layout.visible.copy()
    if prefix_len - 1 > _COLUMN:
        visible[:, _COLUMN] = False
    return visible


def prefix_column_open(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: column 77 of the prefix is seen by everybody, also from behind a window."""
    visible = layout.visible.copy()
    if prefix_len - 1 > _COLUMN:
        visible[:, _COLUMN] = True
    return visible


def node_bit_open(tree: CandidateTree, prefix_len: int, layout: AttentionLayout) -> Visible:
    """Fault: node 40 is seen by its successor by slot, whether that is its child or not."""
    visible = layout.visible.copy()
    if len(tree) > _NODE + 1:
        visible[_NODE + 1, prefix_len - 1 + _NODE] = True
    return visible
