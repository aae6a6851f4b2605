"""The tree-masked pass, model type by model type and cache by cache: its rows are those of ordinary runs over each path.

Here are the models whose layers all see everything; ``test_layer_kinds_rows`` has those with windows and chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DynamicCache, EncoderDecoderCache, StaticCache

from tree_oracle.masked import refuse_cache, tree_pass
from tree_oracle.record import Unsupported, UsageError
from tree_oracle.target import Target, forward_with_cache, load_target

SPECS = {"gpt2": "tiny:gpt2", "llama": "tiny:llama", "mixtral": "tiny:mixtral", "qwen3": "tiny:qwen3"}
SPECS["tree_oracle_exact"] = "exact"
SLOTS = 24  # of a static cache: more than prefix and nodes ever fill

Caches = Callable[[Any], Any]
CACHES: dict[str, Caches] = {
    "dynamic": lambda model: DynamicCache(),
    "static": lambda model: StaticCache(config=model.config, max_cache_len=SLOTS),
}


@cache
def target(kind: str, attention: str) -> Target:
    return load_target(SPECS[kind], dtype="float64", attention=attention)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Prefix (root last), tokens of the nodes (root first) and their parents. Siblings may hold the same token."""
    tokens = st.integers(0, 60)
    prefix = draw(st.lists(tokens, min_size=1, max_size=9))
    nodes = [prefix[-1], *draw(st.lists(tokens, min_size=1, max_size=10))]
    return prefix, nodes, [-1, *(draw(st.integers(0, node - 1)) for node in range(1, len(nodes)))]


def path(parents: list[int], node: int) -> list[int]:
    return [] if node < 0 else [*path(parents, parents[node]), node]


def plain_row(model: Any, text: list[int]) -> np.ndarray:
    """One ordinary pass, written out: no cache, no mask, no positions."""
    with torch.no_grad():
        return np.asarray(model(input_ids=torch.tensor([text]), use_cache=False).logits[0, -1].double().numpy())


def sight(prefix: list[int], parents: list[int]) -> np.ndarray:
    """True where a node sees a column: the prefix without its root, then its own path."""
    past = len(prefix) - 1
    seen = np.zeros((len(parents), past + len(parents)), dtype=bool)
    seen[:, :past] = True
    for node in range(len(parents)):
        seen[node, [past + above for above in path(parents, node)]] = True
    return seen


def masked_rows(
    model: Any, kept: Any, prefix: list[int], nodes: list[int], parents: list[int], seen: np.ndarray
) -> np.ndarray:
    past = len(prefix) - 1
    if past:
        forward_with_cache(model, torch.tensor([prefix[:past]]), cache=kept)
    positions = np.array([past + len(path(parents, node)) - 1 for node in range(len(nodes))])
    return np.asarray(tree_pass(model, kept, np.array(nodes), positions, seen), dtype=np.float64)


@pytest.mark.parametrize("kept", sorted(CACHES))
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", sorted(SPECS))
@settings(max_examples=6)  # a pass per path in double precision: the mixture of experts takes 20 ms each
@given(tree=trees())
def test_rows_are_those_of_ordinary_runs(
    kind: str, attention: str, kept: str, tree: tuple[list[int], list[int], list[int]]
) -> None:
    """In float64 the row of every node is within 1e-9 of the last row of a plain run over its path; exactly it if exact."""
    prefix, nodes, parents = tree
    model = target(kind, attention).model
    rows = masked_rows(model, CACHES[kept](model), prefix, nodes, parents, sight(prefix, parents))
    for node, row in enumerate(rows):
        text = [*prefix, *(nodes[above] for above in path(parents, node)[1:])]
        gap = np.abs(row - plain_row(model, text)).max()
        assert gap == 0 if kind == "tree_oracle_exact" else gap < 1e-9


@pytest.mark.parametrize("kept", sorted(CACHES))
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", sorted(SPECS))
def test_every_bit_of_the_mask_matters(kind: str, attention: str, kept: str) -> None:
    """A node that sees one column more or one fewer gets another row, a thousand times farther off than is allowed."""
    prefix, nodes, parents = [5, 9, 2, 7], [7, 3, 4, 8], [-1, 0, 0, 1]
    model = target(kind, attention).model
    true = masked_rows(model, CACHES[kept](model), prefix, nodes, parents, sight(prefix, parents))
    for node in range(len(nodes)):
        for column in range(len(prefix) - 1 + len(nodes)):
            seen = sight(prefix, parents)
            seen[node, column] ^= True
            rows = masked_rows(model, CACHES[kept](model), prefix, nodes, parents, seen)
            assert np.abs(rows[node] - true[node]).max() > 1e-6


def test_a_static_cache_that_does_not_fit_is_refused() -> None:
    """Too few slots, and a mask made for another number of cached rows, are named before anything is written."""
    model = target("llama", "sdpa").model
    prefix, nodes, parents = [5, 9, 2], [2, 3, 4], [-1, 0, 0]
    short = StaticCache(config=model.config, max_cache_len=4)
    with pytest.raises(UsageError, match="has 4 slots; 2 rows and 3 nodes need 5"):
        masked_rows(model, short, prefix, nodes, parents, sight(prefix, parents))
    whole = StaticCache(config=model.config, max_cache_len=SLOTS)
    with pytest.raises(UsageError, match="the cache holds 2 rows; the mask is made for 3"):
        masked_rows(model, whole, prefix, nodes, parents, sight([1, *prefix], parents))
    assert int(whole.get_seq_length()) == 2


class OwnCache(DynamicCache):
    """A cache of somebody's own making."""


def test_other_caches_are_refused_by_name() -> None:
    """A cache of another class, and a derived one, are each named."""
    with pytest.raises(Unsupported, match="over a EncoderDecoderCache"):
        refuse_cache(EncoderDecoderCache(DynamicCache(), DynamicCache()))
    with pytest.raises(Unsupported, match="over a OwnCache: not proven; use a DynamicCache or StaticCache"):
        refuse_cache(OwnCache())
