"""The place a number was measured on: what of a device decides how it rounds. No host names, users or paths."""

from __future__ import annotations

import platform

import msgspec
import torch


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One device, in words made to be published. An empty text stands for "not known here"."""

    kind: str  # cpu, cuda, npu; a simulated device says so here
    device: str  # as torch writes it: cpu, cuda:0, npu:0
    name: str  # processor, GPU or SoC
    torch: str
    plugin: str = ""  # release of torch_npu
    runtime: str = ""  # CUDA or CANN
    driver: str = ""
    capability: str = ""  # compute capability, or the SoC's number
    reduced_float32: str = ""  # TF32 or HF32: where float32 products may be rounded
    deterministic: bool = False  # torch was told to use deterministic algorithms
    threads: int = 1  # of torch on the host


def facts_of(kind: str, device: str, **known: str) -> DeviceFacts:
    """The block of one device; what every device has is filled in."""
    return DeviceFacts(
        kind=kind,
        device=device,
        torch=str(torch.__version__),
        deterministic=torch.are_deterministic_algorithms_enabled(),
        threads=torch.get_num_threads(),
        **{"name": platform.machine(), **known},
    )


def switched(**switches: bool) -> str:
    """Switches in words: ``matmul on, convolution off``."""
    return ", ".join(f"{name} {'on' if on else 'off'}" for name, on in switches.items())
