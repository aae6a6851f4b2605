"""Models with windows, chunks, capped scores and sinks: the tree pass gives the rows of ordinary runs, on every kind of cache.

Prefixes lie below, at and above the window of 8, trees straddle its edge, and most nodes stand in a slot that is not their depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_masked_kinds import SPECS as WITHOUT_WINDOWS
from transformers import DynamicCache, MixtralConfig, Qwen3Config, StaticCache, cache_utils

from tree_oracle.masked import layer_masks, pass_with_masks, tree_pass
from tree_oracle.masked.support import PROVEN_MODEL_TYPES
from tree_oracle.record import Unsupported
from tree_oracle.target import forward_with_cache, load_target
from tree_oracle.target.tiny import seeded_model
from tree_oracle.target.tiny_configurations import CONFIGURATIONS, EAGER_ONLY, WINDOW

pytestmark = pytest.mark.versions

# Architectures of which the tiny target has no window: the same weights with one.
GIVEN_A_WINDOW: dict[str, Callable[[dict[str, Any]], Any]] = {
    "mixtral": lambda values: MixtralConfig(**values | {"sliding_window": WINDOW}),
    "qwen3": lambda values: Qwen3Config(
        **values
        | {
            "layer_types": ["sliding_attention", "full_attention"],
            "use_sliding_window": True,
            "sliding_window": WINDOW,
            "max_window_layers": 0,
        }
    ),
}
EXACT = (
    "exact:layers=full+sliding,window=8",
    "exact:layers=chunked+full,chunk=8",
    "exact:layers=sliding+sliding,window=3",
)
TINY = ("cohere2", "gemma2", "gemma3", "gptoss", "llama4", "mistral")
SPECS = (*EXACT, *(f"tiny:{name}" for name in TINY), *GIVEN_A_WINDOW)
KERNELS = [
    (spec, kernel) for spec in SPECS for kernel in ("eager", "sdpa") if kernel == "eager" or spec[5:] not in EAGER_ONLY
]

SLOTS = 40  # of a static cache: more than prefix and nodes ever fill
CACHES: dict[str, Callable[[Any], Any]] = {
    "every row": lambda model: DynamicCache(),
    "windows": lambda model: DynamicCache(config=model.config),
    "static": lambda model: StaticCache(config=model.config, max_cache_len=SLOTS),
}

Tree = tuple[
    Sequence[int], Sequence[int], Sequence[int]
]  # prefix (root last), tokens of the nodes (root first), parents

# Children before and after their uncles, two branches that part at the root, depth 4 in slot 6 and depth 1 in slot 7.
PARENTS = (-1, 0, 0, 2, 3, 2, 4, 0, 6)


@cache
def model_of(spec: str, kernel: str) -> Any:
    """In double precision."""
    if spec not in GIVEN_A_WINDOW:
        return load_target(spec, dtype="float64", attention=kernel).model
    config = GIVEN_A_WINDOW[spec](CONFIGURATIONS[spec]().to_dict())
    model = seeded_model(config, seed=0, attention=kernel).eval().requires_grad_(False)
    return replace(load_target(f"tiny:{spec}", attention=kernel), model=model).in_dtype("float64").model


def path(parents: Sequence[int], node: int) -> list[int]:
    return [] if node < 0 else [*path(parents, parents[node]), node]


def plain_rows(model: Any, tree: Tree) -> np.ndarray:
    """One ordinary pass over each branch, written out: no cache, no mask, no positions. It gives the rows of all its nodes."""
    prefix, nodes, parents = tree
    rows: dict[int, np.ndarray] = {}
    for leaf in (node for node in range(len(nodes)) if node not in parents):
        branch = path(parents, leaf)
        text = [*prefix, *(nodes[node] for node in branch[1:])]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([text]), use_cache=False).logits[0].double().numpy()
        rows |= dict(zip(branch, logits[len(prefix) - 1 :], strict=True))
    return np.stack([rows[node] for node in range(len(nodes))])


def drawn_up(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Positions, and who sees whom where there are no windows."""
    prefix, nodes, parents = tree
    past = len(prefix) - 1
    seen = np.zeros((len(nodes), past + len(nodes)), dtype=bool)
    seen[:, :past] = True
    for node in range(len(nodes)):
        seen[node, [past + above for above in path(parents, node)]] = True
    return np.array([past + len(path(parents, node)) - 1 for node in range(len(nodes))]), seen


