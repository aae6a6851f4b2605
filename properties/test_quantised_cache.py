"""Sessions over a cache of eight bits, on small real models: every emitted token is judged by its regret.

Such a cache changes what the model computes, so the truth is the same cache without speculation: plain decoding of the emitted
text, token by token. The floor is measured without any tree too: how far rows move when the same text is run in larger pieces.
In double precision that is next to nothing, since a row is rounded to eight bits once, and moved bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from transformers import QuantizedCache

from tree_oracle.decoder import HalfRightDraft, Parts
from tree_oracle.decoder.caches.filled import quantised_cache
from tree_oracle.decoder.caches.layers import keep_in, refuse_layer
from tree_oracle.decoder.session import Request
from tree_oracle.record import Limits, Unsupported
from tree_oracle.target import Target, forward_with_cache, load_target

SPECS = ("tiny:llama", "tiny:qwen3")
PROMPT, COUNT = (3, 5, 2, 9, 41, 7), 20
Commit = Callable[[Any, int, np.ndarray], None]


@cache
def target(spec: str) -> Target:
    return load_target(spec, dtype="float64")


def text_of(spec: str, parts: Parts) -> list[int]:
    """What a session over such a cache emits, and that it both accepts and rejects."""
    request = Request(target(spec), parts, PROMPT, Limits(COUNT))
    draft, accepted, rejected = HalfRightDraft(target(spec)), 0, 0
    while request.ended is None:
        found = request.step(draft(request.committed))
        accepted += len(found.accepted or ())
        rejected += len(found.tokens or ()) - 1 - len(found.accepted or ())
    assert accepted
    assert rejected
    return request.committed


def plain_rows(spec: str, text: list[int], piece: int) -> np.ndarray:
    """The rows of plain decoding over a cache of eight bits, so many tokens at a time."""
    model, start = target(spec).model, len(PROMPT) - 1
    kept = quantised_cache()(model, text[:start])
    rows = [
        forward_with_cache(model, torch.tensor([text[at : min(at + piece, len(text) - 1)]]), cache=kept)[0].numpy()
        for at in range(start, len(text) - 1, piece)
    ]
    return np.concatenate(rows)


def regret_and_floor(spec: str, text: list[int]) -> tuple[float, float]:
    """The largest regret of an emitted token, and how far rows without any tree differ from one another."""
    rows = plain_rows(spec, text, 1)
    emitted = rows[np.arange(len(rows)), text[len(PROMPT) :]]
    floor = max(float(np.abs(plain_rows(spec, text, piece) - rows).max()) for piece in (2, 5))
    return float((rows.max(axis=1) - emitted).max()), floor


@pytest.mark.parametrize("spec", SPECS)
def test_every_token_is_that_of_plain_decoding_over_the_same_cache(spec: str) -> None:
    """The regret of every emitted token lies within twice the floor, which is small, and the rounding is felt."""
    text = text_of(spec, Parts(prefill=quantised_cache()))
    regret, floor = regret_and_floor(spec, text)
    assert floor < 1e-6
    assert regret <= 2 * floor
    plain = np.stack([target(spec).model(torch.tensor([text[:-1]])).logits[0].numpy()[len(PROMPT) - 1 :]])
    assert np.abs(plain - plain_rows(spec, text, 1)).max() > 1e-2


def in_quantised(change: Callable[[Any, int, np.ndarray], None]) -> Commit:
    def commit(kept_cache: Any, cached: int, kept: np.ndarray) -> None:
        for layer in kept_cache.layers:
            change(layer, cached, kept)

    return commit


def first_rows(layer: Any, cached: int, kept: np.ndarray) -> None:
    keep_in(layer, cached, np.arange(len(kept)))


def scales_swapped(layer: Any, cached: int, kept: np.ndarray) -> None:
    """Keys are read by the scale of the values, and values by that of the keys."""
    keep_in(layer, cached, kept)
    (keys, of_keys), (values, of_values) = layer._quantized_keys, layer._quantized_values
    layer._quantized_keys, layer._quantized_values = (keys, of_values), (values, of_keys)


def values_stay(layer: Any, cached: int, kept: np.ndarray) -> None:
    values, scale = layer._quantized_values
    keep_in(layer, cached, kept)
    layer._quantized_values = (values[..., : cached + len(kept), :], scale)


def last_layer_first(kept_cache: Any, cached: int, kept: np.ndarray) -> None:
    for layer in reversed(kept_cache.layers):
        keep_in(layer, cached, kept)


@pytest.mark.parametrize("fault", [first_rows, scales_swapped, values_stay])
def test_wrong_commits_show_in_the_regret(fault: Callable[[Any, int, np.ndarray], None]) -> None:
    """Rows that are kept wrongly cost more than a tenth of a logit, where rounding costs nothing."""
    regret, floor = regret_and_floor(
        "tiny:llama", text_of("tiny:llama", Parts(prefill=quantised_cache(), commit=in_quantised(fault)))
    )
    assert floor < 1e-6
    assert regret > 0.1


def test_a_detour_is_no_fault() -> None:
    """Layers that are committed in another order give the same text."""
    right = text_of("tiny:llama", Parts(prefill=quantised_cache()))
    assert text_of("tiny:llama", Parts(prefill=quantised_cache(), commit=last_layer_first)) == right


def test_kept_rows_are_rounded_once() -> None:
    """After a commit the eight bits of every kept row are those that the pass wrote."""
    model = target("tiny:llama").model
    kept_cache = quantised_cache()(model, [1, 2, 3])
    forward_with_cache(model, torch.tensor([[4, 5, 6, 7]]), cache=kept_cache)
    layer = kept_cache.layers[1]
    before = layer._quantized_values[0].view(torch.uint8).clone()
    keep_in(layer, 3, np.array([0, 2, 3]))
    assert torch.equal(layer._quantized_values[0].view(torch.uint8), before[..., [0, 1, 2, 3, 5, 6], :])


@pytest.mark.parametrize("backend", ["quanto", "hqq", "gguf"])
def test_backends_in_which_no_path_can_be_kept_are_refused(backend: str) -> None:
    """Backends that round blocks of rows together are refused with the reason and their package; others do not exist."""
    with pytest.raises(
        Unsupported, match="no rejected row can be taken back" if backend != "gguf" else "no quantised cache 'gguf'"
    ):
        quantised_cache(backend)


def test_a_path_can_be_kept_in_the_librarys_own_class() -> None:
    """Its layers quantise row by row, so every one of them is taken like those of ours."""
    made = QuantizedCache("fp8", target("tiny:llama").model.config)
    assert len(made.layers) == target("tiny:llama").model.config.num_hidden_layers
    for number, layer in enumerate(made.layers):
        refuse_layer(number, layer)
