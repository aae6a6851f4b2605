"""Whole generations on models with windows: several rounds of the reference decoder are plain greedy decoding.

A cache of windows cannot be committed to: the reference keeps every row, and what it keeps is what a cold run leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DynamicCache, StaticCache

from tree_oracle.decoder import HalfRightDraft, Parts
from tree_oracle.decoder.commit import keep_path
from tree_oracle.decoder.session import Request
from tree_oracle.record import EndReason, LayerRows, Limits, Round, Unsupported
from tree_oracle.target import SequentialTruth, forward_with_cache, load_target
from tree_oracle.target.tiny_configurations import EAGER_ONLY, WINDOW

EXACT = (
    "exact:layers=full+sliding,window=4",
    "exact:layers=chunked+full,chunk=5",
    "exact:layers=sliding+chunked,window=3,chunk=4",
)
TINY = tuple(f"tiny:{name}" for name in ("cohere2", "gemma2", "gemma3", "gptoss", "llama4", "mistral"))

FEW = max(2, settings().max_examples // 20)  # a real architecture takes 5 ms a pass in float64


@cache
def truth(spec: str) -> SequentialTruth:
    """Tiny models in double precision, where no two tokens nearly tie."""
    attention = "eager" if spec[5:] in EAGER_ONLY else "sdpa"
    return SequentialTruth(load_target(spec, dtype="float64" if spec in TINY else "float32", attention=attention))


def gap(layers: Sequence[LayerRows], cold: Sequence[LayerRows]) -> float:
    """The largest difference between two caches of one shape."""
    pairs = [
        (one, other)
        for a, b in zip(layers, cold, strict=True)
        for one, other in ((a.keys, b.keys), (a.values, b.values))
    ]
    assert all(one.shape == other.shape for one, other in pairs)
    return max(
        (float(np.abs(np.subtract(one.numpy(), other.numpy())).max(initial=0)) for one, other in pairs), default=0.0
    )


def rounds_of(spec: str, prompt: Sequence[int], count: int) -> list[Round]:
    """A whole session. After every round the cache is compared with a cold run of the committed tokens without the newest."""
    found, allowed = truth(spec), 0.0 if spec in EXACT else 1e-9
    request = Request(found.target, Parts(), prompt, Limits(count))
    draft, rounds = HalfRightDraft(found.target), list[Round]()
    while request.ended is None:
        rounds.append(request.step(draft(request.committed)))
        assert gap(request.cache(), found.cache(request.committed[:-1])) <= allowed
    return rounds


@pytest.mark.versions
@pytest.mark.parametrize("spec", [*EXACT, *TINY])
def test_a_session_that_outgrows_the_window_is_plain_greedy_decoding(spec: str) -> None:
    """From below the window to beyond twice its size, through accepted and rejected nodes, the text is the plain one."""
    prompt, count = (7, 1, 30), 2 * WINDOW + 3
    rounds = rounds_of(spec, prompt, count)
    emitted = [token for round_ in rounds for token in round_.emitted]
    due = truth(spec).greedy(prompt, Limits(count))
    assert (tuple(emitted), rounds[-1].end) == (due.tokens, EndReason.CAP)
    assert any(round_.accepted for round_ in rounds)
    assert any(len(round_.accepted or ()) < len(round_.tokens or ()) - 1 for round_ in rounds)
    assert len(rounds) > 4


@pytest.mark.parametrize("spec", [*EXACT, *TINY])
@settings(max_examples=FEW)
@given(prompt=st.lists(st.integers(0, 60), min_size=1, max_size=2 * WINDOW), count=st.integers(1, 6))
def test_any_session_is_plain_greedy_decoding(spec: str, prompt: list[int], count: int) -> None:
    """Wherever a session starts, below, at or above the window, it emits the plain text and keeps the plain cache."""
    emitted = [token for round_ in rounds_of(spec, prompt, count) for token in round_.emitted]
    assert tuple(emitted) == truth(spec).greedy(prompt, Limits(count)).tokens


UNKEPT: dict[str, Callable[[Any], Any]] = {
    "DynamicSlidingWindowLayer": lambda config: DynamicCache(config=config),
    "StaticSlidingWindowLayer": lambda config: StaticCache(config=config, max_cache_len=16),
}


@pytest.mark.parametrize("kind", UNKEPT)
def test_a_cache_that_cannot_keep_a_path_is_refused(kind: str) -> None:
    """A layer that drops rows is named with what to use instead, and the cache stays as it was."""
    model = truth("tiny:mistral").target.model
    kept = UNKEPT[kind](model.config)
    forward_with_cache(model, torch.tensor([[1, 2, 3]]), cache=kept)
    with pytest.raises(Unsupported, match=f"layer 0 of the cache is a {kind}, which keeps no path.*use a DynamicCache"):
        keep_path(kept, 1, np.array([0]))
    assert int(kept.get_seq_length()) == 3
