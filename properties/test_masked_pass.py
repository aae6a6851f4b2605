"""The tree-masked pass in the dtypes that decoders run: bit for bit where nothing rounds, within the measured floor elsewhere.

``test_masked_kinds`` holds every model type and cache to double precision; here are the exact model, the rounding dtypes,
what the pass leaves in the cache, and the form of its mask.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.masked import additive_mask, tree_pass
from tree_oracle.strategies import candidate_trees, prefixes, topological_orders
from tree_oracle.target import SequentialTruth, layer_tensors, load_target, prefill
from tree_oracle.tree import CandidateTree

VOCAB = 61
DTYPES = ("float64", "float32", "bfloat16", "float16")

trees = candidate_trees(vocab_size=VOCAB)  # equal siblings and repeated labels are allowed
texts = prefixes(vocab_size=VOCAB)


@cache
def truth(spec: str, dtype: str = "float32", attention: str = "sdpa") -> SequentialTruth:
    return SequentialTruth(load_target(spec, dtype=dtype, attention=attention))


def branch(parents: Any, node: int) -> list[int]:
    """Nodes from the root to ``node``, by following parents."""
    return [] if node < 0 else [*branch(parents, int(parents[node])), node]


def history(prefix: tuple[int, ...], tree: CandidateTree, node: int) -> tuple[int, ...]:
    return (*prefix, *(int(tree.tokens[above]) for above in branch(tree.parents, node)[1:]))


def rooted(prefix: tuple[int, ...], tree: CandidateTree) -> CandidateTree:
    return CandidateTree([prefix[-1], *tree.tokens[1:].tolist()], tree.parents)


def masked(model: Any, prefix: tuple[int, ...], tree: CandidateTree) -> tuple[np.ndarray, Any]:
    """Rows, and the cache afterwards; positions and mask written out."""
    kept, past, count = prefill(model, prefix[:-1]), len(prefix) - 1, len(tree)
    seen = np.zeros((count, past + count), dtype=bool)
    seen[:, :past] = True
    for node in range(count):
        seen[node, [past + above for above in branch(tree.parents, node)]] = True
    positions = np.array([past + len(branch(tree.parents, node)) - 1 for node in range(count)])
    return tree_pass(model, kept, tree.tokens, positions, seen), kept


@pytest.mark.parametrize("dtype", DTYPES)
@given(texts, trees)
def test_on_the_exact_model_rows_are_sequential_rows_bit_for_bit(
    dtype: str, prefix: tuple[int, ...], drawn: CandidateTree
) -> None:
    """In every dtype the row of each node is, in every bit, the row of an ordinary run over its own history."""
    tree = rooted(prefix, drawn)
    rows, _ = masked(truth("exact", dtype).target.model, prefix, tree)
    expected = truth("exact", dtype).rows([history(prefix, tree, node) for node in range(len(tree))])
    assert rows.dtype == (np.float64 if dtype == "float64" else np.float32)
    assert np.array_equal(rows, expected)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("spec", "attention", "dtype"),
    [
        *[
            (spec, attention, "float32")
            for spec in ("tiny:gpt2", "tiny:llama", "tiny:qwen3")
            for attention in ("eager", "sdpa")
        ],
        ("tiny:qwen3", "eager", "bfloat16"),
        ("tiny:qwen3", "sdpa", "bfloat16"),
    ],
)
@settings(max_examples=4)  # one pass in float64 per node of a real architecture
@given(prefix=texts, drawn=trees)
def test_on_real_architectures_rows_stay_within_the_measured_floor(
    spec: str, attention: str, dtype: str, prefix: tuple[int, ...], drawn: CandidateTree
) -> None:
    """No node's row is farther from the float64 run over its history than the floor that was measured without any tree."""
    tree, found = rooted(prefix, drawn), truth(spec, dtype, attention)
    rows, _ = masked(found.target.model, prefix, tree)
    expected = found.rows([history(prefix, tree, node) for node in range(len(tree))])
    assert np.abs(rows - expected).max() <= found.noise().allowed


@given(texts, trees)
def test_the_cache_grows_by_one_row_per_node(prefix: tuple[int, ...], drawn: CandidateTree) -> None:
    """Behind the prefix stands one row per node in slot order: the row that an ordinary run over its history ends with."""
    tree, found = rooted(prefix, drawn), truth("exact")
    _, kept = masked(found.target.model, prefix, tree)
    for node in range(len(tree)):
        alone = found.cache(history(prefix, tree, node))
        for (keys, values), cold in zip(layer_tensors(kept), alone, strict=True):
            assert keys.shape[-2] == values.shape[-2] == len(prefix) - 1 + len(tree)
            at = len(prefix) - 1 + node
            assert np.array_equal(keys[0, :, at].numpy(), cold.keys.numpy()[:, -1])
            assert np.array_equal(values[0, :, at].numpy(), cold.values.numpy()[:, -1])


@given(texts, trees, st.data())
def test_storage_order_does_not_matter(prefix: tuple[int, ...], drawn: CandidateTree, data: st.DataObject) -> None:
    """The same tree stored in another order has the same rows at the same nodes, bit for bit."""
    tree = rooted(prefix, drawn)
    order = data.draw(topological_orders(tree))
    stored = tree.stored(order)
    rows, _ = masked(truth("exact").target.model, prefix, tree)
    moved, _ = masked(truth("exact").target.model, prefix, CandidateTree(stored.tokens, stored.parents))
    assert np.array_equal(moved, rows[list(order)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_mask_has_the_one_form_that_every_kernel_reads_right(dtype: str) -> None:
    """Additive, four axes, in the model's own dtype: 0 where visible and the lowest finite number elsewhere."""
    model = load_target("exact", dtype=dtype).model
    mask = additive_mask(np.array([[True, False], [True, True]]), model)
    low = torch.finfo(model.dtype).min
    assert mask.dtype == model.dtype
    assert mask.tolist() == [[[[0.0, low], [0.0, 0.0]]]]
