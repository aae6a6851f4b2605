"""Work that nobody asked for, counts that nobody did, and detours that cost no pass of the target."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.construct import Draft, TreeSpark
from tree_oracle.construct.laws import histories_of
from tree_oracle.decoder.batch_parts import Tokens
from tree_oracle.decoder.parts import Prefill, Rows, hold, run_target, work_of
from tree_oracle.record import Work
from tree_oracle.target import forward_with_cache, layer_tensors, set_layer_tensors
from tree_oracle.tree import CandidateTree, Layout


def second_pass(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the tree is run twice, the first time over a copy of the cache."""
    run_target(model, copy.deepcopy(cache), tree, layout)
    return run_target(model, cache, tree, layout)


def second_pass_of_draft(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Twin: a draft model, which is a copy of the target, is run over the tree as well."""
    run_target(_draft_of(model), copy.deepcopy(cache), tree, layout)
    return run_target(model, cache, tree, layout)


@lru_cache(maxsize=2)
def _draft_of(model: PreTrainedModel) -> PreTrainedModel:
    return copy.deepcopy(model)


def prefix_every_round(model: PreTrainedModel, cache: Any, tokens: Tokens, fresh: Prefill) -> Any:
    """Fault: the cache is made anew from all committed tokens before every round."""
    return fresh(model, tokens)


def prefix_in_chunks(model: PreTrainedModel, cache: Any, tokens: Tokens, fresh: Prefill) -> Any:
    """Twin: a new text is run two tokens at a time."""
    found = fresh(model, tokens[:2]) if cache is None else cache
    return _run_rest(model, found, tokens)


def newest_row_again(model: PreTrainedModel, cache: Any, tokens: Tokens, fresh: Prefill) -> Any:
    """Fault: the newest cached row is dropped and computed by a pass of its own before every round."""
    found = hold(model, cache, tokens, fresh)
    for layer, (keys, values) in enumerate(layer_tensors(found)):
        set_layer_tensors(found, layer, keys[..., :-1, :], values[..., :-1, :])
    return _run_rest(model, found, tokens)


def warmed_up(model: PreTrainedModel, cache: Any, tokens: Tokens, fresh: Prefill) -> Any:
    """Twin: the target is warmed up with other tokens before a new text."""
    if cache is None:
        fresh(model, (1, 0, 1))
    return hold(model, cache, tokens, fresh)


def _run_rest(model: PreTrainedModel, cache: DynamicCache, tokens: Tokens) -> DynamicCache:
    """Run what is not cached yet, two tokens at a time."""
    import torch

    for first in range(int(cache.get_seq_length()), len(tokens), 2):
        ids = torch.tensor([tokens[first : first + 2]], device=model.device)
        forward_with_cache(model, ids, cache=cache)
    return cache


def root_among_the_packed(tree: CandidateTree) -> Work:
    """Fault: the root is counted as a candidate of the first depth."""
    first, *rest = np.bincount(tree.depths)[1:].tolist() or [0]
    return replace(work_of(tree), packed=(first + 1, *rest))


def packed_by_walking(tree: CandidateTree) -> Work:
    """Twin: the candidates of a depth are counted by the length of their paths."""
    depths = [len(history) - 1 for history in histories_of(tree)]
    return replace(work_of(tree), packed=tuple(depths.count(depth) for depth in range(1, max(depths) + 1)))


def draft_pass_per_level(tree: CandidateTree) -> Work:
    """Fault: the draft's backbone is run once for every level."""
    return replace(work_of(tree), draft_passes=int(tree.depths.max()) + 1)


def one_draft_pass(tree: CandidateTree) -> Work:
    """Twin: the draft's backbone is run once, and that is said."""
    return replace(work_of(tree), draft_passes=1)


def every_parent_asked(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Fault: the draft's head is run over every candidate of a level, and what it says below the frontier's cut is not used."""
    for depth, token in _questions(policy.pool(draft, root).tree):
        if depth <= policy.depth:
            draft.log_probs(depth, token)
    return policy.build(draft, root).tree


def frontier_asked_twice(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Twin: the frontier is asked a second time, where the first answers were not kept."""
    policy.pool(draft, root)
    return policy.build(draft, root).tree


def _questions(pool: CandidateTree) -> Iterator[tuple[int, int]]:
    """For every candidate the depth of its children, and its token."""
    return zip((pool.depths + 1).tolist(), pool.tokens.tolist(), strict=True)