def filled(model: Any, kept: str, prefix: Sequence[int]) -> Any:
    """A cache that holds the prefix without its last token."""
    made = CACHES[kept](model)
    if len(prefix) > 1:
        forward_with_cache(model, torch.tensor([prefix[:-1]]), cache=made)
    return made


def masked_rows(model: Any, kept: str, tree: Tree) -> np.ndarray:
    positions, seen = drawn_up(tree)
    return np.asarray(
        tree_pass(model, filled(model, kept, tree[0]), np.array(tree[1]), positions, seen), dtype=np.float64
    )


def compare(model: Any, spec: str, tree: Tree) -> None:
    """On every cache that the release has columns for; where a static window takes one token at a time, it is refused."""
    expected = plain_rows(model, tree)
    for kept in CACHES:
        try:
            rows = masked_rows(model, kept, tree)
        except Unsupported as error:
            assert kept == "static"
            assert "of the cache is a" in str(error)
            assert not hasattr(cache_utils, "StaticSlidingWindowLayer")
            continue
        gap = np.abs(rows - expected).max()
        assert gap == 0 if spec in EXACT else gap < 1e-9, (spec, kept, gap)


def test_every_allowed_model_type_is_proven() -> None:
    """No type is on the list of the masked pass without being a subject here or in ``test_masked_kinds``."""
    here = {str(model_of(spec, "eager").config.model_type) for spec in SPECS}
    assert set(PROVEN_MODEL_TYPES) == here | set(WITHOUT_WINDOWS)


# The first logits after tokens 3 to 22, written down once: a case found elsewhere means the same model here.
FIRST = {
    "cohere2": (3.349693, 0.953609, 1.377913),
    "gemma2": (-0.50893, 1.945393, 0.782286),
    "gemma3": (-0.967519, 2.015379, 0.097113),
    "gptoss": (-0.257364, 1.628453, -0.502979),
    "llama4": (-1.488676, 2.096764, 3.486585),
    "mistral": (-2.230613, -0.866917, -2.252967),
}


@pytest.mark.parametrize("name", TINY)
def test_a_name_means_the_same_model_in_every_release(name: str) -> None:
    """Weights, windows, caps, sinks and positions are those of the day on which the target was made."""
    with torch.no_grad():
        logits = model_of(f"tiny:{name}", "eager")(input_ids=torch.arange(3, 23)[None], use_cache=False).logits
    assert logits[0, -1, :3].tolist() == pytest.approx(FIRST[name], abs=1e-5)


def test_caps_and_sinks_are_felt() -> None:
    """Without its cap, or with sinks that take nothing, the model gives rows that are off by more than a tenth."""
    ids = torch.arange(3, 23)[None]
    for name, change in (
        ("gemma2", lambda module: setattr(module, "attn_logit_softcapping", None)),
        ("gptoss", lambda module: module.sinks.fill_(-1e4)),
    ):
        model = load_target(f"tiny:{name}", attention="eager").model
        before = model(input_ids=ids).logits
        for layer in model.model.layers:
            change(layer.self_attn)
        assert float((model(input_ids=ids).logits - before).abs()[0, -1].max()) > 0.1


