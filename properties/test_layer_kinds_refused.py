"""Windows and chunks are read from the configuration and counted in positions; what is not supported is refused by name.

That the reasons given are true is shown in ``test_layer_kinds_reasons``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, DynamicCache, StaticCache, cache_utils

from tree_oracle.masked import layer_masks, refuse_cache, refuse_unsupported, tree_pass
from tree_oracle.masked.kinds import MASK_PER_KIND, ONE_MASK, layer_kinds, near, size_of
from tree_oracle.masked.support import PROVEN_MODEL_TYPES, REASONS
from tree_oracle.record import Unsupported, UsageError
from tree_oracle.target import forward_with_cache, load_target
from tree_oracle.target.tiny_configurations import CONFIGURATIONS, WINDOW

FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"


def config(kind: str, **values: Any) -> Any:
    return AutoConfig.for_model(kind, **values)


def looked_at(found: Any, attention: str = "eager") -> Any:
    """As much of a model as is looked at."""
    found._attn_implementation = attention
    return SimpleNamespace(config=found)


# ------------------------------------------------------------------------------------------------------- windows as laws


@given(
    st.integers(1, 9), st.lists(st.integers(0, 30), min_size=1, max_size=6), st.lists(st.integers(0, 30), max_size=9)
)
def test_a_window_and_a_chunk_are_what_they_say(size: int, queries: list[int], keys: list[int]) -> None:
    """Cell by cell: a window holds the node's own position and the ``size - 1`` before it, a chunk its own stretch of ``size``."""
    slides = near(SLIDING, size, np.array(queries), np.array(keys, dtype=np.int64))
    chunks = near(CHUNKED, size, np.array(queries), np.array(keys, dtype=np.int64))
    for (row, query), (column, key) in ((q, k) for q in enumerate(queries) for k in enumerate(keys)):
        assert slides[row, column] == (key not in range(query - size + 1) and key >= query - size + 1)
        start = next(first for first in range(0, 31, size) if query in range(first, first + size))
        assert chunks[row, column] == (key in range(start, start + size))
    assert near(FULL, 0, np.array(queries), np.array(keys, dtype=np.int64)).all()


LAYERS: dict[str, tuple[str, dict[str, Any], tuple[str, ...], int]] = {
    "llama": ("llama", {"num_hidden_layers": 2}, (FULL, FULL), 0),
    "mistral with a window": ("mistral", {"num_hidden_layers": 2, "sliding_window": 6}, (SLIDING, SLIDING), 6),
    "mistral without": ("mistral", {"num_hidden_layers": 1, "sliding_window": None}, (FULL,), 0),
    "gemma 3": ("gemma3_text", {"num_hidden_layers": 6, "sliding_window": 5}, (*[SLIDING] * 5, FULL), 5),
    "llama 4": ("llama4_text", {"num_hidden_layers": 4, "attention_chunk_size": 7}, (*[CHUNKED] * 3, FULL), 7),
    "qwen 3": ("qwen3", {"num_hidden_layers": 2}, (FULL, FULL), 0),
}


@pytest.mark.versions
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_read_from_the_configuration(name: str) -> None:
    """Each layer's kind is what the architecture makes of it by default, with the size that the configuration gives."""
    kind, values, kinds, size = LAYERS[name]
    found = config(kind, **values)
    assert layer_kinds(found) == kinds
    assert [size_of(found, each) for each in kinds] == [0 if each == FULL else size for each in kinds]


def test_cached_rows_without_positions_are_refused() -> None:
    """Positions of cached rows are one for each, or none at all."""
    with pytest.raises(UsageError, match="2 positions for 3 cached rows; expected one each"):
        layer_masks(config("llama"), np.ones((1, 4), dtype=bool), np.array([3]), np.array([0, 1]))


# ------------------------------------------------------------------------------------------------------ refused by name

REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "unknown": ("phi", {}, "eager", "model type 'phi': not proven equal to sequential runs; proven are cohere2, "),
    "bloom": ("bloom", {}, "eager", "no tree-masked pass for model type 'bloom': its ALiBi bias counts slots"),
    "mpt": ("mpt", {}, "eager", "no tree-masked pass for model type 'mpt': its ALiBi bias counts slots"),
    "recurrent": (
        "minimax",
        {},
        "eager",
        "model type 'minimax': its recurrent layers carry one state from slot to slot",
    ),
    "convolution": ("lfm2", {}, "eager", "model type 'lfm2': its convolutions mix neighbouring slots"),
    "kernel": (
        "llama",
        {},
        "flash_attention_2",
        "attention implementation 'flash_attention_2' is not proven for dense tree masks",
    ),
    "types that nobody reads": (
        "llama",
        {"num_hidden_layers": 2, "layer_types": [FULL, SLIDING]},
        "sdpa",
        "layer 1 is 'sliding_attention', but model type 'llama' hands every layer one mask, here 'full_attention'",
    ),
    "another kind of layer": (
        "qwen3",
        {"num_hidden_layers": 2, "layer_types": [FULL, "linear_attention"]},
        "sdpa",
        "layer 1 is 'linear_attention'; a tree mask is obeyed by full_attention, sliding_attention and chunked_attention",
    ),
    "a cap under sdpa": ("gemma2", {}, "sdpa", "'sdpa' leaves out the cap on the attention scores; use eager"),
    "both ways": ("gemma3_text", {"use_bidirectional_attention": True}, "eager", "told to use bidirectional attention"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_models_are_refused_by_name(name: str) -> None:
    """A type that is not proven, a layer type that nobody reads, a setting and a kernel are each named, with the reason."""
    kind, values, attention, message = REFUSED[name]
    with pytest.raises(Unsupported, match=message):
        refuse_unsupported(looked_at(config(kind, **values), attention), windows=True)


@pytest.mark.versions
@pytest.mark.parametrize("kind", ["mistral", "gemma2", "gemma3_text", "gpt_oss", "llama4_text"])
def test_windows_are_refused_where_the_caller_has_one_mask(kind: str) -> None:
    """Who does not say that windows are kept gets no model that has some."""
    refuse_unsupported(looked_at(config(kind)), windows=True)
    due = CHUNKED if kind == "llama4_text" else SLIDING
    with pytest.raises(
        Unsupported, match=f"layer 0 is '{due}': one mask handed to every layer would let it see outside"
    ):
        refuse_unsupported(looked_at(config(kind)))


def test_what_is_refused_for_a_reason_is_not_allowed() -> None:
    """No model type is both proven and known to be wrong, and none is handed its masks in two ways."""
    assert not set(REASONS) & set(PROVEN_MODEL_TYPES)
    assert not set(ONE_MASK) & set(MASK_PER_KIND)


# ----------------------------------------------------------------------------------------------------- refused caches


@pytest.mark.versions
def test_a_cache_that_has_dropped_what_is_seen_is_refused() -> None:
    """Layers made for a smaller window than the model's have dropped rows that a node sees: the first is named."""
    model = load_target("tiny:mistral").model
    smaller = config("mistral", num_hidden_layers=2, sliding_window=WINDOW - 2)
    kept = DynamicCache(config=smaller)
    forward_with_cache(model, torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8]]), cache=kept)
    root = (np.array([9]), np.array([8]), np.ones((1, 9), dtype=bool))
    with pytest.raises(UsageError, match="layer 0 of the cache has dropped row 1, which a node still sees"):
        tree_pass(model, kept, *root)


@pytest.mark.versions
def test_a_cache_of_another_length_is_refused() -> None:
    """A mask made for more or fewer rows than the cache holds is named, whatever the cache keeps of them."""
    model = load_target("tiny:gemma3").model
    for kept in (DynamicCache(), DynamicCache(config=model.config)):
        with pytest.raises(UsageError, match="the cache holds 0 rows; the mask is made for 1"):
            tree_pass(model, kept, np.array([9]), np.array([1]), np.ones((1, 2), dtype=bool))


def test_layers_of_one_kind_that_differ_are_refused() -> None:
    """One mask cannot have the columns of a layer that keeps a window and of one that keeps everything."""
    model = load_target("tiny:mistral").model
    kept = DynamicCache(config=model.config)
    kept.layers[1] = DynamicCache(config=config("llama", num_hidden_layers=1)).layers[0]
    forward_with_cache(model, torch.arange(12)[None], cache=kept)
    with pytest.raises(
        Unsupported, match="layers 0 and 1 are 'sliding_attention', but the cache shows them different col"
    ):
        tree_pass(model, kept, np.array([9]), np.array([12]), np.ones((1, 13), dtype=bool))


@pytest.mark.versions
def test_a_static_window_that_takes_one_token_at_a_time_is_refused() -> None:
    """Where this release cannot write a tree into a full static window, the layer is named; elsewhere its columns are known."""
    kept = StaticCache(config=CONFIGURATIONS["mistral"](), max_cache_len=16)
    if hasattr(cache_utils, "StaticSlidingWindowLayer"):
        refuse_cache(kept)
    else:
        with pytest.raises(
            Unsupported, match="layer 0 of the cache is a SlidingWindowLayer, whose columns in a pass over sev"
        ):
            refuse_cache(kept)
