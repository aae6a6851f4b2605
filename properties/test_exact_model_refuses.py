"""The exact model refuses what a real model would quietly misread, with a typed error that names the value."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pytest
import torch
from grounds import ground, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache, StaticCache

from tree_oracle.checks import choose
from tree_oracle.checks.scenes import TREES
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.decoder.parts import run_target
from tree_oracle.record import DecoderError, Status, Unsupported, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import (
    CacheError,
    ExactLMConfig,
    MaskError,
    PositionError,
    TokenError,
    forward_with_cache,
    layer_tensors,
    load_target,
    prefill,
)

IDS = torch.tensor([[3, 1, 4, 1, 5]])


@cache
def model(spec: str = "exact:positions=20") -> Any:
    return load_target(spec).model


def causal(count: int = 5) -> torch.Tensor:
    return torch.ones(1, 1, count, count, dtype=torch.bool).tril()


def additive(value: float) -> torch.Tensor:
    mask = torch.zeros(1, 1, 5, 5)
    mask[0, 0, 0, 4] = value
    return mask


@pytest.mark.parametrize("name", ["attention_mask", "position_ids", "past_key_values"])
def test_a_misspelled_argument_is_swallowed_and_shows(name: str) -> None:
    """As in transformers' models it counts as not given; whatever it would have said, the rows are wrong without it."""

    def misspelling(model: Any, *given: Any) -> Any:
        def change(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
            assert name in kwargs
            return args, {("their_" if known == name else "") + known: value for known, value in kwargs.items()}

        with model.register_forward_pre_hook(change, with_kwargs=True):
            return run_target(model, *given)

    decoder = partial(ReferenceDecoder, parts=Parts(target_pass=misspelling))
    report = run_battery(
        ground().subject(lambda target: with_methods(tree_logits=decoder(target).tree_logits)),
        choose(ids=["HISTORY-01"]), Budget(shrink_runs=0, diagnose=False), cases=ground().stock.of(TREES),
    )  # fmt: skip
    assert statuses(report) == {"HISTORY-01": Status.FAILED}


@given(st.integers(-(2**40), -1) | st.integers(61, 2**40), st.integers(0, 4))
def test_a_token_outside_the_vocabulary_is_refused(token: int, at: int) -> None:
    """Every id that is no token is named."""
    ids = IDS.clone()
    ids[0, at] = token
    with pytest.raises(TokenError, match=f"token {token} is outside the vocabulary of 61"):
        model()(ids)


@pytest.mark.parametrize(
    "ids", [None, IDS[0], IDS.float(), IDS[:, :0], IDS.bool(), IDS.byte(), IDS.to_sparse(), IDS.tolist(), IDS.numpy()]
)
def test_ids_that_are_no_ids_are_refused(ids: Any) -> None:
    """No ids, a wrong rank or dtype, and an empty input are refused alike."""
    with pytest.raises(TokenError, match="expected whole numbers, batch x tokens, at least one"):
        model()(ids)


@given(st.integers(-50, -1) | st.integers(20, 2**40), st.integers(0, 4))
def test_a_position_outside_the_context_is_refused(position: int, at: int) -> None:
    """Every position that the model has no row for is named."""
    positions = torch.arange(5)[None]
    positions[0, at] = position
    with pytest.raises(PositionError, match=f"position {position} is outside the context of 20"):
        model()(IDS, position_ids=positions)


def test_text_longer_than_the_context_is_refused() -> None:
    """The slots that serve as positions are held to the context too, behind a cache as well."""
    with pytest.raises(PositionError, match="position 20 is outside the context of 20"):
        model()(torch.zeros(1, 21, dtype=torch.int64))
    with pytest.raises(PositionError, match="position 22 is outside"):
        forward_with_cache(model(), IDS, cache=prefill(model(), [0] * 18))


@pytest.mark.parametrize("kind", [torch.bool, torch.uint8, torch.complex64])
def test_positions_that_are_no_whole_numbers_are_refused(kind: torch.dtype) -> None:
    """What torch would take for a mask or not at all is named by its dtype, and so is what is no tensor."""
    with pytest.raises(PositionError, match=f"{kind}; expected whole numbers of shape"):
        model()(IDS, position_ids=torch.arange(5)[None].to(kind))
    with pytest.raises(PositionError, match="none, a list; expected whole numbers"):
        model()(IDS, position_ids=[[0, 1, 2, 3, 4]])


def test_what_is_no_cache_is_refused() -> None:
    """A tuple of tensors, as of older releases, is named by its type."""
    with pytest.raises(CacheError, match="a cache of type tuple; expected one of transformers' caches"):
        model()(IDS, past_key_values=((torch.zeros(1, 1, 2, 8),) * 2,) * 2)


@pytest.mark.parametrize("shape", [(5,), (1, 4), (2, 5), (1, 1, 5)])
def test_positions_of_a_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    """Positions must be one per token; they are broadcast over the batch only."""
    with pytest.raises(PositionError, match="expected whole numbers of shape"):
        model()(IDS, position_ids=torch.zeros(shape, dtype=torch.int64))
    with pytest.raises(PositionError, match="torch.float32; expected whole numbers"):
        model()(IDS, position_ids=torch.zeros(1, 5))


MASKS: dict[str, tuple[Any, str]] = {
    "too few columns": (causal()[..., :4], r"shape \(1, 1, 5, 4\); expected \(1 or 1, 1, 5 queries, 5 keys\)"),
    "too many columns": (torch.ones(1, 1, 5, 6, dtype=torch.bool), "expected .* 5 keys"),
    "too few rows": (causal()[:, :, :4], "5 queries"),
    "another batch": (causal().expand(2, -1, -1, -1), r"shape \(2, 1, 5, 5\)"),
    "two heads": (causal().expand(-1, 2, -1, -1), r"shape \(1, 2, 5, 5\)"),
    "three dimensions": (causal()[0], r"shape \(1, 5, 5\); expected \(batch, slots\) or \(batch, 1, queries, keys\)"),
    "whole numbers": (causal().long(), "torch.int64; expected bool"),
    "one and zero, added": (causal().float(), "holds 1.0; expected 0"),
    "NaN": (additive(float("nan")), "holds nan"),
    "plus infinity": (additive(float("inf")), "holds inf"),
    "a mild penalty": (additive(-5.0), "holds -5.0"),
    "a list": ([[1, 1, 1, 1, 1]], "a mask of type list"),
    "padding too short": (torch.ones(1, 4), r"shape \(1, 4\); expected \(1, 5 or more\)"),
    "padding of another batch": (torch.ones(2, 5), "expected"),
    "padding with NaN": (torch.tensor([[1, 1, 1, 1, float("nan")]]), "other than 0"),
    "padding as penalties": (torch.tensor([[0.0, 0, 0, 0, -1e9]]), "other than 0"),
    "no entry for the layers": (
        {"sliding_attention": causal()},
        "for layer types sliding_attention; a layer of type full",
    ),
    "keys that are no names": ({3: causal()}, "for layer types 3; a layer of type full_attention has none"),
    "an entry that is a list": ({"full_attention": [1]}, "a mask of type list"),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_that_is_none_is_refused(name: str) -> None:
    """Wrong width, rank, dtype, values, NaN, or no entry for a layer type: the error says which."""
    mask, message = MASKS[name]
    with pytest.raises(MaskError, match=message):
        model()(IDS, attention_mask=mask)


@pytest.mark.versions
def test_a_mask_must_have_the_columns_that_the_cache_returns() -> None:
    """Behind a cache the columns are counted after the update: all slots of a static cache, the window of a sliding one."""
    rooms = StaticCache(config=model().config, max_cache_len=9)
    with pytest.raises(MaskError, match=r"expected \(1 or 1, 1, 5 queries, 9 keys\)"):
        forward_with_cache(model(), IDS, cache=rooms, attention_mask=causal())
    sliding = model("exact:layers=sliding,window=4")
    windowed = DynamicCache(config=sliding.config)
    forward_with_cache(sliding, IDS, cache=windowed)
    with pytest.raises(MaskError, match="1 queries, 4 keys"):
        forward_with_cache(sliding, IDS[:, :1], cache=windowed, attention_mask=torch.ones(1, 1, 1, 6, dtype=torch.bool))


@given(
    st.integers(0, 1), st.integers(0, 1), st.integers(0, 7), st.sampled_from([0.5, 1e-3, float("nan"), float("inf")])
)
def test_a_cache_that_changes_what_it_stores_is_refused(layer: int, part: int, place: int, wrong: float) -> None:
    """One visible number that is not whole, in keys or values of any layer, is enough."""
    kept = prefill(model(), [7, 8, 9])
    layer_tensors(kept)[layer][part][0, 0, 1, place] = wrong
    with pytest.raises(CacheError, match="not whole"):
        forward_with_cache(model(), IDS, cache=kept)


def test_two_caches_are_refused() -> None:
    """The cache under its newer and its older name must be one object."""
    with pytest.raises(CacheError, match="two different caches"):
        model()(IDS, cache=DynamicCache(), past_key_values=DynamicCache())


def test_a_misused_model_is_the_decoders_fault() -> None:
    """Wrong tokens, positions and masks are failures of the decoder; a lossy cache is an unsupported combination."""
    assert all(issubclass(kind, DecoderError) for kind in (TokenError, PositionError, MaskError))
    assert issubclass(CacheError, Unsupported)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocab_size": 1}, "vocab_size is 1; expected 2 to 65536"),
        ({"vocab_size": 65537}, "vocab_size is 65537"),
        ({"max_position_embeddings": 63002}, "max_position_embeddings is 63002; expected 1 to 63001"),
        ({"layer_types": []}, "number of layers is 0"),
        ({"layer_types": ["linear_attention"]}, "layer type 'linear_attention' is none of full_attention"),
        ({"layer_types": ["sliding_attention"]}, "a sliding_attention layer needs sliding_window"),
        ({"layer_types": ["chunked_attention"]}, "a chunked_attention layer needs attention_chunk_size"),
        ({"sliding_window": 4}, "sliding_window=4 has no effect"),
        ({"layer_types": ["sliding_attention"], "sliding_window": 0}, "sliding_window is 0; expected 1"),
        ({"ties": [(1, 1)]}, "not disjoint pairs"),
        ({"ties": [(1, 2, 3)]}, "not disjoint pairs"),
        ({"ties": [(1, 2), (2, 3)]}, "not disjoint pairs"),
        ({"ties": [(1, 61)]}, "token 61 of the ties is outside the vocabulary of 61"),
    ],
)
def test_a_configuration_that_would_not_be_exact_is_refused(arguments: dict[str, Any], message: str) -> None:
    """Every bound that the proof of exactness needs is held by the configuration."""
    with pytest.raises(UsageError, match=message):
        ExactLMConfig(**arguments)
