"""Speculation that did not run, that ran where nobody looks, or that is counted without having run. None changes a token."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from msgspec.structs import replace
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.parts import Rows, run_target, work_of
from tree_oracle.record import Work
from tree_oracle.target import forward_with_cache, layer_tensors, set_layer_tensors
from tree_oracle.tree import CandidateTree, Layout

_FEW = 5  # nodes that a captured graph was made for


def one_by_one(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: speculation is off; every node is run by itself, over the rows of the prefix and its ancestors."""
    first, rows = int(cache.get_seq_length()), []
    for node in range(len(tree)):
        seen = [*range(first), *(first + ancestor for ancestor in tree.path(node)[:-1])]
        alone = copy.deepcopy(cache)
        for layer, parts in enumerate(layer_tensors(cache)):
            set_layer_tensors(alone, layer, *(part[..., seen, :] for part in parts))
        ids = torch.tensor([[int(tree.tokens[node])]], device=model.device)
        rows.append(forward_with_cache(model, ids, cache=alone)[0, -1])
        for layer, (keys, values) in enumerate(layer_tensors(alone)):
            cache.update(keys[..., -1:, :], values[..., -1:, :], layer)
    return np.asarray(torch.stack(rows).float().cpu().numpy())


def one_by_one_beside(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: a draft model, which is a copy of the target, runs the nodes one by one, and the target runs them in one pass."""
    one_by_one(_copy_of(model), copy.deepcopy(cache), tree, layout)
    return run_target(model, cache, tree, layout)


def few_nodes_unseen(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: a tree of few nodes is run by a copy of the target, as a captured graph would, where no tap sees it."""
    return run_target(_copy_of(model) if len(tree) <= _FEW else model, cache, tree, layout)


def few_nodes_warmed(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: the copy is run over such a tree too, and what it makes of it is thrown away."""
    few_nodes_unseen(_copy_of(model), copy.deepcopy(cache), tree, layout)
    return run_target(model, cache, tree, layout)


def every_round_counted(tree: CandidateTree) -> Work:
    """Fault: a round without a draft counts as one that verified one."""
    return replace(work_of(tree), rounds=1)


def rounds_with_leaves_counted(tree: CandidateTree) -> Work:
    """Twin: a round is counted if some node has a parent."""
    return replace(work_of(tree), rounds=int(any(parent >= 0 for parent in tree.parents.tolist())))


@lru_cache(maxsize=2)
def _copy_of(model: PreTrainedModel) -> Any:
    return copy.deepcopy(model)
