"""Parent lists with the root in any of its guises. Size: one entry a node, or one a candidate where the root is not listed.

                             root    child of the root    child of node u >= 1
    MINUS_ONE                -1      0                    u          DDTree, JetSpec, Sequoia, this project
    ITSELF                   0       0                    u          TreeFlash
    UNLISTED_MINUS_ONE               -1                   u - 1      PopSoda2002, economize
    UNLISTED_ITSELF                  its own index        u - 1      OPT-Tree

The pool lists of SGLang, TensorRT-LLM and EAGLE are another encoding (``pool``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import RootParent
from tree_oracle.tree.formats.field import Field

_PARENTS = Field("parent list", "parents")
_LISTED = (RootParent.MINUS_ONE, RootParent.ITSELF)


@dataclass(frozen=True, slots=True, eq=False)
class ParentList:
    """Tokens of all nodes, the root first, and the parents of the listed ones."""

    tokens: Any
    parents: Any


def encode_parents(tree: CandidateTree, root: RootParent) -> ParentList:
    """The list.

    Raises:
        UsageError: ``root`` is POOL_GROUP_ZERO.
    """
    _check_plain(root)
    parents = tree.parents.copy()
    if root is RootParent.ITSELF:
        parents[0] = 0
    if root in _LISTED:
        return ParentList(tree.tokens, parents)
    parents = parents[1:] - 1
    if root is RootParent.UNLISTED_ITSELF:
        parents = np.where(parents < 0, np.arange(len(parents)), parents)
    return ParentList(tree.tokens, parents)


def decode_parents(listed: ParentList, root: RootParent) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: the list is no tree's, stored parents first.
        UsageError: ``root`` is POOL_GROUP_ZERO.
    """
    _check_plain(root)
    tokens = _PARENTS.named("tokens").integers(listed.tokens, (None,))
    if not len(tokens):
        raise _PARENTS.named("tokens").malformed(None, "is empty; expected at least the root's")
    missing = int(root not in _LISTED)
    parents = _PARENTS.integers(listed.parents, (len(tokens) - missing,))
    nodes = np.arange(len(parents))
    _check_range(parents, nodes, root)
    if root is RootParent.ITSELF:
        parents[0] = -1
    if root is RootParent.UNLISTED_ITSELF:
        parents = np.where(parents == nodes, -1, parents)
    return _PARENTS.tree(tokens, np.concatenate([[-1], parents + 1]) if missing else parents)


def _check_range(parents: Int[np.ndarray, " m"], nodes: Int[np.ndarray, " m"], root: RootParent) -> None:
    # Each list has its own words for the root, so what is out of range is said in those.
    if root is RootParent.UNLISTED_ITSELF:
        _PARENTS.check((parents >= 0) & (parents <= nodes), parents, "an earlier node, or its own index below the root")
    elif root is RootParent.UNLISTED_MINUS_ONE:
        _PARENTS.check((parents >= -1) & (parents < nodes), parents, "an earlier node, or -1 below the root")
    else:
        first = -1 if root is RootParent.MINUS_ONE else 0
        right = (parents >= 0) & (parents < nodes)
        right[0] = parents[0] == first
        _PARENTS.check(right, parents, f"an earlier node, or {first} for the root, node 0")


def _check_plain(root: RootParent) -> None:
    if root is RootParent.POOL_GROUP_ZERO:
        raise UsageError("a list of pool indices is no parent list; expected encode_pool and decode_pool")
