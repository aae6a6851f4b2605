"""Wrong target passes, and detours to the right one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.parts import Rows, run_target
from tree_oracle.tree import CandidateTree, Layout


def rows_shifted(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the logits are handed on one slot late, as when the root's row is taken from the prefill."""
    rows = run_target(model, cache, tree, layout)
    return np.concatenate([rows[:1], rows[:-1]])


def rows_by_index(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: the rows are gathered through an index, which is the identity."""
    rows = run_target(model, cache, tree, layout)
    return np.take_along_axis(rows, np.arange(len(rows))[:, None], axis=0)


def last_row_leaks(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: a thousandth of the last row is added to the root's, as when a scale is shared over rows."""
    rows = run_target(model, cache, tree, layout).copy()
    if len(rows) > 1:
        rows[0] += rows[-1] / 1024
    return rows


def constant_shift(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: every logit of a row is moved by the same power of two, which changes no probability."""
    return np.asarray(run_target(model, cache, tree, layout) + np.float32(8.0))


def rows_early(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the logits are handed on one slot early."""
    rows = run_target(model, cache, tree, layout)
    return np.concatenate([rows[1:], rows[-1:]])


def rows_of_parent(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: every node is given its parent's logits."""
    rows = run_target(model, cache, tree, layout)
    return np.asarray(rows[np.maximum(tree.parents, 0)])


def rows_of_elder_sibling(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the index by which rows are gathered names a node's elder sibling, where it has one."""
    rows, index = run_target(model, cache, tree, layout), np.arange(len(tree))
    for node in range(1, len(tree)):
        index[node] = next((v for v in range(node - 1, 0, -1) if tree.parents[v] == tree.parents[node]), node)
    return np.asarray(rows[index])


def rows_of_first_sibling(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the index by which rows are gathered names the first child of a node's parent."""
    rows, index = run_target(model, cache, tree, layout), np.arange(len(tree))
    for node in range(1, len(tree)):
        index[node] = tree.parents.tolist().index(tree.parents[node])
    return np.asarray(rows[index])


def mask_by_node_count(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: a request's mask over the nodes is made once for each number of nodes."""
    return run_target(model, cache, tree, _remembered(cache, len(tree), layout))


def mask_by_parents(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: it is made once for each tree, known by its parents."""
    return run_target(model, cache, tree, _remembered(cache, tuple(tree.parents.tolist()), layout))


def _remembered(cache: DynamicCache, key: Hashable, layout: Layout) -> Layout:
    """The layout with the mask over the nodes that was made under this key for the same request, its own if none was."""
    columns = layout.visible.shape[1] - len(layout.visible)
    masks: dict[Hashable, np.ndarray] = vars(cache).setdefault("masks_of_nodes", {})
    nodes = masks.setdefault(key, layout.visible[:, columns:])
    return replace(layout, visible=np.concatenate([layout.visible[:, :columns], nodes], axis=1))


def sixteen_rows(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: rows from slot 16 on are those of the sixteenth."""
    rows = run_target(model, cache, tree, layout)
    return np.concatenate([rows[:16], np.repeat(rows[15:16], max(len(rows) - 16, 0), axis=0)])


def rows_in_level_order(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the rows are handed on level by level."""
    rows = run_target(model, cache, tree, layout)
    return np.asarray(rows[np.argsort(tree.depths, kind="stable")])


def rows_sorted_and_put_back(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: the rows are sorted level by level and put back."""
    rows, order = run_target(model, cache, tree, layout), np.argsort(tree.depths, kind="stable")
    return np.asarray(rows[order][np.argsort(order)])
