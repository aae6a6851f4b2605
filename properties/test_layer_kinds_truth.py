"""Sequential truth of models with windows and chunks: shared runs give the rows of naive ones, and nothing is dropped."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.target import SequentialTruth, load_target
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.target.tiny_configurations import EAGER_ONLY, WINDOW

NAMES = ("cohere2", "gemma2", "gemma3", "gptoss", "llama4", "mistral")


@cache
def truth(name: str) -> SequentialTruth:
    attention = "eager" if name in EAGER_ONLY else "sdpa"
    return SequentialTruth(load_target(f"tiny:{name}", dtype="float64", attention=attention))


def row(model: Any, history: tuple[int, ...]) -> np.ndarray:
    """One ordinary forward pass, written out."""
    with torch.no_grad():
        return np.asarray(model(torch.tensor([history])).logits[0, -1].double().numpy())


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """A prefix below, at or above the window and up to five texts that go on from it, some beyond the next edge."""
    tokens = st.integers(0, 60)
    prefix = tuple(draw(st.lists(tokens, min_size=1, max_size=2 * WINDOW + 2)))
    endings = draw(st.lists(st.lists(tokens, max_size=WINDOW + 2), min_size=1, max_size=5))
    return [prefix, *(prefix + tuple(ending) for ending in endings)]


@pytest.mark.versions
@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=max(4, settings().max_examples // 20)
)  # double precision of a real architecture takes 5 ms a pass
@given(texts=histories())
def test_shared_runs_are_naive_runs_in_double_precision(name: str, texts: list[tuple[int, ...]]) -> None:
    """With and without a cache, every shared row is within 1e-12 of the row of a pass of its own."""
    model = truth(name).target.model
    expected = np.stack([row(model, text) for text in texts])
    for cached in (True, False):
        assert np.abs(shared_rows(model, texts, cached=cached) - expected).max() < 1e-12


@pytest.mark.versions
@pytest.mark.parametrize("name", NAMES)
def test_the_true_cache_keeps_every_row(name: str) -> None:
    """Sliding and chunked layers too show one row per token, and those of a prefix are the first of a longer text."""
    text = list(range(3, 3 + 2 * WINDOW + 3))
    whole, part = truth(name).cache(text), truth(name).cache(text[: WINDOW + 1])
    for layer, first in zip(whole, part, strict=True):
        for rows, fewer in ((layer.keys, first.keys), (layer.values, first.values)):
            assert rows.shape[1] == len(text)
            assert np.abs(np.subtract(rows.numpy()[:, : WINDOW + 1], fewer.numpy())).max() < 1e-12


def test_a_row_depends_on_as_many_tokens_as_two_windows_reach() -> None:
    """Where both layers slide, the token 2 x (window - 1) back moves the row and the one before it does not."""
    text = tuple(range(3, 3 + 3 * WINDOW))
    farthest = len(text) - 1 - 2 * (WINDOW - 1)
    rows = [row(truth("mistral").target.model, (*text[:at], 60, *text[at + 1 :])) for at in (farthest, farthest - 1)]
    plain = row(truth("mistral").target.model, text)
    assert np.abs(rows[0] - plain).max() > 1e-6
    assert np.abs(rows[1] - plain).max() == 0
