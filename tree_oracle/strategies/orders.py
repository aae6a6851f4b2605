"""Storage orders of a tree, ``order[new_slot] = old_slot``; both strategies shrink to the order that the tree has."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from jaxtyping import Int

from tree_oracle.tree import CandidateTree


def storage_orders(tree: CandidateTree) -> st.SearchStrategy[Int[np.ndarray, " n"]]:
    """Any permutation of the slots: the root anywhere, children before parents."""
    return st.permutations(range(len(tree))).map(lambda order: np.array(order, dtype=np.int64))


@st.composite
def topological_orders(draw: st.DrawFn, tree: CandidateTree) -> Int[np.ndarray, " n"]:
    """Any permutation of the slots that stores every parent before its children."""
    ready, order = [0], list[int]()
    while ready:
        node = draw(st.sampled_from(sorted(ready)))
        ready.remove(node)
        ready.extend(tree.children(node))
        order.append(node)
    return np.array(order, dtype=np.int64)
