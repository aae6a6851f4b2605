"""NVIDIA GPUs, and others that torch calls ``cuda``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tree_oracle.target.backends.backend import Backend
from tree_oracle.target.backends.errors import DeviceMissing
from tree_oracle.target.backends.facts import DeviceFacts, facts_of, switched
from tree_oracle.target.backends.float32 import full_float32, tf32_convolutions, tf32_products

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


class CudaBackend(Backend):
    """One GPU."""

    kind = "cuda"

    def __init__(self, device: str) -> None:
        """Take the GPU that ``device`` names.

        Raises:
            DeviceMissing: this torch has no CUDA, no GPU is there, or none of this number.
        """
        super().__init__(device if ":" in device else f"{device}:0")
        if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
            raise DeviceMissing(
                f"device {device!r}: this torch ({torch.__version__}) was built without CUDA; install a CUDA build"
            )
        if not torch.cuda.is_available():
            raise DeviceMissing(f"device {device!r}: no GPU can be used here; check the driver with nvidia-smi")
        if self._index >= torch.cuda.device_count():
            raise DeviceMissing(f"device {device!r}: this machine has {torch.cuda.device_count()} GPUs, counted from 0")

    @property
    def _index(self) -> int:
        return int(self.device.partition(":")[2])

    def synchronise(self) -> None:
        """Wait for every stream of this GPU."""
        torch.cuda.synchronize(self._index)

    def environment(self) -> DeviceFacts:
        """Name, compute capability, CUDA release and TF32 switches."""
        major, minor = torch.cuda.get_device_capability(self._index)
        return facts_of(
            self.kind,
            self.device,
            name=torch.cuda.get_device_name(self._index),
            runtime=f"CUDA {torch.version.cuda}",
            driver=_driver(),
            capability=f"{major}.{minor}",
            reduced_float32=switched(
                **{
                    "TF32 matmul": tf32_products(),
                    "TF32 convolution": tf32_convolutions(),
                    "bfloat16 sums reduced": torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
                    "float16 sums reduced": torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
                }
            ),
        )

    @contextmanager
    def full_precision(self) -> Iterator[None]:
        """TF32 off, and sums of half precision products in float32."""
        matmul = torch.backends.cuda.matmul
        names = ("allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")
        before = {name: getattr(matmul, name) for name in names}
        with full_float32():
            try:
                for name in names:
                    setattr(matmul, name, False)
                yield
            finally:
                for name, value in before.items():
                    setattr(matmul, name, value)

    @contextmanager
    def repeatable(self) -> Iterator[None]:
        """Deterministic algorithms; cuBLAS is given the fixed workspace that they need, if nothing else was said."""
        missing = _WORKSPACE not in os.environ
        if missing:
            os.environ[_WORKSPACE] = ":4096:8"
        try:
            with super().repeatable():
                yield
        finally:
            if missing:
                del os.environ[_WORKSPACE]


def _driver() -> str:
    """The driver's release, where this torch can tell it."""
    ask = getattr(torch._C, "_cuda_getDriverVersion", None)
    if ask is None:
        return ""
    number = int(ask())
    return f"CUDA {number // 1000}.{number % 1000 // 10}"
