"""Pool lists (EAGLE-2, SGLang, TensorRT-LLM): a node is its place in the pool of all candidates that drafting has seen.

Drafting expands nodes one after another, each into ``top_k`` candidates. Expansion 0 is the root's, and expansion g holds the
pool's entries from g top_k on:

    parent_list[g]    the pool index of the node that expansion g belongs to; -1 for g = 0, the root
    selected[i]       the pool index of node i + 1; increasing, so parents come first

The parent of a node with pool index p is the node with pool index ``parent_list[p // top_k]``. If that one was not selected,
the node is an orphan: EAGLE's search then silently finds another, SGLang warns and drops the node; here it is refused.
Size: n - 1 selected entries, and one for each expansion. Source: eagle_utils.cu, eagle/model/cnets.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.levels import check_level_order, ranks_of
from tree_oracle.tree.values import whole_number

_SELECTED = Field("pool lists", "selected")
_PARENT_LIST = Field("pool lists", "parent_list")


@dataclass(frozen=True, slots=True, eq=False)
class PoolLists:
    """Tokens of all nodes, the root first, and the two lists."""

    tokens: Any
    selected: Any
    parent_list: Any


def encode_pool(tree: CandidateTree, *, top_k: int) -> PoolLists:
    """The lists of a tree in level order, as if nothing but its own inner nodes had been expanded.

    Raises:
        UsageError: another order, or more siblings than ``top_k``.
    """
    check_level_order(tree)
    width, ranks = whole_number("top_k", top_k, at_least=1), ranks_of(tree)
    if ranks.max() >= width:
        node = int((ranks >= width).argmax())
        raise UsageError(f"node {tree.parents[node]} has more than {width} children; expected at most top_k")
    expanded = np.unique(tree.parents[1:])  # in slot order, the root first
    selected = width * np.searchsorted(expanded, tree.parents[1:]) + ranks[1:]
    return PoolLists(tree.tokens, selected, np.concatenate([[-1], selected[expanded[1:] - 1]]))


def decode_pool(lists: PoolLists, *, top_k: int) -> CandidateTree:
    """The tree.

    Raises:
        InvalidEncoding: the pool is out of order, or an expansion or its node is missing.
        UsageError: ``top_k`` is no integer of at least 1.
    """
    width = whole_number("top_k", top_k, at_least=1)
    tokens = _SELECTED.named("tokens").integers(lists.tokens, (None,))
    if not len(tokens):
        raise _SELECTED.named("tokens").malformed(None, "is empty; expected at least the root's")
    selected = _SELECTED.integers(lists.selected, (len(tokens) - 1,))
    owners = _PARENT_LIST.integers(lists.parent_list, (None,))
    _check_owners(owners, width)
    _check_selected(selected, len(owners) * width)
    return _SELECTED.tree(tokens, _parents_of(selected, owners, width))


def _check_owners(owners: Int[np.ndarray, " groups"], width: int) -> None:
    if not len(owners) or owners[0] != -1:
        raise _PARENT_LIST.error((0,), "is no -1; expected it for the root's expansion")
    groups = np.arange(1, len(owners))
    later = np.concatenate([[True], (owners[1:] >= 0) & (owners[1:] // width < groups)])
    _PARENT_LIST.check(later, owners, "the pool index of a candidate from an earlier expansion")


def _check_selected(selected: Int[np.ndarray, " m"], pool: int) -> None:
    _SELECTED.check((selected >= 0) & (selected < pool), selected, f"a pool index from 0 to {pool - 1}")
    rising = np.concatenate([[True], np.diff(selected) > 0])[: len(selected)]
    _SELECTED.check(rising, selected, "more than the one before it")


def _parents_of(
    selected: Int[np.ndarray, " m"], owners: Int[np.ndarray, " groups"], width: int
) -> Int[np.ndarray, " n"]:
    groups = selected // width
    places = np.searchsorted(selected, owners[groups])  # of -1, the root's mark: 0
    found = selected[np.minimum(places, len(selected) - 1)] == owners[groups]
    orphan = np.flatnonzero(~found & (groups > 0))
    if len(orphan):
        index = int(orphan[0])
        raise _SELECTED.error(
            (index,), f"is below pool index {owners[groups[index]]}, which is not selected: an orphan"
        )
    return np.concatenate([[-1], np.where(groups == 0, 0, places + 1)])
