"""The seam ``attend``: right operators pass in every dtype, and a wrong key is named, at any length of the prefix."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from attend_cases import DTYPES, IDS, LISTED, Attend, cases, findings
from grounds import ground, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.adapters.attention import AttentionOperator, operator
from tree_oracle.checks import View
from tree_oracle.checks.attend_aimed import Aimed
from tree_oracle.checks.attend_inputs import inputs_of
from tree_oracle.checks.attended import Way, in_dtype, ordinary, own_columns, rounded, seen_attention
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.decoder.attention import attend, attention_layout, masked
from tree_oracle.record import AdapterError, Case, DecoderError, Status, Unsupported, UsageError
from tree_oracle.run import Budget
from tree_oracle.tree import CandidateTree

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
FEW = [
    LISTED[note] for note in ("8 nodes over 129 keys", "17 nodes over 20 keys", "9 nodes over 60 keys in a window of 6")
]
SOME = [
    LISTED[f"every bit of {note}"]
    for note in ("9 nodes over 2050 keys", "65 nodes over 300 keys in a window of 129", "128 nodes over 140 keys")
]


@given(case=cases())
def test_the_reference_and_its_float64_pass(case: Case) -> None:
    """Masked attention gives every row its own keys, in float32 and, declared, in float64."""
    assert not findings(case, attend)

    def double(q: Any, k: Any, v: Any, tree: Any, prefix_len: int, layout: Any) -> Any:
        return masked(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64), layout.visible)

    assert not findings(case, double, attend_dtype="float64")


@given(case=cases())
def test_what_is_due_is_attention_over_the_keys_of_the_path(case: Case) -> None:
    """Ordinary attention agrees with a softmax written out per row and head over the keys that a walk to the root meets."""
    assert case.attend is not None
    given_, cached = inputs_of(case), case.attend.prefix_len - 1
    parents = case.trees[0].parents
    due = ordinary(given_, own_columns(case, parents))
    for node, head in itertools.product(range(len(parents)), range(0, len(given_.q), 3)):
        path, here = [], node
        while here >= 0:
            path.append(here)
            here = parents[here]
        places = {
            **{i: i for i in range(cached)},
            **{cached + v: cached + len(path) - 1 - d for d, v in enumerate(path)},
        }
        mine = [
            c for c, at in places.items() if not case.attend.window or cached + len(path) - 1 - at < case.attend.window
        ]
        group = head // (case.attend.heads // case.attend.groups)
        scores = given_.k[group, mine].astype(float) @ given_.q[head, node].astype(float) / case.attend.width**0.5
        weights = np.exp(scores - scores.max())
        np.testing.assert_allclose(due[head, node], weights @ given_.v[group, mine] / weights.sum(), atol=1e-12)


@given(case=cases())
def test_every_number_is_exact_in_half_precision(case: Case) -> None:
    """Queries, keys and values stay what they are in float16 and bfloat16, and aimed values are one-hot."""
    given_ = inputs_of(case)
    for rows in (given_.q, given_.k, given_.v):
        for dtype in (torch.float16, torch.bfloat16):
            assert (torch.from_numpy(rows.copy()).to(dtype).float().numpy() == rows).all()
    assert not isinstance(given_, Aimed) or (given_.v.sum(axis=-1) == 1).all()


@given(numbers=st.lists(st.floats(-1e4, 1e4, width=32), min_size=1), dtype=st.sampled_from(["bfloat16", "float16"]))
def test_rounding_is_that_of_torch(numbers: list[float], dtype: str) -> None:
    """The noise of ordinary attention is measured with the rounding that a kernel has."""
    exact = np.array(numbers, dtype=np.float32)
    assert (rounded(exact, dtype) == torch.from_numpy(exact).to(getattr(torch, dtype)).float().numpy()).all()


@pytest.mark.parametrize("note", ["2 nodes over 128 keys", "9 nodes over 40 keys", "9 nodes over 2050 keys"])
def test_one_wrong_bit_is_of_order_one_where_a_row_aims(note: str) -> None:
    """For every row and head the bit that the row aims at, inverted, changes the row by more than a hundred times the room."""
    case = LISTED[note]
    assert case.attend is not None
    tree = CandidateTree.from_data(case.trees[0])
    layout, given_ = attention_layout(tree, case.attend.prefix_len), inputs_of(case)
    assert isinstance(given_, Aimed)
    right = masked(given_.q, given_.k, given_.v, layout.visible)
    rounds = drive(with_methods(attend=attend), Seam.ATTEND, case, 61)
    room = next(seen_attention(View(case, rounds, ground().truth))).room
    for node, head in itertools.product(range(len(tree)), range(len(given_.q))):
        visible = layout.visible.copy()
        visible[node, given_.targets[head, node]] ^= True
        moved = np.abs(masked(given_.q, given_.k, given_.v, visible) - right)[head, node].max()
        assert moved > (0.9 if head % 4 < 3 and visible[node].sum() > 1 else 100 * room)


def leaking(node: int, other: int) -> Attend:
    def attends(q: Any, k: Any, v: Any, tree: CandidateTree, prefix_len: int, layout: Any) -> Any:
        visible = layout.visible.copy()
        if len(visible) > max(node, other):
            visible[node, prefix_len - 1 + other] = True
        return masked(q, k, v, visible)

    return attends


def test_a_leak_is_named_with_its_key_and_what_it_is() -> None:
    """The finding says which node sees which other, what that is to it, and which keys are its own."""
    case = LISTED["8 nodes over 129 keys"]
    parents = case.trees[0].parents
    node, other = next((a, b) for a in range(8) for b in range(1, 8) if a != b and parents[a] == parents[b])
    found = findings(case, leaking(node, other))[0]
    assert found.sentence == f"node {node} sees node {other}, its sibling"
    assert "its own keys are 121 of the prefix and nodes [0, " in str(found.expected)


def test_an_operator_that_is_wrong_everywhere_makes_no_room_for_itself() -> None:
    """A mask that is never applied fails by every law, however wrong all of its rows are."""
    unmasked = lambda q, k, v, tree, prefix_len, layout: masked(q, k, v, np.ones_like(layout.visible))  # noqa: E731
    for case in FEW:
        found = findings(case, unmasked)
        assert "sees" in found[0].sentence
        assert any("stays as it was" in finding.sentence for finding in found)


def test_rounding_of_a_smaller_dtype_must_be_declared() -> None:
    """Weights that are kept in bfloat16 pass as such and fail as float32: no room is given that was not measured."""

    def rough(q: Any, k: Any, v: Any, tree: Any, prefix_len: int, layout: Any) -> Any:
        return rounded(attend(q, k, v, tree, prefix_len, layout), "bfloat16")

    case = LISTED["8 nodes over 129 keys"]
    assert not findings(case, rough, attend_dtype="bfloat16")
    assert findings(case, rough)


def test_ordinary_attention_in_a_dtype_is_near_what_is_due() -> None:
    """Feasibility: in every way that kernels take its error is below 1e-14, 4e-6, a hundredth and a thousandth."""
    case = LISTED["9 nodes over 2050 keys"]
    given_, own = inputs_of(case), own_columns(case, case.trees[0].parents)
    due = ordinary(given_, own)[:, ::3]
    for dtype, most in (("float64", 1e-14), ("float32", 4e-6), ("bfloat16", 1e-2), ("float16", 1e-3)):
        for way in Way:
            error = np.abs(in_dtype(given_, own, range(0, 9, 3), dtype, way) - due).max()
            assert error <= most, (dtype, way, error)


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        (kernel, dtype)
        for kernel in ("eager", "sdpa", "sdpa-math", "sdpa-flash", "flex")
        for dtype in DTYPES
        if kernel != "flex" or DEEP or dtype == "float32"  # which is not compiled and takes a second
    ],
)
def test_kernels_of_torch_pass_in_every_dtype(kernel: str, dtype: str) -> None:
    """What runs here is judged on sizes beside 8, 16 and 128, and with a window, and held right."""
    subject = AttentionOperator(kernel, dtype=dtype)
    for case in FEW[:1] if kernel == "flex" else (*FEW, *SOME):
        assert not findings(case, subject.attend, attend_dtype=dtype)


def test_a_kernel_that_is_not_here_is_not_judged() -> None:
    """Its checks are not applicable, with the device's own reason; nothing is passed."""
    report = ground().report(operator("ascend-infer"), *IDS, budget=QUICK)
    assert set(statuses(report).values()) == {Status.NOT_APPLICABLE}
    assert "torch_npu, which is not installed" in report.results[0].reason
    with pytest.raises(Unsupported, match="sdpa-cudnn on cpu in float32: RuntimeError: No viable backend"):
        AttentionOperator("sdpa-cudnn").attend(*[np.ones((1, 1, 16))] * 3, *[None] * 3)  # type: ignore[arg-type]


