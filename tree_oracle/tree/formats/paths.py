"""Path tables: one row of nodes from the root down, padded with -1.

Medusa's and EAGLE's retrieve_indices, TensorRT-LLM's paths:

    retrieve rows   a row for each leaf      leaves x (deepest depth + 1)
    node paths      a row for each node      n x (deepest depth + 1)

A padded entry, used as an index, takes the last token of whatever it indexes. Medusa appends a token 0 for it to find, which is
also a real token; EAGLE a -1, which is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import LeafOrder, PadToken
from tree_oracle.tree.formats.field import Field

PAD = -1
_PATHS = Field("path table", "rows")
_PAD_TOKENS = {PadToken.ZERO: 0, PadToken.MINUS_ONE: -1}


@dataclass(frozen=True, slots=True, eq=False)
class PathTable:
    """Tokens, and the rows."""

    tokens: Any
    rows: Any


def encode_paths(tree: CandidateTree, order: LeafOrder) -> PathTable:
    """A row for each leaf."""
    return PathTable(tree.tokens, retrieve_rows(tree, order))


def encode_node_paths(tree: CandidateTree) -> PathTable:
    """A row for each node."""
    return PathTable(tree.tokens, path_rows(tree, np.arange(len(tree))))


def decode_paths(table: PathTable) -> CandidateTree:
    """The tree of a table with a row for each leaf, in any order.

    Raises:
        InvalidEncoding: a row does not begin at the root, has a hole, contradicts another or ends above a leaf.
    """
    tree, rows = _tree(table)
    ends = _ends(rows)
    inner = np.isin(ends, tree.parents)
    _refuse_row(~inner, "ends at a node with children; expected a leaf")
    again = np.ones(len(ends), dtype=np.bool_)
    again[np.unique(ends, return_index=True)[1]] = False
    _refuse_row(~again, "ends where an earlier row ends; expected each leaf once")
    return tree


def decode_node_paths(table: PathTable) -> CandidateTree:
    """The tree of a table with a row for each node, in slot order.

    Raises:
        InvalidEncoding: as for ``decode_paths``, or row v does not end at node v.
    """
    tree, rows = _tree(table)
    if len(rows) != len(tree):
        raise _PATHS.malformed(None, f"has {len(rows)} rows; expected {len(tree)}, one for each token")
    _refuse_row(_ends(rows) == np.arange(len(tree)), "does not end at its own node")
    return tree


def retrieve_rows(tree: CandidateTree, order: LeafOrder) -> Int[np.ndarray, "leaves depth"]:
    """The path to each leaf."""
    rows = path_rows(tree, np.array(tree.leaves))
    if order is LeafOrder.REVERSED:
        return rows[::-1].copy()
    if order is LeafOrder.SORTED:  # no row is the beginning of another, so where padding sorts decides nothing
        return rows[np.lexsort(rows.T[::-1])]
    return rows


def path_rows(tree: CandidateTree, ends: Int[np.ndarray, " rows"]) -> Int[np.ndarray, "rows depth"]:
    """The path to each of these nodes, padded to one more than the tree's depth."""
    rows = np.full((len(ends), tree.max_depth + 1), PAD, dtype=np.int64)
    here, depths = ends.copy(), tree.depths[ends]
    for depth in range(tree.max_depth, -1, -1):
        on = depths >= depth
        rows[on, depth] = here[on]
        here[on] = tree.parents[here[on]]
    return rows


def gathered(
    tokens: Int[np.ndarray, " n"], rows: Int[np.ndarray, "rows depth"], pad: PadToken
) -> Int[np.ndarray, "rows depth"]:
    """The tokens on each path, and what the system's padding finds."""
    found: Int[np.ndarray, "rows depth"] = np.append(tokens, _PAD_TOKENS[pad])[rows]
    return found


def _tree(table: PathTable) -> tuple[CandidateTree, Int[np.ndarray, "rows depth"]]:
    tokens = _PATHS.named("tokens").integers(table.tokens, (None,))
    rows = _PATHS.integers(table.rows, (None, None))
    n = len(tokens)
    if not rows.size or not n:
        raise _PATHS.malformed(None, f"has shape {rows.shape} for {n} tokens; expected a path from the root, node 0")
    _PATHS.check((rows >= PAD) & (rows < n), rows, f"a node from 0 to {n - 1}, or -1 after the end")
    _PATHS.check(rows[:, :1] == 0, rows, "0, the root")
    after_end = np.logical_or.accumulate(rows == PAD, axis=1)
    _PATHS.check(~after_end | (rows == PAD), rows, "-1, as the row has ended")
    return _PATHS.tree(tokens, _parents_of(rows, n)), rows


def _parents_of(rows: Int[np.ndarray, "rows depth"], n: int) -> Int[np.ndarray, " n"]:
    above, below = rows[:, :-1], rows[:, 1:]
    real = below != PAD
    parents = np.full(n, -1, dtype=np.int64)
    # Of several rows through one node the last one written stays; that they agree is what the next line asks.
    parents[below[real]] = above[real]
    wrong = np.argwhere(real & ((parents[below] != above) | (below <= above)))
    if len(wrong):
        row, column = (int(side) for side in wrong[0])
        node, parent = int(below[row, column]), int(above[row, column])
        raise _PATHS.error(
            (row, column + 1), f"is {node}, below {parent}; expected a later node that is below {parent} in every row"
        )
    lost = np.flatnonzero(parents[1:] < 0)
    if len(lost):
        raise _PATHS.error(None, f"never reaches node {lost[0] + 1}; expected every node on a path")
    return parents


def _ends(rows: Int[np.ndarray, "rows depth"]) -> Int[np.ndarray, " rows"]:
    ends: Int[np.ndarray, " rows"] = rows[np.arange(len(rows)), (rows != PAD).sum(axis=1) - 1]
    return ends


def _refuse_row(right: np.ndarray, detail: str) -> None:
    if not right.all():
        raise _PATHS.error((int((~right).argmax()),), detail)
