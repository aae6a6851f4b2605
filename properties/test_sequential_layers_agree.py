"""The layers of the truth: shared runs give the rows of naive ones, and float64 runs are in double precision throughout."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.record import Grade, Noise, Truth
from tree_oracle.target import HistoryError, SequentialTruth, Target, load_target, sequential_shared
from tree_oracle.target.double import Double, hold_double
from tree_oracle.target.sequential_naive import naive_rows
from tree_oracle.target.sequential_shared import shared_rows

EXACT = ("exact", "exact:layers=full+sliding,window=4", "exact:layers=chunked+full,chunk=5")
TINY = ("tiny:gpt2", "tiny:llama", "tiny:qwen3")


@cache
def target(spec: str, dtype: str = "float32", attention: str = "sdpa") -> Target:
    return load_target(spec, dtype=dtype, attention=attention)


@cache
def truth(spec: str, dtype: str = "float32") -> SequentialTruth:
    return SequentialTruth(target(spec, dtype))


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Up to eight histories: extensions of earlier ones, prefixes, doubles, and unrelated ones."""
    tokens = st.integers(0, 3) | st.integers(0, 60)
    found = [tuple(draw(st.lists(tokens, min_size=1, max_size=12)))]
    for _ in range(draw(st.integers(0, 7))):
        start = draw(st.sampled_from(found))
        text = start[: draw(st.integers(0, len(start)))] + tuple(draw(st.lists(tokens, max_size=4)))
        found.append(text or start)
    return found


def row(model: Any, history: tuple[int, ...]) -> np.ndarray:
    """One ordinary forward pass, written out."""
    with torch.no_grad():
        return np.asarray(model(torch.tensor([history])).logits[0, -1].double().numpy())


@pytest.mark.versions
@pytest.mark.parametrize("cached", [True, False])
@given(st.sampled_from(EXACT), histories(), st.integers(1, 60))
def test_shared_runs_are_naive_runs_bit_for_bit(
    cached: bool, spec: str, texts: list[tuple[int, ...]], room: int
) -> None:
    """On the exact model every row is that of a pass of its own, with and without a cache, in batches of any size."""
    model = target(spec).model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequential_shared, "BATCH_TOKENS", room)
        rows = shared_rows(model, texts, cached=cached)
    assert np.array_equal(rows, naive_rows(model, texts))


@pytest.mark.versions
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("spec", TINY)
@settings(max_examples=8)  # double precision of a real architecture takes 5 ms a pass
@given(texts=histories())
def test_shared_runs_are_naive_runs_in_double_precision(
    spec: str, attention: str, texts: list[tuple[int, ...]]
) -> None:
    """On real architectures in float64 every shared row is within 1e-12 of the row of a pass of its own."""
    model = target(spec, "float64", attention).model
    expected = np.stack([row(model, text) for text in texts])
    for cached in (True, False):
        assert np.abs(shared_rows(model, texts, cached=cached) - expected).max() < 1e-12


@given(st.sampled_from(EXACT), st.lists(st.integers(0, 60), min_size=1, max_size=20))
def test_a_naive_row_is_the_last_row_of_an_ordinary_pass(spec: str, text: list[int]) -> None:
    """Layer 1 is what its name says."""
    assert np.array_equal(naive_rows(target(spec).model, [tuple(text)])[0], row(target(spec).model, tuple(text)))


class _WithoutCache:
    """A model that takes no cache, or takes one and leaves it empty."""

    def __init__(self, model: Any, takes: bool) -> None:
        self.model, self.takes, self.device, self.config = model, takes, model.device, model.config

    def __call__(self, input_ids: torch.Tensor, use_cache: bool, **cache: Any) -> Any:
        if cache and not self.takes:
            raise TypeError("forward() got an unexpected keyword argument")
        return SimpleNamespace(logits=self.model(input_ids).logits, given=use_cache)

    def forward(self, *_: Any) -> None:
        """Looked at for its signature only."""


@pytest.mark.parametrize("takes", [True, False])
@given(texts=histories())
def test_a_model_without_a_usable_cache_has_the_same_rows(takes: bool, texts: list[tuple[int, ...]]) -> None:
    """Where the cache is refused or stays empty, all sequences are padded from scratch."""
    model = target("exact").model
    assert np.array_equal(shared_rows(_WithoutCache(model, takes), texts), shared_rows(model, texts))


class _Counting:
    """A model that notes the shape of every input it is given."""

    def __init__(self, model: Any) -> None:
        self.model, self.device, self.config = model, model.device, model.config
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, input_ids: torch.Tensor, **inputs: Any) -> Any:
        self.shapes.append(tuple(input_ids.shape))
        return self.model(input_ids, **inputs)

    def forward(self, cache: Any) -> None:
        """Looked at for its signature only."""


