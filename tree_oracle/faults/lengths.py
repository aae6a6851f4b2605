"""Decoders that go by what their cache holds and not by what is committed: wrong as soon as the two differ.

Positions are counted from the number of cached rows, and every node sees all of these. That is right for a cache of the
committed tokens without the newest, which is the twin: the same pass over a cache that is kept rightly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.commit import keep_path
from tree_oracle.decoder.parts import Kept, Rows
from tree_oracle.masked import tree_pass
from tree_oracle.tree import CandidateTree, Layout


def by_cached_rows(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """The target pass behind whatever the cache holds; a node at depth d sits at the number of cached rows + d."""
    return _behind(model, cache, tree, layout, int(cache.get_seq_length()) + tree.depths)


def in_committed_places(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """The target pass behind whatever the cache holds, at the positions of the committed text."""
    return _behind(model, cache, tree, layout, layout.positions)


def _behind(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout, positions: Any) -> Rows:
    cached, nodes = int(cache.get_seq_length()), layout.visible[:, -len(tree) :]
    visible = np.concatenate([np.ones((len(tree), cached), dtype=np.bool_), nodes], axis=1)
    return tree_pass(model, cache, tree.tokens, positions, visible)


def root_run_before(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
    """Fault: the prompt was run to its last token, so the first root is in the cache when it is run again with its tree."""
    cached = layout.visible.shape[1] - len(tree)
    if int(cache.get_seq_length()) == cached:  # nothing is there twice yet
        tree_pass(model, cache, tree.tokens[:1], layout.positions[:1], np.ones((1, cached + 1), dtype=np.bool_))
    return by_cached_rows(model, cache, tree, layout)


def behind_the_first_root(cache: DynamicCache, cached: int, kept: Kept) -> None:
    """The path is kept behind the prompt with its root, one row more than is committed."""
    keep_path(cache, cached + 1, kept)
