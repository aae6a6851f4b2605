"""Positions and masks that follow a usual other convention, in words: the same of a layout that was asked for and of rounds.

positions   one too large, since the prefix was counted with a token more; or offsets from the root
mask        the opposite of what is due in every cell
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.record import TreeData
from tree_oracle.run.small_trees import due_mask, due_positions


def positions_hint(positions: Int[np.ndarray, " n"], prefix: Sequence[int], tree: TreeData) -> str:
    """What the positions of a tree's nodes seem to follow; empty where they are right, or nothing tells conventions apart."""
    due = np.array(due_positions(prefix, tree))
    if len(due) < 2 or positions.shape != due.shape:
        return ""
    away = set((positions - due).tolist())
    if away == {1}:
        return "positions are one too large: the root is the last token of the prefix and sits at its length - 1"
    if away == {1 - len(prefix)} != {0}:
        return "positions are offsets from the root: add the length of the prefix - 1"
    return ""


def is_inverted(visible: Bool[np.ndarray, "n columns"], prefix: Sequence[int], tree: TreeData) -> bool:
    """Whether each node is shown to see just what it should not."""
    return np.array_equal(~visible, due_mask(prefix, tree))


def inverted_words(advice: str) -> str:
    """What is said of that; ``advice``: how to state the mask instead."""
    return f"the mask is stated with the wrong polarity: {advice}"
