"""The exact model's rows are one function of the visible history, bit for bit, however the model is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

from tree_oracle.target import forward_with_cache, load_target

VOCAB = 61
WINDOW, CHUNK = 5, 4
LAYERS = {
    "full": "exact",
    "sliding": f"exact:layers=full+sliding,window={WINDOW}",
    "chunked": f"exact:layers=full+chunked,chunk={CHUNK}",
}
OLD = transformers.__version__.startswith("4.")
DTYPES = ("float32", "float64", "bfloat16", "float16")

kinds = st.sampled_from(list(LAYERS))
dtypes = st.sampled_from(DTYPES)
texts = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=24)


@cache
def model(kind: str = "full", dtype: str = "float32", attention: str = "sdpa") -> Any:
    return load_target(LAYERS[kind], dtype=dtype, attention=attention).model


def logits(kind: str, text: Sequence[int], dtype: str = "float32") -> torch.Tensor:
    """All rows of one ordinary forward pass: the reference of this file."""
    found: torch.Tensor = model(kind, dtype)(torch.tensor([list(text)])).logits[0]
    return found


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.to(torch.float64), other.to(torch.float64))


def sees(kind: str, query: int, key: int) -> bool:
    """Whether the position ``query`` sees the position ``key`` in a layer of this kind."""
    near = {"full": True, "sliding": key > query - WINDOW, "chunked": key // CHUNK == query // CHUNK}
    return key <= query and near[kind]


def law(kind: str, text: Sequence[int]) -> np.ndarray:
    """The law of ``exact_lm`` written again in whole numbers: no torch arithmetic, no cache, no mask tensor."""
    weights = {name: value.numpy().astype(np.int64) for name, value in model(kind).state_dict().items()}
    positions = np.arange(len(text))
    h = (7 * weights["embed_tokens.weight"][list(text)] + weights["position_rows"][positions]) % 251
    for layer, layer_kind in enumerate(("full", kind)):
        q, k, v = np.split(h @ weights["mix"][layer] % 251, 3, axis=1)
        k[:, 0], k[:, 1] = positions // 251, positions % 251
        terms = (k + 2 * v) ** 3 % 251
        seen = np.array([[sees(layer_kind, query, key) for key in range(len(text))] for query in range(len(text))])
        s = seen.astype(np.int64) @ terms
        h = (s + q + h + 1) ** 3 % 251
    rank = (np.arange(VOCAB) + h.sum(axis=1, keepdims=True)) % 64
    return np.asarray((h @ weights["head"] % 251 * 64 + rank) / 2048)


@given(kinds, texts)
def test_rows_follow_the_law_in_whole_numbers(kind: str, text: list[int]) -> None:
    """The logits are those that integer arithmetic gives, each exactly."""
    assert np.array_equal(logits(kind, text).double().numpy(), law(kind, text))


@given(kinds, texts, dtypes)
def test_storage_changes_no_bit(kind: str, text: list[int], dtype: str) -> None:
    """Weights and cache in any of four dtypes give the same logits, never in less than float32."""
    rows = logits(kind, text, dtype)
    assert rows.dtype == (torch.float64 if dtype == "float64" else torch.float32)
    assert same(rows, logits(kind, text))


@given(kinds, texts, st.data())
def test_a_row_depends_on_nothing_after_it(kind: str, text: list[int], data: st.DataObject) -> None:
    """The rows of a prefix, run alone, are the first rows of the whole."""
    length = data.draw(st.integers(1, len(text)))
    assert same(logits(kind, text[:length]), logits(kind, text)[:length])


def static(kind: str, room: int) -> StaticCache:
    return StaticCache(config=model(kind).config, max_cache_len=room)


CACHES: dict[str, Callable[[str, int], Any]] = {
    "dynamic": lambda _kind, _room: DynamicCache(),
    "dynamic by config": lambda kind, _room: DynamicCache(config=model(kind).config),
    "static": static,
}


def steps(name: str, kind: str, cuts: set[int], length: int) -> list[tuple[int, int]]:
    """Where the pieces begin and end. A static window of transformers 4 takes single tokens only, once it holds any."""
    inside = {cut for cut in cuts if 0 < cut < length}
    if OLD and name == "static" and kind != "full":
        inside = set(range(min(inside, default=length), length))
    return list(pairwise(sorted(inside | {0, length})))


@pytest.mark.versions
@pytest.mark.parametrize("name", CACHES)
@given(kinds, dtypes, texts, st.data())
def test_a_cache_changes_no_bit(name: str, kind: str, dtype: str, text: list[int], data: st.DataObject) -> None:
    """Text fed in pieces through any cache class gives the rows of one pass without a cache."""
    cuts = data.draw(st.sets(st.integers(1, 23), max_size=4))
    kept = CACHES[name](kind, len(text) + data.draw(st.integers(0, 5)))
    rows = [
        forward_with_cache(model(kind, dtype), torch.tensor([text[start:end]]), cache=kept)[0]
        for start, end in steps(name, kind, cuts, len(text))
    ]
    assert same(torch.cat(rows), logits(kind, text))


def left_padded(batch: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, 2D mask and positions of texts that end in the same column."""
    width = max(map(len, batch))
    ids = torch.tensor([[pad] * (width - len(text)) + list(text) for text in batch])
    mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in batch])
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)


