"""Whose row stands where another is due in a cache: of the round's nodes, those whose own row it is.

Asked on the exact model alone, where no two rows are equal by accident and none is off by rounding. Nodes with one token at one
position have one row in a first layer, and are named together.
"""

from __future__ import annotations

import numpy as np

from tree_oracle.checks.say import either
from tree_oracle.checks.view import View, branch, shown
from tree_oracle.record import LayerRows, Round

_MOST_NODES = 64  # of a tree that is looked through: each costs a plain run


def whose_row(view: View, round_: Round, layer: int, part: str, row: int) -> str:
    """``it is the row of node 2, token 17``, of all that fit; empty where it is no node's, or no small tree is shown.

    Args:
        layer, part: which ``keys`` or ``values``.
        row: of those that are shown, counted from 0.
    """
    tokens, parents, prefix, cache = round_.tokens, round_.parents, round_.prefix, round_.cache
    if not view.truth.exact or not (tokens and parents and prefix and cache) or len(tokens) > _MOST_NODES:
        return ""
    seen = _part(cache[layer], part)[..., row, :]
    fits = [node for node in range(len(tokens)) if np.array_equal(_of(view, round_, node, layer, part), seen)]
    return f"it is the row of node {either(fits)}, token {either(sorted({tokens[v] for v in fits}))}" if fits else ""


def _of(view: View, round_: Round, node: int, layer: int, part: str) -> np.ndarray:
    """The node's own row in a cache."""
    prefix, tokens, parents = shown(round_)
    history = (*prefix[:-1], *(tokens[v] for v in branch(parents, node)))
    return np.asarray(_part(view.truth.cache(history)[layer], part)[..., -1, :])


def _part(layer: LayerRows, part: str) -> np.ndarray:
    return np.asarray((layer.keys if part == "keys" else layer.values).numpy())
