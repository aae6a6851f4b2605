"""Wrong ways to build a mask that code falls into as it walks the tree, and detours to the right one.

A right row is the parent's row and the node itself, S(v) = S(parent(v)) + {v}. Whoever keeps rows while walking may write to
one that others still read, and whoever goes by depths or positions has no branch left to go by:

    elder siblings, inherited      S(v) = S(parent) + siblings stored before v + {v}
    all siblings, inherited        S(v) = S(parent) + children of parent
    in place                       the first of these, and every node sees its children
    first child in place           a first child, and all that goes on in one row with it, is seen by whoever shares that row
    by position                    S(v) = {u: depth(u) <= depth(v)}
    by level                       S(v) = {u: depth(u) < depth(v)} + {v}
    a row per depth                S(v) = {u stored before v: depth(u) <= depth(v)} + {v}
    a stack by depth               S(v) = the node last stored at each depth above v's + {v}
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from tree_oracle.tree import CandidateTree, Layout, lay_out

Nodes = Bool[np.ndarray, "n n"]  # [v, u]: v sees u


def _with(tree: CandidateTree, prefix_len: int, nodes: Nodes) -> Layout:
    """The layout with this mask over the nodes, behind a prefix that everybody sees."""
    cached = np.ones((len(tree), prefix_len - 1), dtype=bool)
    return replace(lay_out(tree, prefix_len), visible=np.concatenate([cached, nodes], axis=1))


def _right(tree: CandidateTree) -> Nodes:
    return np.asarray(lay_out(tree, 1).visible)


def _depths(tree: CandidateTree) -> tuple[np.ndarray, np.ndarray]:
    """Depths of the node that looks, and of the one that is seen."""
    return tree.depths[:, None], tree.depths[None, :]


def elders_inherited(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: children are added to a running copy of the parent's row, and each takes it as it stands."""
    nodes, running = np.eye(len(tree), dtype=bool), dict[int, np.ndarray]()
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            row = running.setdefault(parent, nodes[parent].copy())
            row[node] = True
            nodes[node] = row
    return _with(tree, prefix_len, nodes)


def row_copied_first(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: the parent's row is copied before anything is added to it."""
    nodes = np.eye(len(tree), dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            nodes[node] = nodes[parent].copy()
            nodes[node, node] = True
    return _with(tree, prefix_len, nodes)


def siblings_inherited(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: all children are added to a copy of the parent's row before each of them takes it."""
    nodes = np.eye(len(tree), dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            nodes[node] = nodes[parent] | (tree.parents == parent)
    return _with(tree, prefix_len, nodes)


def written_in_place(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a child is added to its parent's own row, and takes it as it stands."""
    nodes = np.eye(len(tree), dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            nodes[parent, node] = True
            nodes[node] = nodes[parent]
    return _with(tree, prefix_len, nodes)


def first_child_aliased(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node's first child goes on with the node's own row, and only later children take a copy."""
    rows = [np.zeros(len(tree), dtype=bool)]
    rows[0][0] = True
    for node, parent in enumerate(tree.parents.tolist()[1:], 1):
        eldest = parent not in tree.parents[:node]
        rows.append(rows[parent] if eldest else rows[parent].copy())
        rows[node][node] = True
    return _with(tree, prefix_len, np.stack(rows))


def causal_by_position(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sees whatever does not lie at a later position."""
    mine, theirs = _depths(tree)
    return _with(tree, prefix_len, theirs <= mine)


def causal_and_ancestors_by_position(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: the ancestor mask is ANDed with what does not lie at a later position, which removes nothing."""
    mine, theirs = _depths(tree)
    return _with(tree, prefix_len, (theirs <= mine) & _right(tree))


def levels_above(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the mask is put together level by level: a node sees itself and all levels above its own."""
    mine, theirs = _depths(tree)
    return _with(tree, prefix_len, (theirs < mine) | np.eye(len(tree), dtype=bool))


def row_per_depth(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: one running row per depth takes in the row above it, and is not begun anew for another branch."""
    nodes, running = np.eye(len(tree), dtype=bool), np.zeros((tree.max_depth + 1, len(tree)), dtype=bool)
    for node, depth in enumerate(tree.depths.tolist()):
        running[depth, node] = True
        running[depth] |= running[max(depth - 1, 0)]
        nodes[node] = running[depth]
    return _with(tree, prefix_len, nodes)


def stack_by_depth(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: ancestors are read off a stack that holds the node last met at each depth, as in depth-first order."""
    nodes, stack = np.eye(len(tree), dtype=bool), np.zeros(tree.max_depth + 1, dtype=np.int64)
    for node, depth in enumerate(tree.depths.tolist()):
        stack[depth] = node
        nodes[node, stack[: depth + 1]] = True
    return _with(tree, prefix_len, nodes)


def stack_of_the_path(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: before each node the stack is filled from its own path."""
    nodes, stack = np.eye(len(tree), dtype=bool), np.zeros(tree.max_depth + 1, dtype=np.int64)
    for node, depth in enumerate(tree.depths.tolist()):
        stack[: depth + 1] = tree.path(node)
        nodes[node, stack[: depth + 1]] = True
    return _with(tree, prefix_len, nodes)


def transposed(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: queries and keys are exchanged: a node sees what is below it."""
    return _with(tree, prefix_len, _right(tree).T)


def elders_direct(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sees all siblings stored before it; what is below it does not."""
    same = tree.parents[:, None] == tree.parents[None]
    return _with(tree, prefix_len, _right(tree) | np.tril(same))


def next_elder_inherited(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sees the one sibling stored before it, and what is below it inherits that."""
    nodes = np.eye(len(tree), dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            nodes[node] |= nodes[parent]
            nodes[node, [v for v in range(1, node) if tree.parents[v] == parent][-1:]] = True
    return _with(tree, prefix_len, nodes)


def parents_numbered_with_root(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node takes the row of the slot before its parent, whose number counts the root."""
    nodes = np.eye(len(tree), dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        if node:
            nodes[node] |= nodes[max(parent - 1, 0)]
    return _with(tree, prefix_len, nodes)


def one_column_late(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the nodes begin a column late, as if the root were cached too."""
    right = lay_out(tree, prefix_len)
    first = np.ones((len(tree), 1), dtype=bool)
    return replace(right, visible=np.concatenate([first, right.visible[:, :-1]], axis=1))


def one_column_early(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the nodes begin a column early, as if one row fewer were cached; nobody sees the last column."""
    right = lay_out(tree, prefix_len)
    last = np.zeros((len(tree), 1), dtype=bool)
    return replace(right, visible=np.concatenate([right.visible[:, 1:], last], axis=1))


def hidden_for_seen(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sees all that it should not, and nothing else."""
    right = lay_out(tree, prefix_len)
    return replace(right, visible=~right.visible)