def test_what_is_shared_is_run_once() -> None:
    """All rows of one text take one pass over it; those of a tree take its prefix once, and one row for each leaf."""
    text, counted = (5, 6, 7, 8, 9, 10), _Counting(target("exact").model)
    shared_rows(counted, [text[:length] for length in (1, 2, 4, 6, 6)])
    assert counted.shapes == [(1, 6)]
    counted = _Counting(target("exact").model)
    shared_rows(counted, [text, (*text, 1), (*text, 1, 2), (*text, 1, 2, 3), (*text, 2), (*text, 3, 3)])
    assert counted.shapes == [(1, 6), (3, 3)]


@given(st.sampled_from(EXACT), st.sampled_from(["float32", "float64", "bfloat16", "float16"]), histories())
def test_exact_truth_is_the_same_in_every_dtype(spec: str, dtype: str, texts: list[tuple[int, ...]]) -> None:
    """Rows, plain rows and shared plain rows of an exact target agree bit for bit in any storage."""
    found = truth(spec, dtype)
    expected = np.stack([row(target(spec).model, text) for text in texts])
    assert np.array_equal(found.rows(texts), expected)
    assert np.array_equal(found.plain_rows(texts), expected)
    assert np.array_equal(found.plain_rows(texts, shared=True), expected)
    assert found.rows(texts).dtype == np.float64


@pytest.mark.parametrize("spec", TINY)
@settings(max_examples=4)  # as above
@given(texts=histories())
def test_truth_comes_from_double_precision(spec: str, texts: list[tuple[int, ...]]) -> None:
    """Rows are those of the same weights in float64, plain rows those of the target's own dtype."""
    found, double = truth(spec), target(spec).in_dtype("float64").model
    assert np.abs(found.rows(texts) - np.stack([row(double, text) for text in texts])).max() < 1e-12
    assert np.array_equal(found.plain_rows(texts), np.stack([row(target(spec).model, text) for text in texts]))
    assert 0 < np.abs(found.rows(texts) - found.plain_rows(texts)).max() < 1e-3


def test_what_a_caller_does_to_rows_stays_with_the_caller() -> None:
    """Rows are remembered, and an array that a caller changes is not the one that is remembered."""
    found = truth("exact")
    rows = found.rows([(1, 2, 3), (1, 2)])
    expected = rows.copy()
    rows[:] = 0
    assert np.array_equal(found.rows([(1, 2, 3), (1, 2)]), expected)
    assert np.array_equal(found.rows([(1, 2), (1, 2, 3), (1, 2)]), expected[[1, 0, 1]])


ASK: dict[str, Callable[[SequentialTruth, Any], np.ndarray]] = {
    "rows": lambda found, texts: found.rows(texts),
    "plain": lambda found, texts: found.plain_rows(texts),
    "shared": lambda found, texts: found.plain_rows(texts, shared=True),
}


@pytest.mark.parametrize("how", ASK)
def test_a_history_without_a_row_is_refused(how: str) -> None:
    """Empty histories, foreign tokens and texts longer than the context are named; no histories give no rows."""
    found, ask = truth("exact:positions=8"), ASK[how]
    assert ask(found, []).shape == (0, 61)
    for history, message in (
        ([], "an empty history has no row"),
        ([3, 61], "token 61 of a history is outside the vocabulary of 61"),
        ([-1], "token -1 of a history"),
        ([1] * 9, "a history of 9 tokens; the context of this target is 8"),
        ([1, 2.0], "no token id: 'float' object"),
        (["1"], "no token id: 'str' object"),
    ):
        with pytest.raises(HistoryError, match=message):
            ask(found, [[1, 2], history])
    assert ask(found, [[1] * 8]).shape == (1, 61)


@pytest.mark.versions
@pytest.mark.parametrize(("spec", "heads", "width"), [(EXACT[1], 1, 8), ("tiny:qwen3", 2, 16), ("tiny:gpt2", 4, 16)])
@pytest.mark.parametrize(("dtype", "shown"), [("float32", "float32"), ("bfloat16", "float32"), ("float64", "float64")])
def test_the_true_cache_is_that_of_an_ordinary_run(spec: str, heads: int, width: int, dtype: str, shown: str) -> None:
    """Every layer's keys and values, as the model's own cache holds them, sliding layers in full; half precision is widened."""
    text = list(range(3, 14))
    layers = truth(spec, dtype).cache(text)
    assert len(layers) == 2
    whole = target(spec if spec.startswith("tiny") else "exact", dtype).model(torch.tensor([text]), use_cache=True)
    for layer, own in zip(layers, (whole.get("cache") or whole.get("past_key_values")).layers, strict=True):
        for found, expected in ((layer.keys, own.keys), (layer.values, own.values)):
            assert found.dtype == shown
            assert found.shape == (heads, len(text), width)
            if spec != EXACT[1]:
                assert np.array_equal(found.numpy(), expected[0].detach().to(getattr(torch, shown)).numpy())


