"""Ties of the exact model: planted pairs are bit-equal after every history, and nothing else ever ties."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import Limits
from tree_oracle.target import ExactLMConfig, ExactLMForCausalLM, SequentialTruth, load_target

VOCAB = 61
EVERY = [
    (token, token + 1) for token in range(0, 60, 2)
]  # 60 of the 61 tokens: the largest logit is nearly always tied

texts = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=15)


@cache
def tied_model(*ties: tuple[int, int]) -> Any:
    return ExactLMForCausalLM(ExactLMConfig(vocab_size=VOCAB, ties=ties))


@st.composite
def pairings(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    """Some disjoint pairs, in any order, larger id first or second."""
    tokens = draw(st.permutations(range(VOCAB)))
    count = draw(st.integers(0, 5))
    return tuple((tokens[2 * pair], tokens[2 * pair + 1]) for pair in range(count))


def classes(row: np.ndarray) -> set[frozenset[int]]:
    """The sets of tokens with bit-equal logits."""
    return {frozenset(np.flatnonzero(row == value).tolist()) for value in row}


@given(pairings(), texts, st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]))
def test_exactly_the_planted_pairs_tie(ties: tuple[tuple[int, int], ...], text: list[int], dtype: torch.dtype) -> None:
    """After any history two logits are equal if and only if their tokens were paired, in any storage."""
    model: Any = ExactLMForCausalLM(ExactLMConfig(vocab_size=VOCAB, ties=ties))
    model.to(dtype)
    alone = {frozenset({token}) for token in range(VOCAB) if all(token not in pair for pair in ties)}
    for row in model(torch.tensor([text])).logits[0].double().numpy():
        assert classes(row) == alone | {frozenset(pair) for pair in ties}


@given(texts)
def test_ties_change_no_other_logit(text: list[int]) -> None:
    """Planting a tie copies the first token's logit and leaves every other one as it was."""
    tied = tied_model((9, 4), (20, 50))(torch.tensor([text])).logits[0]
    plain = tied_model()(torch.tensor([text])).logits[0].clone()
    plain[:, 4], plain[:, 50] = plain[:, 9], plain[:, 20]
    assert torch.equal(tied, plain)


@pytest.mark.parametrize("vocab", [2, 3, 64, 65, 1000, 65_536])
def test_no_logits_tie_in_any_vocabulary(vocab: int) -> None:
    """At powers of two, beside them and at the upper bound, all logits of a row differ, and in float32 as in float64."""
    config = ExactLMConfig(vocab_size=vocab, max_position_embeddings=16)
    ids = torch.arange(5)[None] % vocab
    model = ExactLMForCausalLM(config)
    rows = model(ids).logits[0]
    assert all(len(torch.unique(row)) == vocab for row in rows)
    assert torch.equal(model.double()(ids).logits[0], rows.double())


@given(texts)
def test_plain_greedy_takes_the_smaller_of_tied_tokens(text: list[int]) -> None:
    """Where the largest logit is tied, the smallest token id is emitted, and that happens nearly always."""
    tokens = _everything_tied().greedy(text, Limits(max_new_tokens=4)).tokens
    for count, token in enumerate(tokens):
        row = tied_model(*EVERY)(torch.tensor([[*text, *tokens[:count]]])).logits[0, -1]
        equal = torch.nonzero(row == row.max()).flatten().tolist()
        assert token == min(equal)
        assert len(equal) == (1 if token == VOCAB - 1 else 2)


@cache
def _everything_tied() -> SequentialTruth:
    return SequentialTruth(load_target("exact:ties=" + "+".join(f"{one}-{other}" for one, other in EVERY)))
