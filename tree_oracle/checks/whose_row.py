"""Whose row stands where another is due in a cache: of the round's nodes, the one whose own row it is.

Asked on the exact model alone, where no two rows are equal by accident and none is off by rounding.
"""

from __future__ import annotations

import numpy as np

from tree_oracle.checks.view import View, branch
from tree_oracle.record import LayerRows, Round

_MOST_NODES = 64  # of a tree that is looked through: each costs a plain run


def whose_row(view: View, round_: Round, layer: int, part: str, row: int) -> str:
    """``it is the row of node 2, token 17``; empty where the row is no node's, or the tree is not shown or large.

    Args:
        layer, part: which ``keys`` or ``values``.
        row: of those that are shown, counted from 0.
    """
    tokens, parents, prefix, cache = round_.tokens, round_.parents, round_.prefix, round_.cache
    if not view.truth.exact or not (tokens and parents and prefix and cache) or len(tokens) > _MOST_NODES:
        return ""
    seen = _part(cache[layer], part)[..., row, :]
    for node, token in enumerate(tokens):
        history = (*prefix[:-1], *(tokens[v] for v in branch(parents, node)))
        if np.array_equal(_part(view.truth.cache(history)[layer], part)[..., -1, :], seen):
            return f"it is the row of node {node}, token {token}"
    return ""


def _part(layer: LayerRows, part: str) -> np.ndarray:
    return np.asarray((layer.keys if part == "keys" else layer.values).numpy())
