"""Claim: engines that draw from torch's generators can be judged with scripted coins, without a change of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.adapters.chains import HalfRightChain, LawModel, chain_tokens, room_of
from tree_oracle.adapters.chance import TorchChance, in_order
from tree_oracle.record import Limits, Unsupported
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree

coins = st.lists(st.integers(0, 2**24 - 1).map(lambda coin: coin / 2**24), min_size=64, max_size=64)
weights = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)


@given(coins, st.integers(0, 3), st.integers(0, 3))
def test_uniforms_are_the_coins_in_storage_order(values: list[float], rows: int, columns: int) -> None:
    """rand, rand_like and a generator of the engine's own all give the next coins, each exactly."""
    source = iter(values)
    with TorchChance(source):
        first = torch.rand(rows, columns, generator=torch.Generator())
        second = torch.rand_like(torch.zeros(columns))
        third = torch.rand(())
    assert [*first.ravel().tolist(), *second.tolist(), third.item()] == values[: rows * columns + columns + 1]


@given(coins, st.lists(weights, min_size=1, max_size=3))
def test_a_draw_is_the_first_token_past_its_share(values: list[float], laws: list[list[int]]) -> None:
    """multinomial takes one coin a row: the smallest token whose cumulative weight exceeds u times the sum."""
    source = iter(values)
    with TorchChance(source):
        drawn = [int(torch.multinomial(torch.tensor(law, dtype=torch.float64), 1)) for law in laws]
    due = [int(np.argmax(np.cumsum(law) > u * sum(law))) for law, u in zip(laws, values, strict=False)]
    assert drawn == due


def test_draws_may_be_forced_and_take_no_coin() -> None:
    """A draft that is handed over comes out of the first draws."""
    source = iter([0.9, 0.0])
    with TorchChance(source, forced=[2, 0]):
        drawn = [int(torch.multinomial(torch.tensor([0.5, 0.5, 0.0]), 1)) for _ in range(3)]
    assert drawn == [2, 0, 1]
    assert next(source) == 0.0


def test_chance_of_another_kind_is_refused_and_only_inside() -> None:
    """What cannot be scripted is refused by name; outside the block torch is as before."""
    with pytest.raises(Unsupported, match="draws with randint, which cannot be scripted"), TorchChance(iter([])):
        torch.randint(3, (1,))
    with pytest.raises(Unsupported, match="draws 2 tokens at a time; expected 1"), TorchChance(iter([0.5])):
        torch.multinomial(torch.ones(3), 2)
    assert torch.randint(1, (1,)).tolist() == [0]


def _lazily(tree: CandidateTree, accept: dict[int, float], source: Iterator[float]) -> tuple[list[int], float]:
    """A rule that takes a coin when it tests a node, and one more at the end, which is its answer."""
    path, here = list[int](), 0
    while True:
        child = next((int(v) for v in tree.children(here) if next(source) < accept[int(v)]), None)
        if child is None:
            return path, next(source)
        path.append(child)
        here = child


@given(candidate_trees(vocab_size=5, max_nodes=9), coins, st.data())
def test_coins_drawn_at_once_reach_the_tests_that_are_made(tree: CandidateTree, values: list[float], data: Any) -> None:
    """A rule that draws all uniforms first decides as the same rule that draws each when it is needed."""
    accept = {node: data.draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])) for node in range(1, len(tree))}

    def at_once(uniforms: Sequence[float], draws: Iterator[float]) -> tuple[list[int], int]:
        path, last = _lazily(tree, accept, iter(_asked(tree, accept, uniforms, next(draws))))
        return path, int(last * 2**24)

    taken = iter(values)
    path, last = in_order(tree, taken, at_once)
    lazy = iter(values)
    due, end = _lazily(tree, accept, lazy)
    assert (list(path), last) == (due, int(end * 2**24))
    assert list(taken) == list(lazy)


def _asked(tree: CandidateTree, accept: dict[int, float], uniforms: Sequence[float], end: float) -> Iterator[float]:
    """The uniforms by node, in the order in which the lazy rule asks."""
    here = 0
    while True:
        for child in tree.children(here):
            yield uniforms[int(child)]
            if uniforms[int(child)] < accept[int(child)]:
                here = int(child)
                break
        else:
            yield end
            return


def test_a_tree_with_branches_is_no_chain() -> None:
    """Chains are read off, other trees refused."""
    assert chain_tokens(CandidateTree([7, 1, 2], [-1, 0, 1])) == [1, 2]
    with pytest.raises(Unsupported, match="verifies chains; the tree has branches"):
        chain_tokens(CandidateTree([7, 1, 2], [-1, 0, 0]))


def test_limits_become_one_number_or_are_refused() -> None:
    """The smaller cap holds, none is below 0, and stop sequences are refused."""
    assert room_of(Limits(9, max_length=7), [1, 2]) == 5
    assert room_of(Limits(3, max_length=7), [1, 2]) == 3
    assert room_of(Limits(3, max_length=1), [1, 2]) == 0
    with pytest.raises(Unsupported, match="no stop sequences"):
        room_of(Limits(3, stop=((1,),)), [1])
    with pytest.raises(Unsupported, match="no minimum number of tokens"):
        room_of(Limits(3, (7,), min_new=1), [1])


def test_a_law_answers_as_a_model_at_every_prefix() -> None:
    """Row i of the logits is the law after the first i tokens, the stand-in for a prompt left out."""
    seen: list[tuple[int, ...]] = []

    def law(history: Sequence[int]) -> Any:
        seen.append(tuple(history))
        return np.array([0.25, 0.75, 0.0])

    logits = LawModel(law)(torch.tensor([[0, 2, 1]])).logits
    assert seen == [(), (2,), (2, 1)]
    assert logits.exp().tolist() == [[pytest.approx([0.25, 0.75, 0.0])] * 3]


def test_a_half_right_chain_is_right_in_some_places_and_wrong_in_others() -> None:
    """It holds the target's own text, spoiled where the sum of tokens so far leaves 1 when divided by 4."""

    def model(input_ids: Any) -> Any:
        nexts = (input_ids * 3 + 1) % 11
        return type("Output", (), {"logits": torch.nn.functional.one_hot(nexts, 11).float()})

    model.device = "cpu"  # type: ignore[attr-defined]
    chain = HalfRightChain(model, [5], 12, 11)
    text = [5]
    for _ in range(12):
        text.append((text[-1] * 3 + 1) % 11)
    found = chain.tokens(1, 12)
    wrong = [place for place in range(1, 13) if sum(text[: place + 1]) % 4 == 1]
    assert [place for place, token in zip(count(1), found, strict=False) if token != text[place]] == wrong
    assert 0 < len(wrong) < 12
