"""The tap only looks: under it every result is what it is without it, and it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.decoder import ReferenceDecoder, can_tap, tap
from tree_oracle.faults import FAULTS
from tree_oracle.record import Limits, Unsupported
from tree_oracle.target import Target, forward_with_cache, layer_tensors, load_target, new_cache
from tree_oracle.target.errors import TokenError

WINDOWED = "exact:layers=full+sliding+chunked,window=4,chunk=4"
TARGETS = [
    ("exact", "sdpa"),
    (WINDOWED, "sdpa"),
    ("tiny:llama", "eager"),
    ("tiny:qwen3", "sdpa"),
    ("tiny:gpt2", "sdpa"),
    ("tiny:gemma2", "eager"),
    ("tiny:mistral", "sdpa"),
]
KINDS = ["reference", "sibling-leak", "values-not-moved", "first-child-only"]


@cache
def target_of(spec: str, attention: str = "sdpa") -> Target:
    return load_target(spec, attention=attention)


def hooks(model: Any) -> Iterator[Any]:
    for module in model.modules():
        yield from module._forward_pre_hooks.values()
        yield from module._forward_hooks.values()


# One example is two whole generations.
@settings(max_examples=6)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=9), st.integers(1, 12), st.sampled_from(KINDS))
@pytest.mark.parametrize(("spec", "attention"), TARGETS)
def test_a_tapped_generation_is_the_untapped_one(
    spec: str, attention: str, prompt: list[int], cap: int, kind: str
) -> None:
    """Right or wrong, a decoder reports the same rounds, rows included, whether it is tapped or not."""
    target = target_of(spec, attention)
    decoder = ReferenceDecoder(target) if kind == "reference" else FAULTS[kind].decoder(target)
    with tap(target.model) as seen:
        tapped = decoder.generate([prompt], Limits(max_new_tokens=cap))
    assert seen.calls
    assert tapped == decoder.generate([prompt], Limits(max_new_tokens=cap))


@pytest.mark.parametrize(("spec", "attention"), TARGETS)
def test_rows_and_cache_are_bit_equal(spec: str, attention: str) -> None:
    """A pass over a cached prefix gives the same bits, and leaves the same cache, under the tap."""
    model = target_of(spec, attention).model
    pieces = (torch.arange(5)[None], torch.arange(5, 8)[None])
    plain, watched = new_cache(), new_cache()
    bare = [forward_with_cache(model, part, cache=plain) for part in pieces]
    with tap(model) as seen:
        under = [forward_with_cache(model, part, cache=watched) for part in pieces]
    assert all(torch.equal(one, other) for one, other in zip(bare, under, strict=True))
    pairs = zip(layer_tensors(plain), layer_tensors(watched), strict=True)
    assert all(torch.equal(one, other) for pair in pairs for one, other in zip(*pair, strict=True))
    for call, row in zip(seen.calls, bare, strict=True):
        assert call.rows is not None
        assert np.array_equal(call.rows, row[0].numpy())


@pytest.mark.parametrize(("spec", "attention"), TARGETS)
def test_no_hook_is_left(spec: str, attention: str) -> None:
    """After the block the model has the hooks that it had before, also when the block is left by an exception."""
    model = target_of(spec, attention).model

    def leave() -> None:
        with tap(model):
            assert list(hooks(model))
            raise KeyError("within")

    assert not list(hooks(model))
    with pytest.raises(KeyError, match="within"):
        leave()
    assert not list(hooks(model))


def test_a_call_that_fails_is_not_recorded() -> None:
    """A target that refuses its input raises as ever, and the calls that follow are recorded as if nothing had been."""
    model = target_of("exact").model
    with tap(model) as seen:
        with pytest.raises(TokenError, match="outside the vocabulary"):
            model(torch.tensor([[999]]))
        model(torch.tensor([[1, 2]]))
    assert [call.tokens for call in seen.calls] == [(1, 2)]


def test_the_record_is_out_of_reach() -> None:
    """A decoder that writes into its logits, as samplers do, does not write into the record."""
    model = target_of("exact").model
    with tap(model) as seen:
        logits = model(torch.tensor([[1, 2]])).logits
        kept = logits.clone()
        logits.zero_()
    (call,) = seen.calls
    assert call.rows is not None
    assert np.array_equal(call.rows, kept[0].numpy())


def test_a_model_whose_masks_cannot_be_read_is_refused() -> None:
    """A model that is told to look ahead is refused by name, before any hook is hung."""
    model = load_target("exact").model
    model.config.use_bidirectional_attention = True
    assert not can_tap(model)
    with pytest.raises(Unsupported, match="bidirectional"), tap(model):
        pass
    assert not list(hooks(model))
