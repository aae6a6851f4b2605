"""Small trees of unequal shape, on which conventions tell themselves apart, and what is right on them by definition.

Depths are unequal and slots scattered, so that slot and depth, a mask and its inverse or its transpose, and a node's row and
its parent's all differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from tree_oracle.checks.view import branch
from tree_oracle.record import TreeData, Truth

PREFIX = (7, 8, 9, 3)
TREE = TreeData((3, 1, 2, 4, 5, 6), (-1, 0, 0, 2, 1, 3))
SMALL = ((PREFIX, TREE), ((11, 12), TreeData((12, 4, 9, 5, 8), (-1, 0, 1, 0, 2))))


def due_positions(prefix: Sequence[int], tree: TreeData) -> tuple[int, ...]:
    """One position per node."""
    return tuple(len(prefix) - 2 + len(branch(tree.parents, node)) for node in range(len(tree.parents)))


def due_mask(prefix: Sequence[int], tree: TreeData) -> Bool[np.ndarray, "n columns"]:
    """The prefix without the root, then the nodes: each sees its own branch."""
    count, cached = len(tree.parents), len(prefix) - 1
    due = np.ones((count, cached + count), dtype=np.bool_)
    for node in range(count):
        due[node, cached:] = [v in branch(tree.parents, node) for v in range(count)]
    return due


def nearest_rows(rows: Float[np.ndarray, "n vocab"], prefix: Sequence[int], tree: TreeData, truth: Truth) -> list[int]:
    """Of each row, the node whose true row lies nearest to it; -1 for the row before the root's. No tolerance is asked for."""
    ways = [branch(tree.parents, node)[1:] for node in range(len(tree.parents))]
    texts = [tuple(prefix[:-1]), *((*prefix, *(tree.tokens[v] for v in way)) for way in ways)]
    due = np.asarray(truth.rows(texts), dtype=np.float64)
    away = np.abs(np.asarray(rows, dtype=np.float64)[:, None] - due[None]).max(axis=2)
    return [int(found) - 1 for found in away.argmin(axis=1)]
