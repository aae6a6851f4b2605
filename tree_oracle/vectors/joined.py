"""Drafts merged for verification by p / q: what the reference says, and what of it is compared.

The target's side of a merged node is one row; the draft's side is one draw for each draft that proposed it, each with the q of
its own draft. A draw that comes twice in one draft is two draws.
"""

from __future__ import annotations

from tree_oracle.tree import CandidateTree
from tree_oracle.tree.merge import draws, merge
from tree_oracle.vectors.model import Below, Joined, MergeDraws, Path, Tried


def joined(asked: MergeDraws) -> Joined:
    """The merged tree with all draws: draft by draft, each in its own order."""
    trees = [CandidateTree(draft.tokens, draft.parents) for draft in asked.drafts]
    merged = merge(trees)
    found = (draws(merged, trees, node) for node in range(len(merged.tree)))
    tried = tuple(
        tuple((draw.merged, draw.draft, asked.drafts[draw.draft].counts[draw.node]) for draw in below)
        for below in found
    )
    return Joined(tuple(merged.tree.tokens.tolist()), tuple(merged.tree.parents.tolist()), tried)


def tried(answer: Joined, tree: CandidateTree) -> Tried | str:
    """An answer without its storage order, or what is wrong with its form; ``tree`` is its tree.

    A draw is told by the path of its child, so one that stands below another node than its own is no draw of this node.
    """
    if len(answer.draws) != len(tree):
        return f"draws has {len(answer.draws)} entries; expected {len(tree)}, one for each node"
    paths: list[Path] = [tuple(tree.tokens[list(tree.path(node)[1:])].tolist()) for node in range(len(tree))]
    nodes = []
    for node, below in enumerate(answer.draws):
        for child, _, _ in below:
            if child not in tree.children(node):
                return f"draws[{node}] names node {child}; expected children of node {node}"
        nodes.append(
            Below(paths[node], tuple((int(tree.tokens[child]), draft, count) for child, draft, count in below))
        )
    return Tried(tuple(sorted(nodes, key=lambda one: (len(one.after), one.after))))
