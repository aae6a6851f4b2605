"""Merging drafts into one tree: one node for each history, and for every draft the node that each of its own became.

Law (SpecInfer's token tree, read strictly). The sequences of the merged tree are the union of the drafts' sequences. A node is
a token *with its history*, so two nodes become one exactly if their paths from the root hold the same tokens:

    node_of[s][v] = node_of[t][w]   <=>   history(s, v) = history(t, w)

Then the target's row after a merged node is the row after each node that it stands for, and nothing else needs computing. The
*draft's* side is not merged: verification by p / q needs, for each draw, the q that it was drawn from. So a merged tree carries
no log-probabilities of its own; each draft keeps its own, and ``draws`` lists them in the order in which they are to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.values import frozen

# A key says which nodes become one: of the draft, the node, and the merged node of its parent.
Key = Callable[[int, int, int], Hashable]


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The union of several drafts."""

    tree: CandidateTree
    node_of: tuple[Int[np.ndarray, " n"], ...]  # for each draft: the merged node of each of its nodes


class Draw(NamedTuple):
    """A candidate as one draft proposed it."""

    draft: int
    node: int  # in the draft
    merged: int
    edge_log_prob: float | None  # by this draft


def merge(drafts: Sequence[CandidateTree]) -> Merged:
    """The drafts as one tree; nodes in the order in which they are first met, draft by draft, slot by slot.

    Equal siblings of one draft become one node too; how often it was drawn is still told by ``draws``.

    Raises:
        UsageError: no draft, or drafts that begin with different roots.
    """
    return fused(drafts, lambda draft, node, parent: (parent, int(drafts[draft].tokens[node])))


def draws(merged: Merged, drafts: Sequence[CandidateTree], parent: int) -> tuple[Draw, ...]:
    """Every draw below a merged node, draft by draft in the order of each: what a verifier of p / q tries, one by one.

    Raises:
        UsageError: the drafts are not those that were merged, or ``parent`` is no merged node.
    """
    if list(map(len, drafts)) != list(map(len, merged.node_of)):
        raise UsageError(f"drafts of {list(map(len, drafts))} nodes; expected {list(map(len, merged.node_of))}")
    if not 0 <= parent < len(merged.tree):
        raise UsageError(f"node {parent} does not exist; expected a slot from 0 to {len(merged.tree) - 1}")
    return tuple(
        Draw(index, node, int(nodes[node]), None if draft.edge_log_probs is None else float(draft.edge_log_probs[node]))
        for index, (draft, nodes) in enumerate(zip(drafts, merged.node_of, strict=True))
        for node in range(1, len(draft))
        if nodes[draft.parents[node]] == parent
    )


def fused(drafts: Sequence[CandidateTree], key: Key) -> Merged:
    """Drafts whose nodes become one where their keys are equal; the first to be met gives token and parent.

    Raises:
        UsageError: no draft, or drafts that begin with different roots.
    """
    tokens, parents = [_common_root(drafts)], [-1]
    found: dict[Hashable, int] = {}
    node_of = []
    for index, draft in enumerate(drafts):
        nodes = [0]
        for node, parent in enumerate(draft.parents.tolist()[1:], start=1):
            above = nodes[parent]
            place = found.setdefault(key(index, node, above), len(tokens))
            if place == len(tokens):
                tokens.append(int(draft.tokens[node]))
                parents.append(above)
            nodes.append(place)
        node_of.append(frozen(np.array(nodes, dtype=np.int64)))
    return Merged(CandidateTree(tokens, parents), tuple(node_of))


def _common_root(drafts: Sequence[CandidateTree]) -> int:
    roots = sorted({int(draft.tokens[0]) for draft in drafts})
    if len(roots) != 1:
        raise UsageError(f"{len(drafts)} drafts with roots {roots}; expected at least one, all with the same root")
    return roots[0]
