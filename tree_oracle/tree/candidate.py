"""The candidate tree: what one round proposes, as tokens and parents in storage order.

Canonical form: node 0 is the root, the last committed token; every parent is stored before its children. A node is a
token *with its history*, so equal tokens under different parents are different nodes; equal siblings are allowed
unless forbidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.record import TreeData, UsageError
from tree_oracle.tree import shape
from tree_oracle.tree.draw import MAX_LINES, draw
from tree_oracle.tree.isomorphism import same_up_to_numbering
from tree_oracle.tree.order import canonical_order, checked_order
from tree_oracle.tree.selection import kept_slots, selected
from tree_oracle.tree.validate import TreeArrays, check_canonical, validated
from tree_oracle.tree.values import Integers, Reals, whole_number

_LONGEST_REPR = 64  # nodes; up to here the repr can be pasted back


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class CandidateTree:
    """An immutable tree in canonical form. ``len(tree)`` counts the root."""

    tokens: Int[np.ndarray, " n"]
    parents: Int[np.ndarray, " n"]  # -1 for the root
    edge_log_probs: Float[np.ndarray, " n"] | None  # of each node under its parent by the draft; 0.0 for the root

    def __init__(
        self,
        tokens: Integers,
        parents: Integers,
        edge_log_probs: Reals | None = None,
        *,
        vocab_size: int | None = None,
        distinct_siblings: bool = False,
    ) -> None:
        """Check and copy the arrays: n integers each, read-only int64 afterwards; log-probabilities float64.

        ``vocab_size`` and ``distinct_siblings`` are conditions on the input and are not kept.

        Raises:
            InvalidTree: any of ``TreeFault``, with the node at fault.
            UsageError: ``vocab_size`` is no positive integer.
        """
        arrays = validated(tokens, parents, edge_log_probs, vocab_size, distinct_siblings)
        check_canonical(arrays.parents)
        vars(self).update(arrays._asdict())

    @classmethod
    def normalised(
        cls,
        tokens: Integers,
        parents: Integers,
        edge_log_probs: Reals | None = None,
        *,
        vocab_size: int | None = None,
        distinct_siblings: bool = False,
    ) -> tuple[CandidateTree, Int[np.ndarray, " n"]]:
        """The tree of arrays in any storage order, and ``order`` with ``order[new_slot] = old_slot``.

        The order is the lexicographically smallest with parents first (see ``tree_oracle.tree.order``); canonical input
        keeps its slots.

        Raises:
            InvalidTree: as for the constructor, except PARENT_AFTER_CHILD; nodes are named by the slots handed in.
        """
        arrays = validated(tokens, parents, edge_log_probs, vocab_size, distinct_siblings)
        order = canonical_order(arrays.parents)
        return cls(*selected(arrays, order)), order

    @classmethod
    def from_data(cls, data: TreeData) -> CandidateTree:
        """The tree of a record.

        Raises:
            InvalidTree: the record holds no tree in canonical form.
        """
        return cls(data.tokens, data.parents)

    def to_data(self) -> TreeData:
        """The tree as plain data, without log-probabilities."""
        return TreeData(tuple(self.tokens.tolist()), tuple(self.parents.tolist()))

    @cached_property
    def depths(self) -> Int[np.ndarray, " n"]:
        """Depth of each node; the root has 0, first proposed tokens 1."""
        return shape.depths_of(self.parents)

    @property
    def max_depth(self) -> int:
        return int(self.depths.max())

    @cached_property
    def ancestors(self) -> Bool[np.ndarray, "n n"]:
        """``[v, u]`` is true where u is a proper ancestor of v."""
        return shape.ancestors_of(self.parents)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Nodes without children in slot order; the root alone is a leaf."""
        return tuple(node for node, children in enumerate(self._children) if not children)

    @property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The path to each leaf, in the order of ``leaves``."""
        return tuple(map(self.path, self.leaves))

    def children(self, node: int) -> tuple[int, ...]:
        """The children of ``node`` in slot order."""
        return self._children[self._slot(node)]

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from the root to ``node``, both included."""
        return shape.path_to(self.parents, self._slot(node))

    def subtree(self, node: int) -> tuple[int, ...]:
        """``node`` and its descendants in slot order."""
        return shape.subtree_of(self.parents, self._slot(node))

    def closure(self, nodes: Iterable[int]) -> tuple[int, ...]:
        """The smallest prefix-closed set that holds ``nodes``, in slot order; empty for no nodes."""
        return shape.closure_of(self.parents, map(self._slot, nodes))

    def is_prefix_closed(self, nodes: Iterable[int]) -> bool:
        """True if every ancestor of every one of ``nodes`` is among them, the root included."""
        kept = {self._slot(node) for node in nodes}
        return all(node == 0 or int(self.parents[node]) in kept for node in kept)

    def keep(self, nodes: Iterable[int]) -> tuple[CandidateTree, Int[np.ndarray, " m"]]:
        """The tree of ``nodes`` alone, in slot order, and ``kept`` with ``kept[new_slot] = old_slot``.

        Raises:
            InvalidTree: ``nodes`` is not prefix closed (ORPHAN) or empty (NO_ROOT).
            UsageError: one of them does not exist.
        """
        kept = kept_slots(self.parents, {self._slot(node) for node in nodes})
        return CandidateTree(*selected(self._arrays, kept)), kept

    def prune(self, node: int) -> tuple[CandidateTree, Int[np.ndarray, " m"]]:
        """The tree without ``node`` and its descendants, and ``kept`` with ``kept[new_slot] = old_slot``.

        Raises:
            UsageError: ``node`` is the root or does not exist.
        """
        if self._slot(node) == 0:
            raise UsageError("the root cannot be pruned: it is the last committed token")
        gone = set(self.subtree(node))
        return self.keep(other for other in range(len(self)) if other not in gone)

    def stored(self, order: Integers) -> TreeArrays:
        """Tokens, parents and log-probabilities in another storage order, ``order[new_slot] = old_slot``.

        Raises:
            UsageError: ``order`` is no permutation of the slots.
        """
        return selected(self._arrays, checked_order(order, len(self)))

    def same_up_to_numbering(self, other: CandidateTree) -> bool:
        """True if the trees differ in nothing but the numbers of their nodes; log-probabilities count."""
        return same_up_to_numbering(self, other)

    def draw(
        self,
        *,
        mark: int | Iterable[int] = (),
        label: Callable[[int], str] | None = None,
        max_lines: int = MAX_LINES,
    ) -> str:
        """The tree as text (see ``tree_oracle.tree.draw``), at most ``max_lines`` lines.

        Raises:
            UsageError: a marked node does not exist, or ``max_lines`` is below 2.
        """
        marked = {mark} if isinstance(mark, int | np.integer) else set(mark)
        room = whole_number("max_lines", max_lines, at_least=2)
        return draw(self, {self._slot(node) for node in marked}, label, room)

    def __len__(self) -> int:
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CandidateTree) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        if len(self) > _LONGEST_REPR:
            return f"<CandidateTree of {len(self)} nodes, {len(self.leaves)} leaves, depth {self.max_depth}>"
        edges = "" if self.edge_log_probs is None else f", {self.edge_log_probs.tolist()}"
        return f"CandidateTree({self.tokens.tolist()}, {self.parents.tolist()}{edges})"

    def __reduce__(self) -> tuple[type[CandidateTree], TreeArrays]:
        # A pickled array comes back writable, so a copy is built and checked anew.
        return CandidateTree, self._arrays

    @cached_property
    def _children(self) -> tuple[tuple[int, ...], ...]:
        return shape.children_of(self.parents)

    @property
    def _arrays(self) -> TreeArrays:
        return TreeArrays(self.tokens, self.parents, self.edge_log_probs)

    @property
    def _identity(self) -> tuple[bytes, bytes, bytes | None]:
        edges = None if self.edge_log_probs is None else self.edge_log_probs.tobytes()
        return self.tokens.tobytes(), self.parents.tobytes(), edges

    def _slot(self, node: int) -> int:
        if isinstance(node, bool) or not isinstance(node, int | np.integer) or not 0 <= node < len(self):
            raise UsageError(f"node {node!r} does not exist; expected a slot from 0 to {len(self) - 1}")
        return int(node)
