"""A visibility table as Ascend's fused attention takes it: True means *masked out* there, and an all-true row is no row.

Source: the pages of ``npu_fusion_attention`` and ``npu_fused_infer_attention_score`` in the operators' own documentation
(Ascend/op-plugin, docs/context, read 2026-11). What they ask for and this module holds to:

- polarity: 1 keeps a pair out of the computation, 0 lets it in. That is the inverse of torch's boolean masks.
- sparse_mode 0 (defaultMask) and 1 (allMask) take the whole table (queries, keys). Modes 2 to 4 take a fixed triangle of
  2048 x 2048 and compute the mask from positions: they cannot express a tree, so only 0 and 1 are used here. Under mode 0 of
  the training operator pre_tockens and next_tockens must agree with the table; both stay at their largest value.
- shapes: (Sq, Skv), (1, 1, Sq, Skv), (B, 1, Sq, Skv) and, for training, (B, N, Sq, Skv). The inference operator asks for
  (B, Skv), (B, 1, Skv) or (B, 1, 1, Skv) where Sq is 1. A four-dimensional table with one head fits them all.
- dtype: bool or uint8 (the inference operator takes int8 too); contiguous.
- a row whose entries are all 1 loses precision unless inner_precise asks for the correction of such rows (2), and is not
  allowed at all with variable lengths. A node always sees itself, so such a row is refused: it is no mask of a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from tree_oracle.target.backends.errors import MaskShape

ALL_MASK = 1
HIGH_PRECISION = 0
LARGEST = 2147483647  # of pre_tockens and next_tockens: no limit by distance


class AscendMask(NamedTuple):
    """The mask arguments of one call."""

    atten_mask: Bool[np.ndarray, "b one n t"]  # contiguous, True = masked out
    sparse_mode: int
    inner_precise: int


def ascend_mask(visible: Bool[np.ndarray, "*b n t"]) -> AscendMask:
    """Turn a table of visible pairs into the operator's arguments.

    Args:
        visible: (n, t) or (b, n, t), True where a query may see a key.

    Raises:
        MaskShape: another rank or dtype, no keys, or a row that sees nothing.
    """
    table = np.asarray(visible)
    if table.dtype != np.bool_ or table.ndim not in (2, 3) or 0 in table.shape:
        raise MaskShape(
            f"a table of shape {table.shape} and dtype {table.dtype} is no visibility; expected booleans (n, t) or (b, n, t)"
        )
    rows = table if table.ndim == 3 else table[None]
    empty = np.argwhere(~rows.any(axis=-1))
    if len(empty):
        batch, row = (int(index) for index in empty[0])
        raise MaskShape(
            f"row {row} of sequence {batch} sees no key at all; Ascend's operator has no defined output for such a row, "
            "and a node of a tree sees at least itself"
        )
    return AscendMask(np.ascontiguousarray(~rows[:, None]), sparse_mode=ALL_MASK, inner_precise=HIGH_PRECISION)


def visible_pairs(atten_mask: Bool[np.ndarray, "*b n t"]) -> Bool[np.ndarray, "*b n t"]:
    """Back again: which pairs a mask in the operator's polarity lets in."""
    return ~np.asarray(atten_mask, dtype=bool)
