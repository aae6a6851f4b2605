"""Backends: what a device offers is tried, which kernel ran is read off the profile, and what is missing is said with its remedy."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tree_oracle.record import UsageError
from tree_oracle.target import load_target
from tree_oracle.target.backends import (
    KERNELS,
    DeviceFacts,
    DeviceMissing,
    DriverMissing,
    MaskShape,
    PluginMissing,
    backend_for,
    float32,
    kernel_named,
    kernel_seen,
    kernels_in,
)
from tree_oracle.target.backends.npu import NpuBackend

CPU = backend_for("cpu")
HERE = ("eager", "sdpa", "sdpa-math", "sdpa-flash")  # flex is tried once below: a new shape takes it half a second
SCALE = 0.3


def by_hand(q: Tensor, k: Tensor, v: Tensor, visible: Tensor) -> np.ndarray:
    """Attention in float64, row by row over the keys that the row may see. (b, h, n, x)"""
    queries, keys, values = (np.asarray(x.double().numpy()) for x in (q, k, v))
    out = np.zeros((*queries.shape[:3], values.shape[-1]))
    for b, h, n in np.ndindex(*queries.shape[:3]):
        group = h * keys.shape[1] // queries.shape[1]
        seen = np.flatnonzero(np.broadcast_to(visible.numpy(), (len(queries), *visible.shape[-2:]))[b, n])
        scores = keys[b, group, seen] @ queries[b, h, n] * SCALE
        weights = np.exp(scores - scores.max())
        out[b, h, n] = weights @ values[b, group, seen] / weights.sum()
    return out


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    batch, groups, shared = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rows, keys, width = draw(st.integers(1, 5)), draw(st.integers(1, 9)), draw(st.sampled_from((8, 64)))
    made = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    q = torch.randn(batch, groups * shared, rows, width, generator=made)
    k, v = (torch.randn(batch, groups, keys, width, generator=made) for _ in range(2))
    visible = torch.rand(*((batch,) if draw(st.booleans()) else ()), rows, keys, generator=made) < 0.5
    visible[..., torch.arange(rows), torch.arange(rows) % keys] = True  # no row sees nothing
    return q, k, v, visible


@given(problem=problems())
def test_every_kernel_here_is_masked_attention(problem: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """Shared heads, a mask per sequence or for all, True visible: each kernel agrees with attention written out in float64."""
    due = by_hand(*problem)
    for name in HERE:
        found = KERNELS[name].attend(*problem, SCALE)
        np.testing.assert_allclose(found.numpy(), due, atol=2e-5, err_msg=name)


def test_flex_attention_is_masked_attention_too() -> None:
    """Its block mask is made from the same table, for all sequences or for each."""
    made = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(2, heads, 4, 16, generator=made) for heads in (4, 2, 2))
    visible = torch.rand(2, 4, 4, generator=made) < 0.5
    visible[:, :, 0] = True
    for table in (visible, visible[1]):
        np.testing.assert_allclose(
            KERNELS["flex"].attend(q, k, v, table, SCALE).numpy(), by_hand(q, k, v, table), atol=2e-5
        )


def test_the_kernel_that_ran_is_read_off_the_profile() -> None:
    """Forced kernels leave their own operator in a model's profile, and eager attention none of theirs."""
    ids = torch.arange(5)[None]
    for name in ("sdpa-math", "sdpa-flash", "eager"):
        kernel = kernel_named(name)
        model = load_target("tiny:qwen3", attention=kernel.implementation).model
        with kernel.forced():
            seen = CPU.kernel_seen(lambda: model(ids))  # noqa: B023  (called before the next turn)
        assert seen.kernels == (name,)
        assert seen.result.logits.shape == (1, 5, 256)


