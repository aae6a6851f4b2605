"""What makes two arrays a tree: one root, every other node with a parent, every node below the root.

With in-range parents and exactly one root, a node is not below the root exactly when its chain of parents ends in a
cycle. Doubling the parent pointer k times follows 2^k parents at once, so a cycle costs log2(n) vector operations to
find, in any storage order and at any depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.tree.invalid import InvalidTree, TreeFault
from tree_oracle.tree.values import Integers, Reals, first, integers, reals, shown, whole_number

NO_PARENT = -1


class TreeArrays(NamedTuple):
    """The arrays of a valid tree, read-only, in the order they were stored."""

    tokens: Int[np.ndarray, " n"]
    parents: Int[np.ndarray, " n"]
    edge_log_probs: Float[np.ndarray, " n"] | None


def validated(
    tokens: Integers,
    parents: Integers,
    edge_log_probs: Reals | None,
    vocab_size: int | None,
    distinct_siblings: bool,
) -> TreeArrays:
    """The arrays of a tree in any storage order.

    Raises:
        InvalidTree: any fault except PARENT_AFTER_CHILD.
        UsageError: ``vocab_size`` is no positive integer.
    """
    arrays = TreeArrays(
        integers("tokens", tokens),
        integers("parents", parents),
        None if edge_log_probs is None else reals("edge_log_probs", edge_log_probs),
    )
    _check_lengths(arrays)
    _check_parents(arrays.parents)
    _check_tokens(arrays.tokens, vocab_size)
    if distinct_siblings:
        _check_siblings(arrays.tokens, arrays.parents)
    if arrays.edge_log_probs is not None:
        _check_log_probs(arrays.edge_log_probs, arrays.parents)
    return arrays


def check_canonical(parents: Int[np.ndarray, " n"]) -> None:
    """Refuse a tree that is not stored root first and every parent before its children.

    Raises:
        InvalidTree: PARENT_AFTER_CHILD.
    """
    node = first(parents >= np.arange(len(parents)))
    if node is not None:
        raise InvalidTree(
            TreeFault.PARENT_AFTER_CHILD,
            node,
            f"node {node} is stored before its parent {parents[node]}; expected parents first"
            " (CandidateTree.normalised sorts)",
        )


def _check_lengths(arrays: TreeArrays) -> None:
    n = len(arrays.tokens)
    for name, values in arrays._asdict().items():
        if values is not None and len(values) != n:
            raise InvalidTree(TreeFault.LENGTH, None, f"{name} has {len(values)} entries for {n} tokens; expected {n}")


def _check_parents(parents: Int[np.ndarray, " n"]) -> None:
    n = len(parents)
    node = first((parents < NO_PARENT) | (parents >= n))
    if node is not None:
        raise InvalidTree(
            TreeFault.ORPHAN,
            node,
            f"node {node} has parent {parents[node]}; expected a slot from 0 to {n - 1}, or -1 for the root",
        )
    node = first(parents == np.arange(n))
    if node is not None:
        raise InvalidTree(TreeFault.SELF_PARENT, node, f"node {node} is its own parent; a root has parent -1")
    _check_root(parents)
    _check_cycle(parents)


def _check_root(parents: Int[np.ndarray, " n"]) -> None:
    roots = np.flatnonzero(parents == NO_PARENT)
    if len(roots) == 0:
        raise InvalidTree(TreeFault.NO_ROOT, None, f"none of {len(parents)} nodes has parent -1; expected exactly one")
    if len(roots) > 1:
        raise InvalidTree(
            TreeFault.TWO_ROOTS,
            int(roots[1]),
            f"nodes {roots[0]} and {roots[1]} both have parent -1; expected exactly one root",
        )


def _check_cycle(parents: Int[np.ndarray, " n"]) -> None:
    root = int((parents == NO_PARENT).argmax())
    far = parents.copy()
    far[root] = root
    for _ in range(len(parents).bit_length()):
        far = far[far]
    # More than n parents on, a node is at the root or goes round in a cycle, and every node of the cycle is hit.
    lost = far[far != root]
    if len(lost):
        node = int(lost.min())
        raise InvalidTree(TreeFault.CYCLE, node, f"node {node} is its own ancestor; its parent is {parents[node]}")


def _check_tokens(tokens: Int[np.ndarray, " n"], vocab_size: int | None) -> None:
    outside = tokens < 0
    expected = "0 or more"
    if vocab_size is not None:
        outside = outside | (tokens >= whole_number("vocab_size", vocab_size, at_least=1))
        expected = f"0 to {vocab_size - 1}"
    node = first(outside)
    if node is not None:
        raise InvalidTree(TreeFault.TOKEN, node, f"node {node} has token {tokens[node]}; expected {expected}")


def _check_siblings(tokens: Int[np.ndarray, " n"], parents: Int[np.ndarray, " n"]) -> None:
    order = np.lexsort((tokens, parents))  # stable: equal siblings stay in slot order
    same = (np.diff(tokens[order]) == 0) & (np.diff(parents[order]) == 0)
    if same.any():
        node = int(order[1:][same].min())
        twin = int(np.flatnonzero((tokens == tokens[node]) & (parents == parents[node]))[0])
        raise InvalidTree(
            TreeFault.DUPLICATE_SIBLINGS,
            node,
            f"nodes {twin} and {node} are children of node {parents[node]} with the same token {tokens[node]}",
        )


def _check_log_probs(values: Float[np.ndarray, " n"], parents: Int[np.ndarray, " n"]) -> None:
    root = parents == NO_PARENT
    node = first(~(values <= 0) | (root & (values != 0)))
    if node is not None:
        expected = "0.0, as the root has no edge" if root[node] else "at most 0.0"
        raise InvalidTree(
            TreeFault.LOG_PROBABILITY,
            node,
            f"node {node} has log-probability {shown(values[node])}; expected {expected}",
        )
