"""Plain greedy decoding emits the argmax of every history and stops where the first limit is met."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.record import Continuation, EndReason, Limits, Unsupported, UsageError
from tree_oracle.target import HistoryError, SequentialTruth, load_target
from tree_oracle.target.greedy_plain import plain_greedy

CONTEXT = 24
SPEC = f"exact:positions={CONTEXT},vocab=7"  # a small vocabulary meets end tokens often

prompts = st.lists(st.integers(0, 6), min_size=1, max_size=CONTEXT + 2)
limits = st.builds(
    Limits,
    st.integers(0, CONTEXT + 2),
    st.lists(st.integers(0, 8), max_size=3).map(tuple),
    st.none() | st.integers(0, CONTEXT + 2),
)


@cache
def truth(spec: str = SPEC, dtype: str = "float32") -> SequentialTruth:
    return SequentialTruth(load_target(spec, dtype=dtype))


def stream(model: Any, prompt: list[int], count: int) -> list[int]:
    """The next tokens without any stopping rule: the smallest id among the largest logits of an ordinary pass."""
    text = list(prompt)
    while len(text) < len(prompt) + count:
        row = model(torch.tensor([text])).logits[0, -1]
        text.append(row.tolist().index(row.max()))
    return text[len(prompt) :]


def cut(tokens: list[int], bounds: dict[EndReason, int]) -> Continuation:
    """The first tokens up to the nearest bound; of equal bounds the first one is the reason."""
    end = min(bounds, key=lambda reason: bounds[reason])
    return Continuation(tuple(tokens[: bounds[end]]), end)


@given(prompts, limits)
def test_generation_ends_at_the_first_limit(prompt: list[int], limit: Limits) -> None:
    """End tokens, cap, length and the model's own context cut one and the same stream of tokens, the end token included."""
    room = max(0, min(CONTEXT, limit.max_length if limit.max_length is not None else CONTEXT) - len(prompt))
    tokens = stream(truth().target.model, prompt, min(room, limit.max_new_tokens))
    met = [count for count, token in enumerate(tokens, start=1) if token in limit.eos_ids]
    bounds = {EndReason.EOS: met[0] if met else 10**6, EndReason.CAP: limit.max_new_tokens, EndReason.CONTEXT: room}
    assert truth().greedy(prompt, limit) == cut(tokens, bounds)


@given(prompts, st.integers(0, 5), st.integers(1, 3), st.integers(0, 9))
def test_every_stretch_can_be_a_stop_sequence(prompt: list[int], start: int, size: int, cap: int) -> None:
    """Naming any stretch of the stream a stop sequence ends the text where it first stands whole, unless the cap comes first."""
    tokens = stream(truth().target.model, prompt, 9)
    sequence = tuple(tokens[start : start + size])
    first = next(i for i in range(len(tokens)) if tuple(tokens[i : i + size]) == sequence) + size
    end = (first, EndReason.STOP) if first <= cap else (cap, EndReason.CAP)
    found = truth().greedy(prompt, Limits(cap, stop=((*sequence, 0, 0, 0), sequence)))
    assert found == Continuation(tuple(tokens[: end[0]]), end[1])


def test_an_end_token_outweighs_a_stop_sequence_and_that_a_cap() -> None:
    """Where several end the text at one token, the first reason in the order of the enumeration is told."""
    tokens = stream(truth().target.model, [3], 2)
    sequence = tuple(tokens)
    assert truth().greedy([3], Limits(2, (tokens[1],) if tokens[0] != tokens[1] else (), None, (sequence,))).end in (
        EndReason.EOS,
        EndReason.STOP,
    )
    assert truth().greedy([3], Limits(2, (), 3, (sequence,))) == Continuation(sequence, EndReason.STOP)
    assert list(EndReason) == [EndReason.EOS, EndReason.STOP, EndReason.CAP, EndReason.CONTEXT]


