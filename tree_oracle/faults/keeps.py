"""Wrong choices of the nodes to keep, and a detour to the right one."""

from __future__ import annotations

import numpy as np

from tree_oracle.decoder.parts import Decision, Kept
from tree_oracle.tree import CandidateTree


def by_count(tree: CandidateTree, decision: Decision, emitted: int) -> Kept:
    """Fault: as many nodes as tokens were emitted are kept, counted from the root by slot."""
    return np.arange(min(emitted, len(tree)), dtype=np.int64)


def up_from_the_last(tree: CandidateTree, decision: Decision, emitted: int) -> Kept:
    """Twin: the path is found by following parents up from the last node to keep."""
    if emitted == 0:
        return np.zeros(0, dtype=np.int64)
    found = [(0, *decision.accepted)[emitted - 1]]
    while tree.parents[found[-1]] >= 0:
        found.append(int(tree.parents[found[-1]]))
    return np.array(found[::-1], dtype=np.int64)


def without_root(tree: CandidateTree, decision: Decision, emitted: int) -> Kept:
    """Fault: only the accepted nodes are kept, the root is forgotten."""
    return np.array(decision.accepted[: max(emitted - 1, 0)], dtype=np.int64)
