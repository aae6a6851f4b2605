"""From visible sets back to parents, whatever the storage order.

A node sees its ancestors and itself, so it sees depth + 1 nodes, and its parent is the deepest other node that it sees.
A square of bits is the visible block of a tree exactly if

    every node sees itself,  one node sees nothing else,  visible[v] = visible[parent(v)] + {v} for every other v.

The last line makes depth fall by one along each parent pointer, so that all of them lead to the one root.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import Field, first_false


def block_of(tree: CandidateTree) -> Bool[np.ndarray, "n n"]:
    """``[v, u]`` is true where v sees u: the candidate block, without the prefix."""
    block: Bool[np.ndarray, "n n"] = tree.ancestors | np.eye(len(tree), dtype=np.bool_)
    return block


def parents_of(block: Bool[np.ndarray, "n n"], field: Field) -> Int[np.ndarray, " n"]:
    """The parents of the nodes in storage order; -1 for the root, which may stand anywhere.

    Raises:
        InvalidEncoding: the block is no tree's. The index is [query, key].
    """
    if not len(block):
        raise field.malformed(None, "has no rows; expected at least the root's")
    _check_selves(block, field)
    depths = block.sum(axis=1, dtype=np.int32) - 1
    root = _root_of(depths, field)
    seen = np.where(block, depths, np.int32(-1))
    np.fill_diagonal(seen, -1)
    parents: Int[np.ndarray, " n"] = seen.argmax(axis=1).astype(np.int64)
    parents[root] = -1
    _check_rows(block, parents, depths, field)
    return parents


def _check_selves(block: Bool[np.ndarray, "n n"], field: Field) -> None:
    blind = first_false(block.diagonal())
    if blind is not None:
        raise field.error((*blind, *blind), "is hidden; expected a node to see itself")


def _root_of(depths: Int[np.ndarray, " n"], field: Field) -> int:
    roots = np.flatnonzero(depths == 0)
    if not len(roots):
        raise field.error(None, "has no row that sees only itself; expected exactly one, the root's")
    if len(roots) > 1:
        raise field.error((int(roots[1]), int(roots[0])), "is hidden; expected every node to see the one root")
    return int(roots[0])


def _check_rows(
    block: Bool[np.ndarray, "n n"], parents: Int[np.ndarray, " n"], depths: Int[np.ndarray, " n"], field: Field
) -> None:
    nodes = np.arange(len(block))
    expected = block[parents]
    expected[parents < 0] = False
    expected[nodes, nodes] = True
    wrong = first_false(block == expected)
    if wrong is not None:
        seen, node = ("visible", "hidden") if block[wrong] else ("hidden", "visible"), wrong[0]
        raise field.error(wrong, f"is {seen[0]}; expected {seen[1]}, as for node {parents[node]}, the deepest it sees")
    mutual = first_false((parents < 0) | (depths[parents] == depths - 1))
    if mutual is not None:
        node = mutual[0]
        raise field.error((node, int(parents[node])), "is visible both ways; expected ancestors not to look back")