def test_a_stop_sequence_in_the_prompt_ends_nothing() -> None:
    """Only emitted tokens can be part of a stop sequence, also where it begins with the last prompt token."""
    tokens = stream(truth().target.model, [3, 4], 3)
    found = truth().greedy([3, 4], Limits(3, stop=((4, tokens[0]), (3, 4))))
    assert found == Continuation(tuple(tokens), EndReason.CAP)


def test_an_empty_stop_sequence_is_refused() -> None:
    """A sequence without tokens would end every text before it begins."""
    with pytest.raises(UsageError, match="a stop sequence is empty; expected at least one token"):
        Limits(3, stop=((1,), ()))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(1, 6))
def test_every_token_can_be_the_end(prompt: list[int], place: int) -> None:
    """Naming the token at any place of the stream ends the text at its first occurrence, and nothing follows it."""
    tokens = stream(truth().target.model, prompt, 6)
    end = tokens[place - 1]
    found = truth().greedy(prompt, Limits(6, eos_ids=(end,)))
    assert found == Continuation(tuple(tokens[: tokens.index(end) + 1]), EndReason.EOS)


def test_an_end_token_in_the_prompt_ends_nothing() -> None:
    """Only emitted tokens can end the text."""
    prompt = [0, 1, 2, 3, 4, 5, 6]
    assert truth().greedy(prompt, Limits(0, eos_ids=(6,))) == Continuation((), EndReason.CAP)
    first = stream(truth().target.model, prompt, 1)
    other = next(token for token in range(7) if token != first[0])
    assert truth().greedy([*prompt, other], Limits(3, eos_ids=(other,))).tokens != ()


def test_a_prompt_that_fills_the_context_emits_nothing() -> None:
    """At the bound, above it, and under the caller's own bound; a cap of 0 comes first."""
    for length in (CONTEXT, CONTEXT + 5):
        assert truth().greedy([1] * length, Limits(4)) == Continuation((), EndReason.CONTEXT)
    assert truth().greedy([1] * 5, Limits(4, max_length=5)) == Continuation((), EndReason.CONTEXT)
    assert truth().greedy([1] * 5, Limits(0, max_length=5)) == Continuation((), EndReason.CAP)
    assert len(truth().greedy([1] * (CONTEXT - 1), Limits(4)).tokens) == 1


@pytest.mark.parametrize("spec", ["tiny:gpt2", "tiny:llama", "tiny:qwen3"])
@settings(max_examples=3)  # real architectures take 2 ms a token
@given(st.lists(st.integers(0, 255), min_size=1, max_size=30))
def test_greedy_runs_in_the_targets_own_dtype(spec: str, prompt: list[int]) -> None:
    """In bfloat16 the tokens are those of bfloat16 passes, whatever float64 would have chosen."""
    found = truth(spec, "bfloat16").greedy(prompt, Limits(8))
    assert found == Continuation(tuple(stream(truth(spec, "bfloat16").target.model, prompt, 8)), EndReason.CAP)


@pytest.mark.parametrize("limit", [Limits(-1), Limits(3, max_length=-2)])
def test_less_than_nothing_is_refused(limit: Limits) -> None:
    """A negative cap or length is named."""
    with pytest.raises(UsageError, match="asks for less than nothing"):
        truth().greedy([1], limit)


def test_a_prompt_without_rows_is_refused() -> None:
    """An empty prompt and foreign tokens have no continuation."""
    with pytest.raises(HistoryError, match="empty"):
        truth().greedy([], Limits(3))
    with pytest.raises(HistoryError, match="token 7 of a history"):
        truth().greedy([7], Limits(3))


def test_a_row_without_a_maximum_is_refused() -> None:
    """A NaN compares false with everything, so no token is the greedy one."""
    with pytest.raises(Unsupported, match="the row after 2 tokens holds NaN"):
        plain_greedy(lambda _: np.array([1.0, np.nan]), [1, 1], Limits(1), 10)
