"""Sequence ids (llama.cpp): every leaf is a sequence, and a node belongs to all sequences that run through it.

A token sees another if they share a sequence and the other's position is not later. In compressed rows: node v belongs to
``ids[starts[v] : starts[v + 1]]``. Size: n positions, n + 1 starts, and one id for each node on each leaf's path.

Within one sequence positions rise by one from the root's, or a node would see a cousin or a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import LeafOrder, Position
from tree_oracle.tree.formats.counts import positions_of
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.paths import PAD, retrieve_rows

_IDS = Field("sequence ids", "ids")
_POSITIONS = Field("sequence ids", "positions")


@dataclass(frozen=True, slots=True, eq=False)
class SequenceIds:
    """Tokens and positions by node, and the ids of the sequences that each node belongs to."""

    tokens: Any
    positions: Any
    starts: Any
    ids: Any


def encode_sequences(tree: CandidateTree, prefix_len: int) -> SequenceIds:
    """One sequence for each leaf, numbered by slot.

    Raises:
        UsageError: ``prefix_len`` is no integer of at least 1.
    """
    positions = positions_of(tree, prefix_len, Position.ABSOLUTE)
    rows = retrieve_rows(tree, LeafOrder.SLOTS)
    leaves, _ = np.nonzero(rows != PAD)
    nodes = rows[rows != PAD]
    order = np.lexsort((leaves, nodes))
    starts = np.searchsorted(nodes[order], np.arange(len(tree) + 1))
    return SequenceIds(tree.tokens, positions, starts, leaves[order])


def decode_sequences(encoded: SequenceIds) -> CandidateTree:
    """The tree. Where the root stands is taken from its position.

    Raises:
        InvalidEncoding: a node in no sequence, two in one place, a gap, or two parents. The index is one into ``ids``.
    """
    tokens = _IDS.named("tokens").integers(encoded.tokens, (None,))
    n = len(tokens)
    if not n:
        raise _IDS.named("tokens").malformed(None, "is empty; expected at least the root's")
    positions = _POSITIONS.integers(encoded.positions, (n,))
    _POSITIONS.check(positions >= 0, positions, "0 or more")
    ids = _IDS.integers(encoded.ids, (None,))
    starts = _checked_starts(encoded.starts, n, len(ids))
    nodes = np.repeat(np.arange(n), np.diff(starts))
    first = _IDS.placed(lambda index: (int(starts[index[0]]),))
    return first.tree(tokens, _parents_of(nodes, ids, positions))


def _checked_starts(starts: Any, n: int, total: int) -> Int[np.ndarray, " n_and_one"]:
    field = _IDS.named("starts")
    found = field.integers(starts, (n + 1,))
    wanted = np.concatenate([[True], np.diff(found) > 0])
    wanted[0], wanted[-1] = found[0] == 0, wanted[-1] and found[-1] == total
    field.check(wanted, found, f"0, then more than the one before it, at last {total}: every node is in a sequence")
    return found


def _parents_of(
    nodes: Int[np.ndarray, " m"], ids: Int[np.ndarray, " m"], positions: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    order = np.lexsort((positions[nodes], ids))
    members, sequences = nodes[order], ids[order]
    begins = np.concatenate([[True], np.diff(sequences) != 0])
    above = np.where(begins, -1, np.roll(members, 1))
    _refuse(begins & (members != 0), order, ids, "is a sequence that does not begin at the root, node 0")
    steps = positions[members] - positions[above]
    _refuse(~begins & (steps == 0), order, ids, "is a sequence with two nodes at one position")
    _refuse(~begins & (steps != 1), order, ids, "is a sequence with a gap before this node's position")
    parents = np.full(len(positions), -1, dtype=np.int64)
    parents[members] = above
    _refuse(parents[members] != above, order, ids, "gives this node another parent than the other sequences through it")
    return parents


def _refuse(wrong: np.ndarray, order: Int[np.ndarray, " m"], ids: Int[np.ndarray, " m"], detail: str) -> None:
    if wrong.any():
        index = int(order[wrong].min())
        raise _IDS.error((index,), f"({ids[index]}) {detail}")
