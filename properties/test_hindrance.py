"""Why a kernel cannot be used: a refusal, a crash, a wrong result and want of memory are told apart wherever a kernel is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from grounds import ground, statuses, with_methods

from tree_oracle.adapters.attention import operator
from tree_oracle.numerics import Cell, Found, Verdict
from tree_oracle.numerics.document import Sweep
from tree_oracle.numerics.mask_cost import mask_cost
from tree_oracle.numerics.sweep import run_sweep
from tree_oracle.record import Status, UsageError
from tree_oracle.run import Budget
from tree_oracle.run.environment import SWITCHED_OFF, environment
from tree_oracle.run.kernels_seen import PLAIN, TREE, kernels_seen
from tree_oracle.target import Target, load_target
from tree_oracle.target.backends import KERNELS, KernelFailed, Kind, kind_of
from tree_oracle.target.backends.cpu import CpuBackend
from tree_oracle.target.backends.errors import PluginMissing
from tree_oracle.target.backends.trial import _ROOM, arrays_on_trial, visible_on_trial

ASYNCHRONOUS = "CUDA kernel errors might be asynchronously reported, so no kernel below is the one. Unsupported."
SAID: dict[str, tuple[Exception, Kind]] = {
    "no kernel": (RuntimeError("No available kernel. Aborting execution."), Kind.REFUSED),
    "no dtype": (RuntimeError("\"softmax_kernel\" not implemented for 'Half'"), Kind.REFUSED),
    "no implementation": (NotImplementedError("aten::some operator"), Kind.REFUSED),
    "no such width": (ValueError("head_dim 96 is not supported by this kernel"), Kind.REFUSED),
    "no plug-in": (PluginMissing("Ascend devices need torch_npu"), Kind.REFUSED),
    "no compiler": (RuntimeError("backend='inductor' raised:\nNo working C++ compiler found in c++"), Kind.REFUSED),
    "no image": (RuntimeError("CUDA error: no kernel image is available for execution on the device"), Kind.REFUSED),
    "a crash": (RuntimeError(f"CUDA error: an illegal memory access was encountered\n{ASYNCHRONOUS}"), Kind.CRASHED),
    "a bug": (AttributeError("module 'torch_npu' has no attribute 'npu_fusion_attention'"), Kind.CRASHED),
    "memory": (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 TiB"), Kind.OUT_OF_MEMORY),
    "memory of a library": (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), Kind.OUT_OF_MEMORY),
}  # fmt: skip
RIGHT = KERNELS["eager"].attention


def raising(error: Exception) -> Any:
    def attention(*_: Any) -> Any:
        raise error

    return attention


def without_mask(q: Any, k: Any, v: Any, visible: Any, scale: float) -> Any:
    """A kernel that reads no mask."""
    return RIGHT(q, k, v, None, scale)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plants an attention in the place of the eager one, on every backend anew."""

    def plant(attention: Any) -> CpuBackend:
        backend = CpuBackend("cpu")
        monkeypatch.setitem(KERNELS, "eager", replace(KERNELS["eager"], attention=attention))
        for module in (
            "tree_oracle.adapters.attention",
            "tree_oracle.numerics.sweep",
            "tree_oracle.numerics.mask_cost",
        ):
            monkeypatch.setattr(f"{module}.backend_for", lambda _: backend)
        return backend

    return plant


@pytest.mark.parametrize("name", SAID)
def test_what_stands_in_the_way_is_told_with_its_reason(name: str, planted: Any) -> None:
    """By what the error says first; the reason is kept in its own words, and only want of memory is tried again."""
    error, kind = SAID[name]
    assert kind_of(error) is kind
    backend = planted(raising(error))
    found = backend.hindrance("eager")
    assert (found.kind, found.reason) == (kind, f"{type(error).__name__}: {str(error).splitlines()[0]}")
    assert isinstance(found.error("eager"), UsageError) is (kind is Kind.REFUSED)
    assert (backend.hindrance("eager") is found) is (kind is not Kind.OUT_OF_MEMORY)
    assert backend.hindrance("sdpa-math") is None


def test_a_wrong_result_of_the_small_case_is_told_and_a_right_one_is_none(planted: Any) -> None:
    """A mask that is not read, and NaN; the same attention unspoilt is not hindered, in any dtype."""
    assert planted(without_mask).hindrance("eager").kind is Kind.WRONG
    assert planted(without_mask).hindrance("eager", masked=False) is None
    assert planted(lambda *given: RIGHT(*given) * float("nan")).hindrance("eager").kind is Kind.WRONG
    backend = planted(lambda *given: RIGHT(*given))
    assert {backend.hindrance("eager", dtype) for dtype in backend.dtypes()} == {None}


def test_one_wrong_key_of_the_small_case_is_beyond_its_room() -> None:
    """Every bit of its mask, inverted, moves its row by twice what is allowed."""
    v, table = arrays_on_trial()[2][0], visible_on_trial()
    for row in range(len(table)):
        for key in range(len(table)):
            other = table.clone()
            other[row, key] ^= True
            if other[row].any():
                means = [seen[row].float() @ v / seen[row].sum() for seen in (table, other)]
                assert (means[0] - means[1]).abs().max().item() >= 2 * _ROOM - 1e-6


JUDGED = {Kind.REFUSED: Status.NOT_APPLICABLE, Kind.OUT_OF_MEMORY: Status.NOT_APPLICABLE, Kind.CRASHED: Status.FAILED}


@pytest.mark.parametrize("name", ["no kernel", "a crash", "memory"])
def test_an_operator_that_crashes_on_its_first_trial_has_failed(name: str, planted: Any) -> None:
    """ATTEND takes neither a refusal nor want of memory for a fault, and no crash for a refusal; the reason stands in the result."""
    error, kind = SAID[name]
    planted(raising(error))
    report = ground().report(operator("eager"), "ATTEND-01", budget=Budget(cases=0, shrink_runs=0, diagnose=False))
    assert set(statuses(report).values()) == {JUDGED[kind]}
    assert str(error).splitlines()[0] in report.results[0].reason


