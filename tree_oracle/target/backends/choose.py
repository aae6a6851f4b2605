"""The backend of a device name."""

from __future__ import annotations

import re
from functools import lru_cache

from tree_oracle.record import UsageError
from tree_oracle.target.backends.backend import Backend
from tree_oracle.target.backends.cpu import CpuBackend
from tree_oracle.target.backends.cuda import CudaBackend
from tree_oracle.target.backends.npu import NpuBackend

_BACKENDS: dict[str, type[Backend]] = {"cpu": CpuBackend, "cuda": CudaBackend, "npu": NpuBackend}
_NAME = re.compile(r"(cpu|cuda|npu)(:\d+)?")


@lru_cache(maxsize=64)
def backend_for(device: str) -> Backend:
    """The backend of a device named as torch writes it: cpu, cuda, cuda:1, npu:0. One object per name, so trials are kept.

    Raises:
        UsageError: no such kind of device.
        DeviceMissing: this machine does not have it; with PluginMissing and DriverMissing for torch_npu and CANN.
    """
    found = _NAME.fullmatch(device)
    if found is None:
        raise UsageError(f"unknown device {device!r}; expected cpu, cuda, cuda:1, npu or npu:0")
    return _BACKENDS[found[1]](device)
