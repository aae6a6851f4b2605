"""flex_attention in a model: run without a compiler, evidenced, its rows right under every mask; where it cannot be had, refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch.nn.attention import flex_attention as operator
from transformers import masking_utils
from transformers.integrations import flex_attention as integration

from tree_oracle.masked import tree_pass
from tree_oracle.numerics import Cell, Verdict, measure_cell
from tree_oracle.numerics.sweep import load_cell
from tree_oracle.record import UsageError
from tree_oracle.run.environment import environment
from tree_oracle.strategies import candidate_trees, prefixes
from tree_oracle.target import load_target, prefill
from tree_oracle.target.backends import kernel_seen
from tree_oracle.target.uncompiled import FLEX, hold_uncompiled
from tree_oracle.tree import CandidateTree, lay_out

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(
        not hasattr(operator, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"),
        reason="this torch runs flex_attention compiled only",
    ),
]

DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
# One of each way to hand masks on; the others, which take theirs in one of these ways, in the profile deep.
WITH_FLEX = ("gemma2", "gemma3", "llama4", "mixtral", *(("cohere2", "llama", "mistral", "qwen3") if DEEP else ()))


@cache
def model_of(name: str) -> Any:
    """In double precision."""
    return load_target(f"tiny:{name}", dtype="float64", attention=FLEX).model


def plain(model: Any, text: Sequence[int]) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(model(input_ids=torch.tensor([list(text)]), use_cache=False).logits[0].double())


def branch(tree: CandidateTree, node: int) -> list[int]:
    """Tokens below the root, by following parents."""
    found = []
    while node > 0:
        found.append(int(tree.tokens[node]))
        node = int(tree.parents[node])
    return found[::-1]


def rows_of(model: Any, prefix: Sequence[int], tree: CandidateTree) -> np.ndarray:
    layout = lay_out(tree, len(prefix))
    return tree_pass(model, prefill(model, prefix[:-1]), tree.tokens, layout.positions, layout.visible)


def rooted(tree: CandidateTree, root: int) -> CandidateTree:
    return CandidateTree([root, *tree.tokens.tolist()[1:]], tree.parents.tolist())


@pytest.mark.parametrize("name", ["gemma2", *(["mistral"] if DEEP else [])])
@settings(max_examples=5)  # each example runs a model once for every node
@given(tree=candidate_trees(vocab_size=40, max_nodes=7), prefix=prefixes(vocab_size=40, min_size=2, max_size=12))
def test_rows_under_flex_are_those_of_plain_passes(name: str, tree: CandidateTree, prefix: tuple[int, ...]) -> None:
    """In double precision every row of a tree, windows and capped scores included, is the last row of its own branch."""
    model, tree = model_of(name), rooted(tree, prefix[-1])
    seen = rows_of(model, prefix, tree)
    due = np.stack([plain(model, [*prefix, *branch(tree, node)])[-1] for node in range(len(tree))])
    np.testing.assert_allclose(seen, due, atol=1e-10)


@pytest.mark.parametrize("name", WITH_FLEX)
def test_every_architecture_computes_the_same_under_flex(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain and tree rows are those of eager attention to within rounding, the profiler shows flex, and nothing is compiled."""

    def compile_nothing(*_: object, **__: object) -> None:
        raise AssertionError("something is compiled")

    monkeypatch.setattr(torch, "compile", compile_nothing)
    flex, eager = (load_target(f"tiny:{name}", attention=attention).model for attention in (FLEX, "eager"))
    text = [(7 * at + 3) % 50 for at in range(21)]
    tree = CandidateTree([text[-1], 1, 2, 1, 9], [-1, 0, 0, 1, 3])
    run = kernel_seen(lambda: (plain(flex, text), rows_of(flex, text, tree)))
    assert run.kernels == ("flex",)
    for seen, due in zip(run.result, (plain(eager, text), rows_of(eager, text, tree)), strict=True):
        np.testing.assert_allclose(seen, due, atol=1e-3)


def test_transformers_is_changed_inside_a_call_alone() -> None:
    """Before and after a call, one that raised included, transformers and torch are as they were; copies run the same way."""

    def as_is() -> tuple[object, ...]:
        return (
            integration.compile_friendly_flex_attention,
            vars(masking_utils)["create_block_mask"],
            operator._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG,
        )

    before, target = as_is(), load_target("tiny:qwen3", attention=FLEX)
    plain(target.model, [1, 2])
    with pytest.raises((IndexError, RuntimeError)):
        plain(target.model, [10**6])
    plain(target.in_dtype("float64").model, [1, 2])
    assert as_is() == before


def test_a_cell_under_flex_is_measured() -> None:
    """On a dense float32 model the rule holds and has power, and the report of a run says that nothing was compiled."""
    cell = Cell("tiny:qwen3", "cpu", "float32", "flex", width=5, batch=1, prefix=3)
    target = load_target(cell.target, attention=FLEX)
    found, _ = measure_cell(cell, target, rows=15)
    assert (found.verdict, found.signs) == (Verdict.USABLE, ()), found.reason
    assert found.figures is not None
    assert found.figures.kernels == ("flex",)
    assert environment(target)["attention"] == "flex_attention, not compiled"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("exact", "the exact model calls no attention kernel, so it has no flex_attention"),
        ("tiny:gpt2", "transformers has no flex_attention for tiny:gpt2"),
        ("tiny:gptoss", "tiny:gptoss has attention sinks, which flex_attention cannot compute"),
    ],
)
def test_where_it_cannot_be_had_the_reason_is_named(spec: str, why: str) -> None:
    """A model without it is refused by name, with what to use instead."""
    with pytest.raises(UsageError, match=f"{why}.*; use attention eager"):
        load_target(spec, attention=FLEX)


def test_a_compiled_kernel_is_no_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that asks for the compiled kernel is refused before anything is compiled; so is a torch that can do nothing else."""
    with pytest.raises(UsageError, match="flex-compiled in a model is not measured: .*; ask for flex"):
        load_cell(Cell("tiny:qwen3", "cpu", "float32", "flex-compiled", width=9, batch=1, prefix=5))
    monkeypatch.delattr(operator, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG")
    with pytest.raises(UsageError, match="this torch can run it compiled only"):
        hold_uncompiled(torch.nn.Identity())