def test_an_operator_that_is_wrong_on_its_first_trial_is_judged_by_the_cases(planted: Any) -> None:
    """It fails with a finding that names a key, and not with the words of the trial."""
    planted(without_mask)
    report = ground().report(operator("eager"), "ATTEND-01", budget=Budget(cases=0, shrink_runs=0, diagnose=False))
    assert statuses(report) == {"ATTEND-01": Status.FAILED}
    assert "sees" in report.results[0].findings[0].sentence


SWEEP = Sweep(targets=("tiny:llama",), device="cpu", dtypes=("float32",), kernels=("eager", "sdpa-math", "sdpa-cudnn"),
              widths=(3,), batches=(1,), prefixes=(2,), rows=3)  # fmt: skip


def cells(path: Path, sweep: Sweep = SWEEP) -> dict[str, Found]:
    return {found.cell.kernel: found for found in run_sweep(sweep, path, {}).cells}


def test_a_cell_says_whether_its_kernel_was_refused_or_failed(tmp_path: Path, planted: Any) -> None:
    """Three cells: one crashes, one is measured, one is not offered by torch; and so for a wrong result."""
    planted(raising(SAID["a crash"][0]))
    found = cells(tmp_path / "crash.json")
    assert {found[name].verdict for name in ("eager", "sdpa-cudnn")} == {Verdict.UNMEASURED}
    assert found["eager"].reason.startswith(
        "crashed: eager in float32 on cpu: RuntimeError: CUDA error: an illegal memory"
    )
    assert found["sdpa-cudnn"].reason.startswith(
        "unsupported: sdpa-cudnn in float32 on cpu: RuntimeError: No viable backend"
    )
    assert found["sdpa-math"].figures is not None
    planted(without_mask)
    alone = msgspec.structs.replace(SWEEP, kernels=("eager",))
    assert cells(tmp_path / "wrong.json", alone)["eager"].reason.startswith("wrong result: eager in float32 on cpu: ")


def test_a_crash_in_a_cell_that_was_begun_is_no_lack_of_support(tmp_path: Path) -> None:
    """What raises after the trial says what kind it is too."""

    def load(cell: Cell) -> Target:
        raise SAID["a crash"][0] if cell.kernel == "eager" else SAID["no such width"][0]

    found = run_sweep(SWEEP, tmp_path / "all.json", {}, load=load).cells
    assert found[0].reason == "crashed: RuntimeError: CUDA error: an illegal memory access was encountered"
    assert found[1].reason == "unsupported: head_dim 96 is not supported by this kernel"


def test_times_are_not_taken_of_a_kernel_that_crashes(planted: Any) -> None:
    """It is no usage error to ask for it."""
    planted(raising(SAID["a crash"][0]))
    with pytest.raises(KernelFailed, match="crashed: eager in float32 on cpu: RuntimeError: CUDA error"):
        mask_cost("eager", nodes=2, prefix=2, times=1)


def test_a_cell_holds_the_kernels_of_both_passes(tmp_path: Path) -> None:
    """Torch's own choice is another one where there is a mask of a tree; a forced kernel is seen in both."""
    found = cells(tmp_path / "both.json", msgspec.structs.replace(SWEEP, kernels=("sdpa", "sdpa-math")))
    figures = {name: one.figures for name, one in found.items()}
    assert figures["sdpa-math"] is not None
    assert figures["sdpa"] is not None
    assert (figures["sdpa-math"].kernels, figures["sdpa-math"].plain_kernels) == (("sdpa-math",), ("sdpa-math",))
    assert figures["sdpa"].kernels
    assert figures["sdpa"].plain_kernels


def test_a_report_says_which_kernels_both_passes_of_the_target_ran() -> None:
    """Read off the profile: the eager target runs eager in both; the exact model calls none, and a pass that stops is told."""
    assert kernels_seen(load_target("tiny:llama", attention="eager")) == {PLAIN: "eager", TREE: "eager"}
    assert set(kernels_seen(load_target("tiny:llama"))) == {PLAIN, TREE}
    assert kernels_seen(load_target("exact")) == kernels_seen(None) == {}
    broken = load_target("tiny:llama")
    broken.model.register_forward_pre_hook(raising(RuntimeError("no pass today")))
    assert kernels_seen(broken)[PLAIN] == "not seen: RuntimeError: no pass today"
    report = ground("tiny:llama").report(lambda _: with_methods(move=lambda *_: 0), "MOVE-01")
    assert {PLAIN, TREE} <= set(report.environment)


def test_a_large_model_is_not_run_for_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so in both places."""
    monkeypatch.setattr("tree_oracle.target.sequential.SMALL", 10)
    seen = kernels_seen(load_target("tiny:llama"))
    assert set(seen.values()) == {"not seen: a model of more than 10 parameters is not run for it"}


def test_a_report_says_what_was_switched_off_in_order_to_look() -> None:
    """The compiler of flex_attention, narrowing inside a model, threads; and nothing where nothing was."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert environment(load_target("tiny:llama"))[SWITCHED_OFF] == "nothing"
        assert "compiler" in environment(load_target("tiny:llama", attention="flex_attention"))[SWITCHED_OFF]
        assert "casts" in environment(load_target("tiny:llama", dtype="float64"))[SWITCHED_OFF]
        torch.set_num_threads(2)
        assert environment(load_target("exact"))[SWITCHED_OFF] == "1 of torch's 2 threads"
    finally:
        torch.set_num_threads(before)