ASYNCHRONOUS = "CUDA kernel errors might be asynchronously reported at some other API call, on every backend"
SAID: dict[str, tuple[RuntimeError, Status]] = {
    "no kernel": (RuntimeError("No available kernel. Aborting execution."), Status.NOT_APPLICABLE),
    "no backend": (RuntimeError("No viable backend for scaled_dot_product_attention was found."), Status.NOT_APPLICABLE),
    "no such dtype": (NotImplementedError("\"softmax_kernel\" not implemented for 'Half'"), Status.NOT_APPLICABLE),
    "a crash": (RuntimeError(f"CUDA error: an illegal memory access was encountered\n{ASYNCHRONOUS}"), Status.FAILED),
    "a crash of a named kernel": (RuntimeError("kernel launch failed: No available kernel memory"), Status.FAILED),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_a_kernel_that_crashes_has_failed_and_one_that_torch_has_not_is_not_judged(name: str) -> None:
    """What torch says first decides: no kernel for these inputs is not applicable, any other error is the operator's."""
    error, status = SAID[name]

    def stops(*_: Any) -> Any:
        raise error

    subject = AttentionOperator("sdpa-math")
    subject._kernel = replace(subject._kernel, attention=stops)
    report = ground().report(lambda _: subject, "ATTEND-01", budget=QUICK)
    assert set(statuses(report).values()) == {status}, str(report)
    (result,) = report.results
    assert str(error).splitlines()[0] in result.reason


WRONG: dict[str, tuple[Attend, dict[str, Any], type[Exception], str]] = {
    "shape": (lambda q, *_: q[:1], {}, AdapterError, r"attend answered shape \(1, 8, .*: heads x nodes x width"),
    "integers": (lambda q, *_: q.astype(int), {}, AdapterError, "attend answered dtype int64; expected floating point"),
    "NaN": (lambda q, *_: q * np.nan, {}, DecoderError, "the row of node 0 in head 0 holds NaN"),
    "dtype": (attend, {"attend_dtype": "half"}, AdapterError, "attend_dtype is 'half'; expected one of float64, float32"),
    "input": (lambda q, *_: q.__iadd__(1), {}, DecoderError, "attend changed its input"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_cannot_be_judged_is_named(name: str) -> None:
    """Shape, kind of number, NaN, an unknown dtype, and inputs that were changed."""
    attends, more, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        findings(LISTED["8 nodes over 129 keys"], attends, **more)


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "no prefix": ({"prefix_len": 0}, "holds a size that is too small"),
    "odd heads": ({"heads": 3}, "heads of width 64, 3 over 2 groups"),
    "narrow": ({"width": 3}, "expected a width of"),
    "huge": ({"prefix_len": 10**8}, "are too many"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_case_that_no_operator_could_compute_is_refused(name: str) -> None:
    """What a file asks for and cannot be is refused before any decoder sees it."""
    case = LISTED["17 nodes over 20 keys"]
    assert case.attend is not None
    sizes = msgspec.structs.replace(case.attend, **{"heads": 4, "groups": 2, "width": 64, **MISFITS[name][0]})
    with pytest.raises(UsageError, match=MISFITS[name][1]):
        findings(msgspec.structs.replace(case, attend=sizes), attend)


def test_trees_of_different_sizes_are_refused() -> None:
    """The arrays of a case are the same for all of its trees."""
    case = msgspec.structs.replace(FEW[0], trees=(FEW[0].trees[0], FEW[1].trees[0]))
    with pytest.raises(UsageError, match=r"have \[8, 17\] nodes; expected as many each"):
        findings(case, attend)


def test_a_decoder_without_the_seam_is_not_judged_by_it() -> None:
    """Not observable, with the method that is missing, and never passed."""
    report = ground().report(lambda _: with_methods(accept=lambda tree, rows: ((), 0)), *IDS, budget=QUICK)
    assert set(statuses(report).values()) == {Status.NOT_OBSERVABLE}
    assert report.results[0].reason == "needs the method attend"


def test_the_listed_sizes_stand_on_both_sides_of_what_kernels_dispatch_on() -> None:
    """Rows and keys at, below and above the sizes of words, tiles and blocks are each met by a listed case."""
    rows = {len(case.trees[0].parents) for case in LISTED.values()}
    keys = {len(case.trees[0].parents) + case.attend.prefix_len - 1 for case in LISTED.values() if case.attend}
    assert {1, 2, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256} <= rows
    for edge in (128, 512, 1024, 2048):
        assert any(edge < size <= edge + 20 for size in keys), edge