def test_no_attention_is_evidence_of_no_kernel() -> None:
    """A product alone names none, and a name that merely looks alike is none."""
    assert kernel_seen(lambda: torch.ones(2, 2) @ torch.ones(2, 2)).kernels == ()
    assert kernels_in(["aten::scaled_dot_product_attention", "sdpa-flash"]) == ()
    assert kernels_in(["aten::_softmax"]) == ("eager",)
    assert kernels_in(["aten::_softmax", "npu::npu_fusion_attention"]) == ("ascend-fusion",)


def test_what_a_processor_offers_is_tried() -> None:
    """Every dtype runs here; kernels of other devices are refused in the words of torch, and none is listed unseen."""
    assert CPU.dtypes() == ("float64", "float32", "bfloat16", "float16")
    offered = CPU.kernels("float32")
    assert set(HERE) <= set(offered)
    assert not {"sdpa-cudnn", "ascend-fusion", "ascend-infer", "flex-compiled"} & set(offered)
    assert "No viable backend" in str(CPU.hindrance("sdpa-efficient"))
    assert "torch_npu, which is not installed" in str(CPU.hindrance("ascend-infer"))
    with pytest.raises(UsageError, match="unknown kernel 'sdpa-flesh', did you mean 'sdpa-flash'"):
        CPU.hindrance("sdpa-flesh")


def test_switches_hold_inside_their_block_only() -> None:
    """Determinism and precision come back as they were, also after an error, and the facts say how they stood."""
    noted: list[DeviceFacts] = []

    def fail() -> None:
        with CPU.repeatable(), CPU.full_precision():
            noted.append(CPU.environment())
            raise ZeroDivisionError

    torch.set_float32_matmul_precision("high")
    try:
        with pytest.raises(ZeroDivisionError):
            fail()
        (facts,) = noted
        assert facts.deterministic
        assert facts.reduced_float32 == "matmul highest"
        assert CPU.environment().reduced_float32 == "matmul high"
        assert not CPU.environment().deterministic
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="this torch has the older switches only")
@given(
    everything=st.sampled_from(["none", "ieee", "tf32"]),
    products=st.sampled_from(["none", "ieee", "tf32"]),
    convolutions=st.sampled_from(["none", "ieee", "tf32"]),
    cpu=st.sampled_from(["none", "ieee", "tf32", "bf16"]),
)
def test_the_newer_switches_of_float32_are_asked_and_kept(
    everything: str, products: str, convolutions: str, cpu: str
) -> None:
    """However a caller has set them, facts can be told, the block computes in float32, and all stands as before afterwards."""
    backends: Any = torch.backends
    switches = [backends, backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul]  # the first: for all torch
    before = [one.fp32_precision for one in switches]
    try:
        for one, value in zip(switches, (everything, products, convolutions, cpu), strict=True):
            one.fp32_precision = value
        told = [one.fp32_precision for one in switches]
        words = {"none": "highest", "ieee": "highest", "tf32": "high", "bf16": "medium"}
        assert CPU.environment().reduced_float32 == f"matmul {words[told[3]]}"
        assert (float32.tf32_in_matmul(), float32.tf32_in_convolution()) == (told[1] == "tf32", told[2] == "tf32")
        with CPU.full_precision():
            assert CPU.environment().reduced_float32 == "matmul highest"
            assert not float32.tf32_in_matmul()
            assert not float32.tf32_in_convolution()
        assert [one.fp32_precision for one in switches] == told
    finally:
        torch.set_float32_matmul_precision("highest")
        for one, value in zip(switches, before, strict=True):
            one.fp32_precision = value


def test_the_facts_of_a_device_are_plain_data() -> None:
    """They survive JSON, name the release of torch, and hold no name of the machine."""
    facts = CPU.environment()
    assert msgspec.json.decode(msgspec.json.encode(facts), type=DeviceFacts) == facts
    assert type(facts.torch) is str  # torch's own is a class of its own, which no decoder of JSON would give back
    assert (facts.kind, facts.torch, facts.threads) == ("cpu", torch.__version__, torch.get_num_threads())


