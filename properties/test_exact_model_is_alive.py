"""One wrong token, position, visible node or cached number changes the exact model's row."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.target import forward_with_cache, layer_tensors, load_target, prefill

VOCAB = 61

texts = st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=20)


@cache
def model() -> Any:
    return load_target("exact").model


def last_row(text: list[int], **inputs: Any) -> torch.Tensor:
    found: torch.Tensor = model()(torch.tensor([text]), **inputs).logits[0, -1]
    return found


@given(texts, st.data())
def test_a_wrong_token_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """Another token anywhere in the history changes the last row."""
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.integers(0, VOCAB - 1).filter(lambda token: token != text[at]))
    assert not torch.equal(last_row(text), last_row([*text[:at], other, *text[at + 1 :]]))


@given(texts, st.data())
def test_the_order_of_tokens_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """Two different tokens that change places change the last row."""
    one, other = data.draw(st.integers(0, len(text) - 1)), data.draw(st.integers(0, len(text) - 1))
    assume(text[one] != text[other])
    swapped = list(text)
    swapped[one], swapped[other] = text[other], text[one]
    assert not torch.equal(last_row(text), last_row(swapped))


@given(texts, st.data())
def test_a_wrong_position_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """Another position for any one token changes the last row."""
    positions = torch.arange(len(text))[None]
    positions[0, data.draw(st.integers(0, len(text) - 1))] += data.draw(st.integers(1, 2000))
    assert not torch.equal(last_row(text), last_row(text, position_ids=positions))


@given(texts, st.data())
def test_a_wrong_visible_node_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """Inverting one bit of the last query's mask changes its row; a future key that becomes visible does too."""
    count = len(text)
    seen = torch.ones(1, 1, count, count, dtype=torch.bool).tril()
    row = data.draw(st.integers(0, count - 1))
    seen[0, 0, row, data.draw(st.integers(0, count - 1))] ^= True
    wrong = model()(torch.tensor([text]), attention_mask=seen).logits[0, row]
    assert not torch.equal(wrong, model()(torch.tensor([text])).logits[0, row])


@given(texts, st.data())
def test_a_wrong_cached_number_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """One number of one cached key or value, off by any amount, changes the next row: every layer, every place."""
    kept, token = prefill(model(), text[:-1]), torch.tensor([text[-1:]])
    part = layer_tensors(kept)[data.draw(st.integers(0, 1))][data.draw(st.integers(0, 1))]
    place = (0, 0, data.draw(st.integers(0, len(text) - 2)), data.draw(st.integers(0, 7)))
    part[place] = (part[place] + data.draw(st.integers(1, 250))) % 251
    assert not torch.equal(forward_with_cache(model(), token, cache=kept)[0, -1], last_row(text))


@given(texts, st.data())
def test_values_that_stay_while_keys_move_change_the_row(text: list[int], data: st.DataObject) -> None:
    """Exchanging two rows of the values of one layer, the keys left alone, changes the next row."""
    kept, token = prefill(model(), text[:-1]), torch.tensor([text[-1:]])
    values = layer_tensors(kept)[data.draw(st.integers(0, 1))][1]
    one, other = data.draw(st.integers(0, len(text) - 2)), data.draw(st.integers(0, len(text) - 2))
    assume(not torch.equal(values[0, 0, one], values[0, 0, other]))
    values[0, 0, [one, other]] = values[0, 0, [other, one]]
    assert not torch.equal(forward_with_cache(model(), token, cache=kept)[0, -1], last_row(text))


@given(texts, st.data())
def test_a_lost_or_doubled_cached_row_changes_the_row(text: list[int], data: st.DataObject) -> None:
    """A cache with one row hidden, or with one row in place of its neighbour, changes the next row."""
    kept, token = prefill(model(), text[:-1]), torch.tensor([text[-1:]])
    lost = data.draw(st.integers(0, len(text) - 2))
    mask = torch.ones(1, len(text))
    mask[0, lost] = 0
    found = forward_with_cache(model(), token, cache=kept, attention_mask=mask)[0, -1]
    assert not torch.equal(found, last_row(text))


def test_no_two_short_histories_share_a_row() -> None:
    """All 16,382 histories of up to 13 tokens over two tokens have different rows."""
    ids = torch.tensor(list(product((0, 1), repeat=13)))
    rows = model()(ids).logits
    found = {
        rows[number, length - 1].numpy().tobytes()
        for length in range(1, 14)
        for number in range(0, len(ids), 2 ** (13 - length))
    }
    assert len(found) == sum(2**length for length in range(1, 14))


@given(texts, st.sampled_from([float("nan"), float("inf"), 0.5, 3e4, -7.0]))
def test_what_nobody_sees_may_hold_anything(text: list[int], poison: float) -> None:
    """A hidden cached row changes nothing, be it NaN, infinite, fractional or far from data."""
    kept, token = prefill(model(), [9, *text[:-1]]), torch.tensor([text[-1:]])
    for part in (part for layer in layer_tensors(kept) for part in layer):
        part[:, :, 0] = poison
    mask = torch.tensor([[0] + [1] * len(text)])
    clean = prefill(model(), [9, *text[:-1]])
    rows = [forward_with_cache(model(), token, cache=held, attention_mask=mask) for held in (kept, clean)]
    assert torch.equal(*rows)


def row_with(text: list[int], number: float) -> torch.Tensor:
    """The last row when the last layer's first cached key is all ``number``, with a value of zeros."""
    kept, token = prefill(model(), text[:-1]), torch.tensor([text[-1:]])
    keys, values = layer_tensors(kept)[1]
    keys[0, 0, 0], values[0, 0, 0] = number, 0
    return forward_with_cache(model(), token, cache=kept)[0, -1]


@given(
    st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=3),
    st.integers(-500, -1) | st.sampled_from([251, 30_000, 2**60]),
)
def test_a_foreign_number_that_is_seen_counts_as_its_residue(text: list[int], number: int) -> None:
    """A visible whole number outside the residues breaks no bound: it acts as its residue, and no two logits tie."""
    row = row_with(text, number)
    assert torch.equal(row, row_with(text, number % 251))
    assert len(np.unique(row.numpy())) == VOCAB