@pytest.mark.versions
@pytest.mark.parametrize("name", CACHES)
@given(kinds, st.lists(texts, min_size=1, max_size=3), st.integers(0, VOCAB - 1), st.data())
def test_left_padding_changes_no_bit(
    name: str, kind: str, batch: list[list[int]], pad: int, data: st.DataObject
) -> None:
    """Texts of unequal length in one padded batch, in one piece or two, have the rows that each has alone."""
    ids, mask, positions = left_padded(batch, pad)
    width = ids.shape[1]
    kept = CACHES[name](kind, width)
    rows = [
        forward_with_cache(
            model(kind), ids[:, a:b], cache=kept, attention_mask=mask[:, :b], position_ids=positions[:, a:b]
        )
        for a, b in steps(name, kind, {data.draw(st.integers(1, 23))}, width)
    ]
    for text, found in zip(batch, torch.cat(rows, dim=1), strict=True):
        assert same(found[-len(text) :], logits(kind, text))


@given(kinds, texts, st.data())
def test_windows_and_chunks_go_by_position(kind: str, text: list[int], data: st.DataObject) -> None:
    """Slots hidden by a 2D mask take no place in a window or chunk once the positions leave them out."""
    holes = data.draw(st.sets(st.integers(0, len(text) - 1), max_size=len(text) - 1))
    mask = torch.tensor([[int(slot not in holes) for slot in range(len(text))]])
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    rows = model(kind)(torch.tensor([text]), attention_mask=mask, position_ids=positions).logits[0]
    left = [slot for slot in range(len(text)) if slot not in holes]
    assert same(rows[left], logits(kind, [text[slot] for slot in left]))


def in_form(seen: np.ndarray, form: str, dtype: str) -> torch.Tensor:
    """A 4D mask in one of the ways to write it."""
    visible = torch.tensor(seen)[None, None]
    if form == "bool":
        return visible
    hidden = {"least": torch.finfo(getattr(torch, dtype)).min, "infinite": -torch.inf, "large": -3e4}[form]
    return torch.zeros(visible.shape, dtype=getattr(torch, dtype)).masked_fill(~visible, hidden)


forms = st.sampled_from(["bool", "least", "infinite", "large"])


@given(kinds, texts, forms, dtypes)
def test_a_written_mask_is_the_mask_it_says(kind: str, text: list[int], form: str, dtype: str) -> None:
    """The causal mask of each layer type, handed over as a dict in any form, gives the rows of the model's own mask."""
    places = range(len(text))
    masks = {
        f"{layer}_attention": in_form(np.array([[sees(layer, q, k) for k in places] for q in places]), form, dtype)
        for layer in {"full", kind}
    }
    rows = model(kind, dtype)(torch.tensor([text]), attention_mask=masks).logits[0]
    assert same(rows, logits(kind, text))


def ancestors(parents: Sequence[int], node: int) -> list[int]:
    return [] if node < 0 else [*ancestors(parents, parents[node]), node]


@given(texts, st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=12), forms, dtypes, st.data())
def test_a_tree_pass_gives_the_row_of_every_path(
    prefix: list[int], nodes: list[int], form: str, dtype: str, data: st.DataObject
) -> None:
    """Under a mask that shows each node the prefix and its own ancestors, its row is that of its path run alone."""
    parents = [data.draw(st.integers(-1, node - 1)) for node in range(len(nodes))]
    paths = [ancestors(parents, node) for node in range(len(nodes))]
    seen = np.zeros((len(nodes), len(prefix) + len(nodes)), dtype=bool)
    seen[:, : len(prefix)] = True
    for node, path in enumerate(paths):
        seen[node, [len(prefix) + above for above in path]] = True
    kept = DynamicCache()
    forward_with_cache(model("full", dtype), torch.tensor([prefix]), cache=kept)
    positions = torch.tensor([[len(prefix) + len(path) - 1 for path in paths]])
    rows = forward_with_cache(
        model("full", dtype),
        torch.tensor([nodes]),
        cache=kept,
        attention_mask=in_form(seen, form, dtype),
        position_ids=positions,
    )
    for path, row in zip(paths, rows[0], strict=True):
        assert same(row, logits("full", [*prefix, *(nodes[above] for above in path)])[-1])


