"""What the size of an encoding depends on, and the size of each of its parts in entries.

Parts are counted apart, because they grow apart: a dense candidate block with the square of the nodes, a prefix block with
nodes times cached tokens, packed words with nodes times ``ceil(n / 32)``, intervals and parent lists with the nodes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.words import words_of


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The numbers that formulas use, of one request."""

    n: int  # nodes, the root among them
    cached: int  # tokens of the prefix without the root
    leaves: int
    levels: int  # deepest depth + 1
    inner: int  # nodes with children
    edges_on_paths: int  # the sum of all depths
    nodes_to_leaves: int  # the sum over the leaves of depth + 1


@dataclass(frozen=True, slots=True)
class Part:
    """Entries of one field, or of one side of it, for one request that is not padded."""

    field: str
    formula: str
    entries: Callable[[TreeShape], int]


def shape_of(tree: CandidateTree, prefix_len: int) -> TreeShape:
    """The shape of a tree after a prefix."""
    leaves = np.array(tree.leaves)
    return TreeShape(
        n=len(tree),
        cached=prefix_len - 1,
        leaves=len(leaves),
        levels=tree.max_depth + 1,
        inner=len(tree) - len(leaves),
        edges_on_paths=int(tree.depths.sum()),
        nodes_to_leaves=int((tree.depths[leaves] + 1).sum()),
    )


def each_node(field: str, less: int = 0) -> Part:
    """One entry a node, or a candidate."""
    return Part(field, "n" if not less else f"n - {less}", lambda shape: shape.n - less)


def candidate_block(field: str) -> Part:
    """The dense square: fourfold when n doubles."""
    return Part(field, "n^2", lambda shape: shape.n**2)


def prefix_block(field: str) -> Part:
    """The dense columns of cached tokens."""
    return Part(field, "n c", lambda shape: shape.n * shape.cached)


def packed_words(field: str) -> Part:
    """32-bit words by row."""
    return Part(field, "n ceil(n / 32)", lambda shape: shape.n * words_of(shape.n))


def leaf_rows(field: str) -> Part:
    """A padded row for each leaf."""
    return Part(field, "leaves levels", lambda shape: shape.leaves * shape.levels)


def node_rows(field: str) -> Part:
    """A padded row for each node."""
    return Part(field, "n levels", lambda shape: shape.n * shape.levels)


def ranks(field: str) -> Part:
    """The ranks on every path."""
    return Part(field, "sum of depths", lambda shape: shape.edges_on_paths)
