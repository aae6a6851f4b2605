"""Children by node: token -> child maps (DDTree, JetSpec) and lists of successors (Sequoia's grow map).

A map cannot hold two siblings of one token. Which of them is left is a convention, and with it the nodes below the other are
out of reach: refused unless the convention is named. Size: one entry a candidate, in one map or list a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import Duplicates
from tree_oracle.tree.formats.field import Field

_MAPS = Field("child maps", "maps")
_SUCCESSORS = Field("successors", "successors")


@dataclass(frozen=True, slots=True)
class ChildMaps:
    """The root's token, and for each node its children by token."""

    root: int
    maps: Sequence[Mapping[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Successors:
    """Tokens, and for each node its children in slot order."""

    tokens: Any
    successors: Sequence[Sequence[int]]


def encode_child_maps(tree: CandidateTree, duplicates: Duplicates = Duplicates.REFUSED) -> ChildMaps:
    """The maps. Under FIRST and LAST nodes below the sibling that is not kept have maps, and nothing leads to them.

    Raises:
        UsageError: equal siblings under REFUSED.
    """
    maps: list[dict[int, int]] = [{} for _ in range(len(tree))]
    for node, (token, parent) in enumerate(zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True)):
        if parent < 0:
            continue
        twin = maps[parent].get(token)
        if twin is not None and duplicates is Duplicates.REFUSED:
            raise UsageError(f"nodes {twin} and {node} are siblings of one token, {token}; a map can hold one of them")
        if twin is None or duplicates is Duplicates.LAST:
            maps[parent][token] = node
    return ChildMaps(int(tree.tokens[0]), tuple(maps))


def decode_child_maps(encoded: ChildMaps) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: a map's node is none, is reached twice or never, or is stored before its parent.
    """
    maps = _MAPS.sequence(encoded.maps)
    tokens = np.zeros(len(maps), dtype=np.int64)
    tokens[:1] = _MAPS.named("root").integer(encoded.root)
    children: list[list[int]] = []
    for node, here in enumerate(maps):
        if not isinstance(here, Mapping):
            raise _MAPS.error((node,), f"is a {type(here).__name__}; expected a mapping from tokens to nodes")
        children.append(_MAPS.row(node).integers(list(here.values()), (None,)).tolist())
        keys = _MAPS.row(node).integers(list(here), (None,))
        inside = [(child, token) for child, token in zip(children[-1], keys, strict=True) if 0 < child < len(tokens)]
        for child, token in inside:
            tokens[child] = token
    return _MAPS.tree(tokens, _parents_of(children, _MAPS))


def encode_successors(tree: CandidateTree) -> Successors:
    """The lists."""
    return Successors(tree.tokens, tuple(tree.children(node) for node in range(len(tree))))


def decode_successors(encoded: Successors) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: a successor is no node, has two parents or none, or is stored before its parent.
    """
    tokens = _SUCCESSORS.named("tokens").integers(encoded.tokens, (None,))
    lists = [here.tolist() for here in _SUCCESSORS.each(encoded.successors)]
    if len(lists) != len(tokens):
        raise _SUCCESSORS.malformed(None, f"has {len(lists)} lists; expected {len(tokens)}, one for each token")
    return _SUCCESSORS.tree(tokens, _parents_of(lists, _SUCCESSORS))


def _parents_of(children: Sequence[Iterable[int]], field: Field) -> np.ndarray:
    parents = np.full(len(children), -1, dtype=np.int64)
    for node, here in enumerate(children):
        for child in here:
            if not node < child < len(children):
                raise field.error((node,), f"leads to {child}; expected a node from {node + 1} to {len(children) - 1}")
            if parents[child] >= 0:
                raise field.error((node,), f"leads to {child}, which node {parents[child]} leads to already")
            parents[child] = node
    lost = np.flatnonzero(parents[1:] < 0)
    if len(lost):
        raise field.error(None, f"never leads to node {lost[0] + 1}; expected a way to every node but the root")
    return parents
