"""Whether two trees differ in nothing but the numbers of their nodes.

A node's kind is its token, the log-probability of its edge and the multiset of its children's kinds (Aho, Hopcroft,
Ullman). Kinds are numbered as they are met, in one table for both trees, children before parents; the trees are the
same exactly when their roots are of one kind. Equal siblings count as often as they occur.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_oracle.tree.candidate import CandidateTree

_Kind: TypeAlias = tuple[int, float | None, tuple[int, ...]]


def same_up_to_numbering(one: CandidateTree, other: CandidateTree) -> bool:
    """True if some renumbering of the nodes turns one tree into the other."""
    numbers: dict[_Kind, int] = {}
    return _kind_of_root(one, numbers) == _kind_of_root(other, numbers)


def _kind_of_root(tree: CandidateTree, numbers: dict[_Kind, int]) -> int:
    kinds = [0] * len(tree)
    tokens = tree.tokens.tolist()
    edges = [None] * len(tree) if tree.edge_log_probs is None else tree.edge_log_probs.tolist()
    for node in reversed(range(len(tree))):
        below = tuple(sorted(kinds[child] for child in tree.children(node)))
        kinds[node] = numbers.setdefault((tokens[node], edges[node], below), len(numbers))
    return kinds[0]