@given(st.sampled_from(EXACT), st.lists(st.integers(0, 60), min_size=2, max_size=12), st.data())
def test_the_true_cache_of_a_prefix_is_the_first_rows(spec: str, text: list[int], data: st.DataObject) -> None:
    """On an exact target a cached row depends on nothing that follows it."""
    length = data.draw(st.integers(1, len(text) - 1))
    for part, whole in zip(truth(spec).cache(text[:length]), truth(spec).cache(text), strict=True):
        assert np.array_equal(part.keys.numpy(), whole.keys.numpy()[:, :length])
        assert np.array_equal(part.values.numpy(), whole.values.numpy()[:, :length])


def test_an_exact_target_has_no_noise() -> None:
    """Nothing rounds, so nothing is allowed."""
    assert truth("exact", "bfloat16").noise() == Noise()
    assert truth("exact").noise().allowed == 0


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("dtype", "least", "most"), [("float64", 1e-16, 1e-12), ("float32", 1e-7, 1e-3), ("bfloat16", 1e-2, 1)]
)
def test_noise_is_measured_and_has_the_size_of_the_dtype(dtype: str, least: float, most: float) -> None:
    """The floor of a real architecture lies where its dtype rounds, allows new histories, and is far below a wrong history."""
    found = SequentialTruth(target("tiny:qwen3", dtype))
    noise = found.noise()
    assert least < noise.sequential < most
    assert least < noise.cache < 4 * most
    assert 0 < noise.control < most
    assert noise.wrong_history > noise.allowed
    assert noise.samples >= 70
    assert found.noise() is noise
    fresh = [tuple(np.random.default_rng(seed).integers(0, 256, 5 + 3 * seed).tolist()) for seed in range(20)]
    assert np.abs(found.plain_rows(fresh, shared=True) - found.rows(fresh)).max() <= noise.allowed


def test_a_token_that_the_target_forbids_is_no_noise() -> None:
    """A logit of minus infinity in every row, right or wrong, leaves the floor a number, with power."""
    forbidding = load_target("tiny:llama")
    head = forbidding.model.lm_head
    head.register_forward_hook(lambda *call: call[-1].index_fill(-1, torch.tensor([5]), -torch.inf))
    noise = SequentialTruth(forbidding).noise()
    assert SequentialTruth(forbidding).rows([(1, 2, 3)])[0][5] == -np.inf
    assert 0 < noise.allowed < 1e-3 < noise.wrong_history < np.inf


def test_truth_says_what_it_is() -> None:
    """Grade, exactness and vocabulary are those of the target, through the public protocol."""
    known: list[Truth] = [truth("exact"), truth("tiny:qwen3")]
    assert [(t.grade, t.exact, t.vocab_size) for t in known] == [
        (Grade.EXACT, True, 61),
        (Grade.SAME_ENGINE, False, 256),
    ]


@pytest.mark.parametrize("narrow", [torch.float32, torch.float16, torch.bfloat16])
def test_double_keeps_float64_and_touches_nothing_else(narrow: torch.dtype) -> None:
    """Inside, a float64 tensor cannot be narrowed; other tensors convert as ever, and outside so does it."""
    wide, small, whole = torch.ones(2, dtype=torch.float64), torch.ones(2), torch.ones(2, dtype=torch.int64)
    with Double():
        assert wide.to(narrow).dtype == wide.to(dtype=narrow).dtype == wide.type(narrow).dtype == torch.float64
        assert wide.float().dtype == wide.half().dtype == wide.bfloat16().dtype == torch.float64
        assert torch.softmax(wide, 0, dtype=narrow).dtype == wide.sum(dtype=narrow).dtype == torch.float64
        assert small.to(narrow).dtype == whole.to(narrow).dtype == narrow
        assert wide.to(torch.int64).dtype == torch.int64
    assert wide.to(narrow).dtype == narrow


def test_double_precision_reaches_the_inside_of_a_model() -> None:
    """A normalisation inside a float64 target, which narrows by its own code, equals the formula in double precision."""
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    model = target("tiny:qwen3").in_dtype("float64").model
    norm = next(module for name, module in model.named_modules() if name.endswith("input_layernorm"))
    hook = norm.register_forward_hook(lambda _, given, result: seen.append((given[0].numpy(), result.numpy())))
    row(model, (5, 6, 7))
    hook.remove()
    x, y = seen[0]
    assert np.abs(y - x / np.sqrt((x**2).mean(-1, keepdims=True) + norm.variance_epsilon)).max() < 1e-14


def test_double_precision_ends_with_the_call() -> None:
    """After a call, after one that raises, and on a deep copy, nothing outside the model is affected."""

    class Narrowing(torch.nn.Module):
        def forward(self, x: torch.Tensor, fail: bool = False) -> torch.Tensor:
            if fail:
                raise RuntimeError("planted")
            return x.to(torch.float32)

    model = Narrowing()
    hold_double(model)
    wide = torch.ones(1, dtype=torch.float64)
    for module in (model, copy.deepcopy(model)):
        assert module(wide).dtype == torch.float64
        with pytest.raises(RuntimeError, match="planted"):
            module(wide, fail=True)
        assert wide.to(torch.float32).dtype == torch.float32
