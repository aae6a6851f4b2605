"""Passes whose algebra is right and whose arithmetic is not, and detours through other number formats that round nothing."""

from __future__ import annotations

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.parts import Rows, run_target
from tree_oracle.tree import CandidateTree, Layout

_NARROW = 16  # rows of a pass, up to which a decoder picks another kernel


def half_rows(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the rows are handed on as bfloat16."""
    return _halved(run_target(model, cache, tree, layout))


def half_rows_of_wide_passes(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the rows of passes over more than sixteen nodes are bfloat16, as from another kernel."""
    rows = run_target(model, cache, tree, layout)
    return _halved(rows) if len(rows) > _NARROW else rows


def double_rows(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: the rows go through float64, which holds them all."""
    rows = run_target(model, cache, tree, layout)
    return rows.astype(np.float64).astype(rows.dtype)


def one_scale(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the rows are quantised to sixteen bits under one scale for all of them."""
    rows = run_target(model, cache, tree, layout)
    step = _largest(rows) / 2**15
    return np.asarray(np.round(rows / step) * step).astype(rows.dtype)


def one_power_of_two(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: the rows are divided by one power of two and multiplied by it again, which rounds nothing."""
    rows = run_target(model, cache, tree, layout)
    step = np.exp2(np.ceil(np.log2(_largest(rows)))).astype(rows.dtype)
    return np.asarray(rows / step * step)


def _halved(rows: Rows) -> Rows:
    return torch.from_numpy(np.ascontiguousarray(rows)).to(torch.bfloat16).to(torch.float32).numpy().astype(rows.dtype)


def _largest(rows: Rows) -> float:
    return float(np.abs(rows).max(initial=np.finfo(rows.dtype).tiny))
