"""What is true of a device: its facts, its switches, each of its kernels, a tree pass, and a sweep that meets the end of its memory.

Every test body stands once and asks a device. On ``cuda`` it runs where a GPU can be used and is skipped otherwise; on ``cpu`` it
runs everywhere at a small size, which shows that the body runs and says nothing of a GPU.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from grounds import ground

from tree_oracle.adapters.attention import AttentionOperator
from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.attends import ATTENDS
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.numerics import Cell, Found, Sweep, Verdict, measure_cell, run_sweep
from tree_oracle.numerics.sweep import load_cell
from tree_oracle.record import Case
from tree_oracle.run.environment import place
from tree_oracle.target import Target
from tree_oracle.target.backends import KERNELS, Backend, backend_for

# Without a GPU only the dtype in which a processor is quick: the others are tried there by other files.
HALVES = ("float32", "bfloat16", "float16")
DTYPES = {"cpu": HALVES[:1], "cuda": HALVES}
NOTES = ("8 nodes over 129 keys", "17 nodes over 20 keys", "9 nodes over 60 keys in a window of 6")
JUDGES = ("ATTEND-01", "ATTEND-02", "ATTEND-03")
TOO_MUCH = 2**50  # bytes: no device holds them, and no processor has addresses for them


@pytest.fixture(
    params=[
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: nothing was measured")
        ),
    ]
)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def backend(device: str) -> Backend:
    return backend_for(device)


@lru_cache(maxsize=2)
def loaded(cell: Cell) -> Target:
    return load_cell(cell)


def cell(target: str, device: str, dtype: str, *, width: int = 9, batch: int = 1, prefix: int = 12) -> Cell:
    return Cell(target, device, dtype, "sdpa", width, batch, prefix)


def measured(asked: Cell) -> Found:
    return measure_cell(asked, loaded(asked), rows=9)[0]


def test_a_device_says_what_decides_how_it_rounds(device: str, backend: Backend) -> None:
    """Its facts name kind, device, release and precision; a GPU's also its capability, runtime and driver."""
    facts = backend.environment()
    assert (facts.kind, facts.device.partition(":")[0], facts.torch) == (device, device, torch.__version__)
    assert facts.name
    assert facts.reduced_float32
    if device == "cuda":
        assert re.fullmatch(r"\d+\.\d+", facts.capability)
        assert re.fullmatch(r"CUDA \d+\.\d+", facts.driver)
        assert facts.runtime == f"CUDA {torch.version.cuda}"
        assert "TF32 matmul" in facts.reduced_float32


def product_error(backend: Backend) -> tuple[float, float]:
    """The error of a float32 product of 512 terms, and the most that float32 arithmetic allows: gamma_n |a||b|."""
    made = torch.Generator().manual_seed(3)
    one, other = (torch.randn(512, 512, generator=made) for _ in range(2))
    found = (one.to(backend.device) @ other.to(backend.device)).cpu().double()
    error = (found - one.double() @ other.double()).abs()
    unit = 512 * 2.0**-24
    return float(error.max()), float(unit / (1 - unit) * (one.double().abs() @ other.double().abs()).max())


def test_full_precision_is_that_of_float32(device: str, backend: Backend) -> None:
    """Inside the block a product keeps the bound of float32 whatever the switch said before, which comes back after it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # on a GPU: TF32
    try:
        switched = backend.environment().reduced_float32
        with backend.full_precision():
            error, bound = product_error(backend)
            assert error <= bound
            inside = backend.environment().reduced_float32
        assert inside != switched == backend.environment().reduced_float32
        if device == "cuda" and torch.cuda.get_device_capability() >= (8, 0):  # the first that has TF32
            assert product_error(backend)[0] > 10 * error
    finally:
        torch.set_float32_matmul_precision(before)


def test_repeatable_repeats_or_raises(backend: Backend) -> None:
    """Inside the block a pass gives the same bits twice, and an operation without a repeatable form is refused."""
    asked = cell("tiny:llama", backend.kind, "float32")
    model = loaded(asked).model
    ids = torch.arange(24, device=model.device).reshape(2, 12)
    with backend.repeatable(), torch.no_grad():
        assert torch.equal(model(ids).logits, model(ids).logits)
        twice = torch.tensor([1, 1], device=model.device)
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            torch.zeros(4, device=model.device).put_(twice, torch.ones(2, device=model.device))
        backend.synchronise()
    assert not torch.are_deterministic_algorithms_enabled()


def attend_cases() -> list[Case]:
    listed = {case.note: case for case in ATTENDS.listed(ground().stock.stage)}
    return [listed[note] for note in NOTES]


def test_every_kernel_offered_is_the_one_that_ran_and_attends_rightly(device: str, backend: Backend) -> None:
    """For each dtype: what is offered is seen in the profile, and no ATTEND check finds anything in it."""
    for dtype in DTYPES[device]:
        offered = backend.kernels(dtype)
        assert {"eager", "sdpa", "sdpa-math"} <= set(offered)
        for name in offered if device == "cuda" else ("eager", "sdpa-math"):
            q, visible = torch.ones(1, 2, 8, 64, device=device), torch.ones(8, 8, dtype=torch.bool, device=device)
            q = q.to(getattr(torch, dtype))
            seen = backend.kernel_seen(lambda: KERNELS[name].attend(q, q, q, visible, 0.125))  # noqa: B023
            assert seen.kernels
            assert name in ("sdpa", *seen.kernels)
            operator = AttentionOperator(name, device=device, dtype=dtype)
            for case in attend_cases():
                view = View(case, drive(operator, Seam.ATTEND, case, 61), ground().truth)
                judges = JUDGES if len(case.trees) > 1 else JUDGES[:2]
                found = [finding for judge in judges for finding in CHECKS[judge].judge(view)]
                assert not found, (name, dtype, case.note, found)


@pytest.mark.parametrize("target", ["tiny:llama", "tiny:gemma3"])
def test_a_tree_pass_is_as_near_as_the_plain_pass(target: str, device: str) -> None:
    """Full and sliding layers: no tree row beyond the rule and its own plain row, and no sign of anything but rounding."""
    for dtype in DTYPES[device]:
        found = measured(cell(target, device, dtype))
        assert found.verdict not in (Verdict.UNMEASURED, Verdict.NOT_FINITE, Verdict.EXCEEDED), found
        assert found.signs == (), found
        assert found.figures is not None
        assert found.figures.tolerance.unexplained == 0


def test_the_exact_model_is_bit_equal_there(device: str) -> None:
    """No row, control or dtype changes a bit, in a batch of two."""
    for dtype in DTYPES[device]:
        found = measured(cell("exact", device, dtype, width=6, batch=2, prefix=5))
        assert found.verdict is Verdict.EXACT, found


def test_a_sweep_outlives_the_end_of_memory(device: str, tmp_path: Path) -> None:
    """A cell in which the device's own allocator refuses is marked, and the next one is measured."""

    def load(asked: Cell) -> Target:
        if asked.kernel == "eager":
            torch.empty(TOO_MUCH, dtype=torch.uint8, device=asked.device)
        return load_cell(asked)

    sweep = Sweep(("exact",), device, ("float32",), ("eager", "sdpa"), (3,), (1,), (2,), rows=3)
    first, second = run_sweep(sweep, tmp_path / "swept.json", place(device), load=load).cells
    assert first.verdict is Verdict.UNMEASURED
    assert first.reason.startswith("out of memory: ")
    assert second.verdict is Verdict.EXACT
    assert np.isfinite(second.seconds)