@pytest.mark.parametrize(("spec", "kernel"), KERNELS)
def test_rows_are_those_of_ordinary_runs_around_the_window(spec: str, kernel: str) -> None:
    """Below, at and above the window every node's row is within 1e-9 of an ordinary run over its branch; exactly it if exact."""
    nodes = (7, 3, 4, 3, 8, 11, 4, 9, 2)
    for length in (3, WINDOW - 1, WINDOW + 1, 2 * WINDOW + 3):
        prefix = [(5 * at * at + 3 * at + 1) % 61 for at in range(length - 1)] + [7]
        compare(model_of(spec, kernel), spec, (prefix, nodes, PARENTS))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Siblings may hold the same token; a cached prefix of 0 to 18 rows."""
    tokens = st.integers(0, 60)
    prefix = draw(st.lists(tokens, min_size=1, max_size=19))
    nodes = [prefix[-1], *draw(st.lists(tokens, min_size=1, max_size=12))]
    return prefix, nodes, [-1, *(draw(st.integers(0, node - 1)) for node in range(1, len(nodes)))]


@pytest.mark.parametrize(("spec", "kernel"), KERNELS)
@settings(max_examples=max(2, settings().max_examples // 20))  # a real architecture takes 5 ms a pass in float64
@given(tree=trees())
def test_rows_are_those_of_ordinary_runs_for_any_tree(spec: str, kernel: str, tree: Tree) -> None:
    """Whatever the prefix and the tree, rows are those of ordinary runs over the branches."""
    compare(model_of(spec, kernel), spec, tree)


@pytest.mark.parametrize("spec", SPECS)
def test_every_bit_of_every_layer_mask_matters(spec: str) -> None:
    """A column more or fewer in the mask of one kind of layer moves the node's row, a thousand times farther than is allowed."""
    model, node = model_of(spec, "eager"), 2
    tree = ([5, 9, 2, 7, 1, 30, 8, 41, 3, 7], [7, 3, 4], [-1, 0, 0])
    positions, seen = drawn_up(tree)
    due = layer_masks(model.config, seen, positions)
    true = masked_rows(model, "every row", tree)
    for kind, mask in due.items():
        for column in range(mask.shape[1]):
            wrong = mask.copy()
            wrong[node, column] ^= True
            kept = filled(model, "every row", tree[0])
            rows = pass_with_masks(model, kept, np.array(tree[1]), positions, due | {kind: wrong})
            assert np.abs(rows[node] - true[node]).max() > 1e-6, (kind, column)


def ones(rows: int, columns: int) -> np.ndarray:
    return np.ones((rows, columns), dtype=bool)


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=max(3, settings().max_examples // 20))  # as above
@given(st.lists(st.integers(0, 60), min_size=3, max_size=14), st.lists(st.integers(0, 60), max_size=6), st.data())
def test_a_window_counts_positions_in_a_cache_with_holes(
    spec: str, prefix: list[int], rejected: list[int], data: st.DataObject
) -> None:
    """Rows that no node may see, left behind in the cache by an earlier round, push nothing out of the window."""
    model = model_of(spec, "eager")
    cut = data.draw(st.integers(1, len(prefix) - 2))
    kept, held = filled(model, "every row", prefix[: cut + 1]), np.arange(cut)

    def write(tokens: list[int], positions: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return tree_pass(model, kept, np.array(tokens), positions, seen, held)

    holes, rest = len(rejected), len(prefix) - 1 - cut
    if holes:
        write(rejected, np.full(holes, cut), np.hstack([ones(holes, cut), np.eye(holes, dtype=bool)]))
        held = np.concatenate([held, np.full(holes, cut)])
    write(
        prefix[cut:-1],
        np.arange(cut, cut + rest),
        np.hstack([ones(rest, cut), ~ones(rest, holes), np.tri(rest, dtype=bool)]),
    )
    held = np.concatenate([held, np.arange(cut, cut + rest)])
    tree = (prefix, [prefix[-1], 3, 4, 3], [-1, 0, 0, 2])
    positions, seen = drawn_up(tree)
    rows = write(list(tree[1]), positions, np.insert(seen, [cut] * holes, False, axis=1))
    gap = np.abs(rows - plain_rows(model, tree)).max()
    assert gap == 0 if spec in EXACT else gap < 1e-9
