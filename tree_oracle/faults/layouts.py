"""Wrong layouts, and detours to the right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tree_oracle.tree import CandidateTree, Layout, lay_out


def _with(layout: Layout, prefix_len: int, nodes: np.ndarray) -> Layout:
    """The layout with another mask over the nodes."""
    visible = layout.visible.copy()
    visible[:, prefix_len - 1 :] = nodes
    return replace(layout, visible=visible)


def _over_nodes(layout: Layout, prefix_len: int) -> np.ndarray:
    return layout.visible[:, prefix_len - 1 :]


def flat_causal(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: every node sees all earlier slots, as in a chain."""
    layout = lay_out(tree, prefix_len)
    return _with(layout, prefix_len, np.tri(len(tree), dtype=bool))


def causal_and_ancestors(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: the ancestor mask is ANDed with the causal one, which removes nothing while parents stand first."""
    layout = lay_out(tree, prefix_len)
    return _with(layout, prefix_len, np.tri(len(tree), dtype=bool) & _over_nodes(layout, prefix_len))


def sibling_leak(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node also sees the sibling stored before it."""
    layout = lay_out(tree, prefix_len)
    nodes = _over_nodes(layout, prefix_len).copy()
    for node in range(1, len(tree)):
        elder = [v for v in range(1, node) if tree.parents[v] == tree.parents[node]]
        nodes[node, elder[-1:]] = True
    return _with(layout, prefix_len, nodes)


def parent_again(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: a node is shown its parent once more, which it sees already."""
    layout = lay_out(tree, prefix_len)
    nodes = _over_nodes(layout, prefix_len).copy()
    for node in range(1, len(tree)):
        nodes[node, tree.parents[node]] = True
    return _with(layout, prefix_len, nodes)


def parents_only(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sees itself and its parent, but no ancestor above that."""
    layout = lay_out(tree, prefix_len)
    nodes = np.eye(len(tree), dtype=bool)
    nodes[np.arange(1, len(tree)), tree.parents[1:]] = True
    return _with(layout, prefix_len, nodes)


def closed_under_parents(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: starts from itself and parent, then adds parents of what is seen until nothing changes."""
    layout = parents_only(tree, prefix_len)
    step = _over_nodes(layout, prefix_len)
    nodes = step
    for _ in range(tree.max_depth):
        nodes = (nodes.astype(int) @ step.astype(int)) > 0
    return _with(layout, prefix_len, nodes)


def newest_column_lost(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the last cached prefix token is masked for every node below the root."""
    layout = lay_out(tree, prefix_len)
    visible = layout.visible.copy()
    visible[1:, max(prefix_len - 2, 0) : prefix_len - 1] = False
    return replace(layout, visible=visible)


def columns_in_two_blocks(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: the mask is put together from a prefix block and a node block."""
    layout = lay_out(tree, prefix_len)
    blocks = [np.ones((len(tree), prefix_len - 1), dtype=bool), _over_nodes(layout, prefix_len)]
    return replace(layout, visible=np.concatenate(blocks, axis=1))


def position_by_slot(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: positions count storage slots."""
    return replace(lay_out(tree, prefix_len), positions=prefix_len - 1 + np.arange(len(tree)))


def position_by_row_sum(tree: CandidateTree, prefix_len: int) -> Layout:
    """Twin: the position is the number of visible columns less one, which is the depth plus the prefix."""
    layout = lay_out(tree, prefix_len)
    return replace(layout, positions=layout.visible.sum(axis=1) - 1)


def whole_tree(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: there is no mask inside the tree."""
    return _with(lay_out(tree, prefix_len), prefix_len, np.ones((len(tree), len(tree)), dtype=bool))


def all_siblings(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node also sees all of its siblings."""
    layout = lay_out(tree, prefix_len)
    same_parent = tree.parents[:, None] == tree.parents[None]
    return _with(layout, prefix_len, _over_nodes(layout, prefix_len) | same_parent)


def itself_hidden(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: below the root a node does not see itself."""
    layout = lay_out(tree, prefix_len)
    alone = np.eye(len(tree), dtype=bool)
    alone[0, 0] = False  # a root without a prefix would see nothing at all
    return _with(layout, prefix_len, _over_nodes(layout, prefix_len) & ~alone)


def parent_hidden(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node does not see its parent."""
    layout = lay_out(tree, prefix_len)
    nodes = _over_nodes(layout, prefix_len).copy()
    nodes[np.arange(1, len(tree)), tree.parents[1:]] = False
    return _with(layout, prefix_len, nodes)


def root_hidden(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: no node below the root sees the root."""
    layout = lay_out(tree, prefix_len)
    nodes = _over_nodes(layout, prefix_len).copy()
    nodes[1:, 0] = False
    return _with(layout, prefix_len, nodes)


def oldest_column_lost(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the first cached prefix token is hidden from every node."""
    layout = lay_out(tree, prefix_len)
    visible = layout.visible.copy()
    visible[:, : min(1, prefix_len - 1)] = False
    return replace(layout, visible=visible)


def position_one_late(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the root is counted twice."""
    layout = lay_out(tree, prefix_len)
    return replace(layout, positions=layout.positions + 1)


def position_one_early(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: the root is not counted."""
    layout = lay_out(tree, prefix_len)
    return replace(layout, positions=np.maximum(layout.positions - 1, 0))


def position_of_root(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: depth is left out."""
    layout = lay_out(tree, prefix_len)
    return replace(layout, positions=np.full_like(layout.positions, prefix_len - 1))


def position_without_prefix(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: positions are depths."""
    return replace(lay_out(tree, prefix_len), positions=tree.depths.copy())


def position_by_parent_slot(tree: CandidateTree, prefix_len: int) -> Layout:
    """Fault: a node sits behind its parent's slot instead of its parent's position."""
    return replace(lay_out(tree, prefix_len), positions=prefix_len + tree.parents)
