"""A tree that is already there, with one target and one draft law per node: what a decoder hands to its verification."""

from __future__ import annotations

from collections.abc import Sequence

from tree_oracle.tree import CandidateTree
from tree_oracle.verify.probabilities import InvalidLaw, Law


class GivenTree:
    """See ``DraftTree``: children in slot order, which must be the order in which they were proposed."""

    def __init__(self, tree: CandidateTree, targets: Sequence[Law], drafts: Sequence[Law]) -> None:
        """Node v is judged with the laws of its parent.

        Raises:
            InvalidLaw: not one law of each kind per node, laws of unequal length, or a token that they do not hold.
        """
        for name, laws in (("target", targets), ("draft", drafts)):
            if len(laws) != len(tree):
                raise InvalidLaw(f"the {name} laws", f"are {len(laws)}; expected one for each of {len(tree)} nodes")
            for node, law in enumerate(laws):
                _check_size(f"the {name} law of node {node}", len(law), len(targets[0]), int(tree.tokens.max()))
        self._tree, self._targets, self._drafts = tree, targets, drafts

    def children(self, node: int) -> tuple[int, ...]:
        """See ``DraftTree``."""
        return self._tree.children(node)

    def token(self, node: int) -> int:
        """See ``DraftTree``."""
        return int(self._tree.tokens[node])

    def target(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._targets[node]

    def draft(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._drafts[node]


def _check_size(row: str, size: int, expected: int, largest: int) -> None:
    if size != expected or size <= largest:
        raise InvalidLaw(
            row, f"has {size} tokens; expected {expected} as the first one, and more than the token {largest}"
        )
