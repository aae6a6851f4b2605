"""What a rule for building trees must offer to be held against a decoder, and what it builds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.draft import Draft
from tree_oracle.tree import CandidateTree


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A tree in packed order with the log-probability of its edges, and what it was chosen by."""

    tree: CandidateTree
    scores: Float[
        np.ndarray, " n"
    ]  # sums of log-probabilities along the path, by the draft unless the policy says else
    pool_size: int  # candidates that the tree was chosen from, the root not counted


class TreePolicy(Protocol):
    """A rule for building trees.

    Beside the methods it may have any of the bounds ``budget`` (nodes without the root), ``depth`` (levels below the root),
    ``branching`` (children of one node) and ``frontier`` (nodes of one level that have children), all integers.
    """

    def build(self, draft: Draft, root: int) -> Built:
        """The tree by the policy's own tie rule."""
        ...

    def admits(self, tree: CandidateTree, draft: Draft, root: int) -> bool:
        """Whether some way to resolve the ties that the policy leaves open gives this tree, in any storage order."""
        ...
