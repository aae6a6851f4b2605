"""The backend of GPUs where none is: what it reads, sets and says, on stand-ins for ``torch.cuda``. Nothing here ran on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from tree_oracle.target.backends import DeviceMissing
from tree_oracle.target.backends.cuda import CudaBackend

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
SWITCHES = ("allow_tf32", "allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")
Waited = list[int]


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> Waited:
    """Two GPUs that only answer questions; the indices of those that were waited for."""
    waited: Waited = []
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.version, "cuda", "12.9")
    for name, answer in {
        "is_available": lambda: True,
        "device_count": lambda: 2,
        "get_device_name": lambda index: f"GPU number {index}",
        "get_device_capability": lambda index: (9, index),
        "synchronize": waited.append,
    }.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    monkeypatch.setattr(torch._C, "_cuda_getDriverVersion", lambda: 13020, raising=False)
    return waited


@pytest.fixture(autouse=True)
def switches() -> Iterator[None]:
    """The switches are torch's own, which it has without a GPU too; they are left as they were found."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before, convolution = [getattr(matmul, name) for name in SWITCHES], cudnn.allow_tf32
    yield
    for name, value in zip(SWITCHES, before, strict=True):
        setattr(matmul, name, value)
    cudnn.allow_tf32 = convolution


def test_the_facts_of_a_gpu_are_read_by_its_number(waited: Waited) -> None:
    """Name, capability, CUDA, driver and every switch that reduces precision; ``cuda`` alone is the first GPU."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = False
    facts = CudaBackend("cuda:1").environment()
    assert (facts.kind, facts.device, facts.name, facts.capability) == ("cuda", "cuda:1", "GPU number 1", "9.1")
    assert (facts.runtime, facts.driver) == ("CUDA 12.9", "CUDA 13.2")
    assert facts.reduced_float32.startswith("TF32 matmul on, TF32 convolution off, bfloat16 sums reduced o")
    assert CudaBackend("cuda").environment().name == "GPU number 0"
    CudaBackend("cuda:1").synchronise()
    assert waited == [1]


def test_a_torch_that_tells_no_driver_leaves_it_open(waited: Waited, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fact is an empty text, which stands for "not known here"."""
    monkeypatch.delattr(torch._C, "_cuda_getDriverVersion")
    assert CudaBackend("cuda").environment().driver == ""


@pytest.mark.usefixtures("waited")
@pytest.mark.parametrize("on", [True, False])
def test_switches_are_off_inside_their_block_only(on: bool) -> None:
    """TF32 and reduced sums come back as they were, also after an error, and the facts say how they stood."""
    backend, matmul, cudnn = CudaBackend("cuda"), torch.backends.cuda.matmul, torch.backends.cudnn
    for name in SWITCHES:
        setattr(matmul, name, on)
    cudnn.allow_tf32 = on
    before, inside = backend.environment().reduced_float32, ""

    def fail() -> None:
        nonlocal inside
        with backend.full_precision():
            inside = backend.environment().reduced_float32
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert inside.count(" off") == 4
    assert backend.environment().reduced_float32 == before
    assert before.count(" on") == 4 * on


@pytest.mark.usefixtures("waited")
@pytest.mark.parametrize("said", ["", ":16:8"])
def test_repeatable_gives_cublas_its_workspace(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed workspace is asked for where nothing was said, what was said stands, and both are left as they were."""
    monkeypatch.delenv(WORKSPACE, raising=False)
    if said:
        monkeypatch.setenv(WORKSPACE, said)
    with CudaBackend("cuda").repeatable():
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ[WORKSPACE] == (said or ":4096:8")
    assert not torch.are_deterministic_algorithms_enabled()
    assert os.environ.get(WORKSPACE, "") == said


def test_what_is_missing_is_named_with_the_remedy(waited: Waited, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU of this number, none that can be used, and a torch without CUDA are three messages."""
    with pytest.raises(DeviceMissing, match="device 'cuda:2': this machine has 2 GPUs, counted from 0"):
        CudaBackend("cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceMissing, match="device 'cuda': no GPU can be used here; check the driver with nvidia-smi"):
        CudaBackend("cuda")
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    with pytest.raises(DeviceMissing, match=r"this torch \(.*\) was built without CUDA; install a CUDA build"):
        CudaBackend("cuda")
