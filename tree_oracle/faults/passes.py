"""Wrong target passes, and detours to the right one."""

from __future__ import annotations

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