def test_a_mask_that_does_not_fit_is_refused() -> None:
    """Another shape, numbers instead of booleans, and heads that do not divide are named."""
    q, k = torch.ones(1, 3, 2, 8), torch.ones(1, 2, 4, 8)
    with pytest.raises(MaskShape, match="3 query heads cannot share 2 key heads"):
        KERNELS["eager"].attend(q, k, k, None, SCALE)
    with pytest.raises(
        MaskShape, match=r"shape \(2, 5\) and dtype torch.bool; expected booleans.* \(2, 4\) or \(1, 2, 4\)"
    ):
        KERNELS["sdpa"].attend(q[:, :2], k, k, torch.ones(2, 5, dtype=torch.bool), SCALE)
    with pytest.raises(MaskShape, match="dtype torch.float32"):
        KERNELS["flex"].attend(q[:, :2], k, k, torch.ones(2, 4), SCALE)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what is missing, and here it is there")
def test_a_device_that_is_not_here_is_named_with_the_remedy() -> None:
    """No CUDA in this torch, no plug-in, and a name that is no device."""
    with pytest.raises(DeviceMissing, match="'cuda:1'.*(built without CUDA; install a CUDA build|check the driver)"):
        backend_for("cuda:1")
    with pytest.raises(PluginMissing, match=r"pip install 'tree-oracle\[npu\]'"):
        backend_for("npu")
    with pytest.raises(PluginMissing, match="Ascend devices need torch_npu"):
        load_target("exact", device="npu:0")
    with pytest.raises(UsageError, match="unknown device 'npu0'; expected cpu, cuda, cuda:1, npu or npu:0"):
        backend_for("npu0")


def test_a_plugin_that_cannot_start_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch_npu without CANN, or with a module of its own missing, is not "not installed"."""
    monkeypatch.syspath_prepend(tmp_path)
    lost = "libhccl.so: cannot open shared object file: No such file or directory"
    for source, first in (
        (f"raise ImportError('{lost}')", lost),
        ("import torch_npu_part", "No module named 'torch_npu_part'"),
    ):
        tmp_path.joinpath("torch_npu.py").write_text(source)
        monkeypatch.delitem(sys.modules, "torch_npu", raising=False)
        with pytest.raises(DriverMissing, match=f"cannot start: {first}.*source set_env.sh"):
            backend_for("npu:0")


def test_an_ascend_device_is_described_by_its_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SoC, CANN and HF32 are read where torch_npu and CANN's installer leave them; switches come back after the block."""
    plugin = ModuleType("torch_npu")
    plugin.__dict__["__version__"] = "2.13.0"
    plugin.__dict__["npu"] = npu = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        get_device_name=lambda index: f"Ascend910B{index}",
        get_soc_version=lambda: 220,
        matmul=SimpleNamespace(allow_hf32=False),
        conv=SimpleNamespace(allow_hf32=True),
    )
    monkeypatch.setitem(sys.modules, "torch_npu", plugin)
    note = tmp_path / f"{__import__('platform').machine()}-linux" / "ascend_toolkit_install.info"
    note.parent.mkdir()
    note.write_text("package_name=Ascend-cann-toolkit\nversion=8.2.RC1\n")
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path))

    backend = NpuBackend("npu:1")
    facts = backend.environment()
    assert (facts.kind, facts.name, facts.runtime) == ("npu", "Ascend910B1", "CANN 8.2.RC1")
    assert (facts.plugin, facts.capability) == ("torch_npu 2.13.0", "SoC 220")
    assert facts.reduced_float32 == "HF32 matmul off, HF32 convolution on"
    with backend.full_precision():
        assert not npu.conv.allow_hf32
    assert npu.conv.allow_hf32
    with pytest.raises(DeviceMissing, match="torch_npu sees 2 Ascend devices here, counted from 0"):
        NpuBackend("npu:2")