END = VOCAB - 1  # an end token, because prompt lookup in transformers 4 cannot do without one


def greedy(kind: str, prompt: Sequence[int], count: int) -> list[int]:
    """Plain greedy decoding from ordinary passes over the whole text, up to the end token."""
    text = list(prompt)
    while len(text) < len(prompt) + count and text[len(prompt) :][-1:] != [END]:
        text.append(int(logits(kind, text)[-1].argmax()))
    return text[len(prompt) :]


GENERATE: dict[str, dict[str, Any]] = {
    "plain": {"use_cache": True},
    "without a cache": {"use_cache": False},
    "static": {"cache_implementation": "static"},
    "prompt lookup": {"prompt_lookup_num_tokens": 3},
}
ASSISTANTS = {"assisted by itself": "exact", "assisted by a stranger": "exact:seed=1"}


def generated(how: str, kind: str, attention: str, ids: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    """What ``generate`` emits, cut after the end token."""
    options = GENERATE.get(how) or {"assistant_model": load_target(ASSISTANTS[how], dtype="bfloat16").model}
    settled: dict[str, Any] = {"max_new_tokens": 9, "do_sample": False, "pad_token_id": 0, "eos_token_id": END}
    found = model(kind, "float32", attention).generate(ids, attention_mask=mask, **settled, **options)
    emitted = found[:, ids.shape[1] :].tolist()
    return [tokens[: tokens.index(END) + 1] if END in tokens else tokens for tokens in emitted]


@pytest.mark.versions
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("how", [*GENERATE, *ASSISTANTS])
@settings(max_examples=3)  # generate takes 30 ms, and the cases differ in how it runs, not in the text
@given(st.lists(st.integers(0, 5), min_size=1, max_size=14))
def test_generate_is_plain_greedy_decoding(how: str, kind: str, attention: str, prompt: list[int]) -> None:
    """Every way to run ``generate`` emits the tokens of ordinary passes."""
    if OLD and kind != "full" and (how in ASSISTANTS or how == "prompt lookup"):
        pytest.skip("transformers 4 cannot take rows back from a window that is full")
    ids = torch.tensor([prompt])
    assert generated(how, kind, attention, ids, torch.ones_like(ids)) == [greedy(kind, prompt, 9)]


@pytest.mark.versions
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("how", ["plain", "without a cache", "static"])
@settings(max_examples=3)  # as above
@given(st.lists(texts, min_size=2, max_size=3))
def test_batched_generate_is_plain_greedy_decoding(how: str, kind: str, prompts: list[list[int]]) -> None:
    """Left-padded prompts in one batch go on as each does alone."""
    ids, mask, _ = left_padded(prompts, pad=0)
    assert generated(how, kind, "sdpa", ids, mask) == [greedy(kind, prompt, 9) for prompt in prompts]


@given(texts, dtypes)
def test_autocast_changes_no_bit(text: list[int], dtype: str) -> None:
    """The model computes in its own precision under autocast too."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert same(logits("full", text, dtype), logits("full", text))


@given(texts, st.data())
def test_only_the_rows_asked_for_are_returned(text: list[int], data: st.DataObject) -> None:
    """``logits_to_keep`` as a count gives the last rows, as indices those rows."""
    count = data.draw(st.integers(1, len(text)))
    chosen = torch.tensor(data.draw(st.lists(st.integers(0, len(text) - 1), min_size=1, max_size=3)))
    ids = torch.tensor([text])
    assert same(model()(ids, logits_to_keep=count).logits[0], logits("full", text)[-count:])
    assert same(model()(ids, logits_to_keep=chosen).logits[0], logits("full", text)[chosen])


@pytest.mark.versions
def test_saving_and_loading_gives_the_same_model(tmp_path: Path) -> None:
    """A saved exact model comes back through the auto classes with every bit of its rows, in any dtype."""
    load_target("exact:ties=3-7,seed=5,layers=sliding+chunked,window=3,chunk=4").model.save_pretrained(tmp_path)
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    expected = load_target("exact:ties=3-7,seed=5,layers=sliding+chunked,window=3,chunk=4").model(ids).logits
    for dtype in (torch.float32, torch.bfloat16):
        again = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype)
        assert again.dtype == dtype
        assert same(again(ids).logits, expected)


def test_logits_have_the_scale_of_a_language_model() -> None:
    """The standard deviation of the logits is near 2.3, and every token is the largest about equally often."""
    ids = torch.tensor(np.random.default_rng(0).integers(0, VOCAB, (40, 100)))
    rows = model()(ids).logits.reshape(-1, VOCAB)
    assert 2.2 < float(rows.std()) < 2.35
    largest = np.bincount(rows.argmax(-1).numpy(), minlength=VOCAB)
    assert largest.min() > 30  # of 66 expected
    assert largest.max() < 110
