"""The processor."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from tree_oracle.target.backends.backend import Backend
from tree_oracle.target.backends.facts import DeviceFacts, facts_of
from tree_oracle.target.backends.float32 import cpu_products, full_float32


class CpuBackend(Backend):
    """Computes at once, so there is nothing to wait for."""

    kind = "cpu"

    def synchronise(self) -> None:
        """Nothing to wait for."""

    def environment(self) -> DeviceFacts:
        """Name and vector instructions of the processor; the instructions decide the order of sums."""
        return facts_of(
            self.kind,
            self.device,
            name=_processor(),
            capability=torch.backends.cpu.get_cpu_capability(),
            reduced_float32=f"matmul {cpu_products()}",
        )

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """Float32 products at the highest precision, the setting that torch starts with."""
        with full_float32():
            yield


def _processor() -> str:
    """The model's name where Linux tells it, otherwise the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
