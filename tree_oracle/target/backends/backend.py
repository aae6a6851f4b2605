"""One interface to the devices that targets run on.

What a device offers is tried, not looked up: a dtype is supported if a product and a softmax in it run, a kernel is offered if
it runs on a small case *and* the profile shows that it was the one that ran (``seen``). What stands in the way says whether it
was refused or failed (``hindrance``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from tree_oracle.target.backends import trial
from tree_oracle.target.backends.facts import DeviceFacts
from tree_oracle.target.backends.hindrance import Hindrance, Kind
from tree_oracle.target.backends.kernels import KERNELS, Kernel, kernel_named
from tree_oracle.target.backends.seen import Seen, kernel_seen
from tree_oracle.target.dtypes import DTYPES
from tree_oracle.target.spec import choose


class Backend(ABC):
    """A device: where tensors lie, how to wait for it, what it offers and how it rounds."""

    kind: str  # cpu, cuda, npu

    def __init__(self, device: str) -> None:
        self.device = device
        self._tried: dict[tuple[Kernel, str, bool], Hindrance | None] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} backend {self.device}>"

    @abstractmethod
    def synchronise(self) -> None:
        """Wait until everything asked of the device is done."""

    @abstractmethod
    def environment(self) -> DeviceFacts:
        """What of this device decides how it rounds, as it is at this moment."""

    @abstractmethod
    def full_precision(self) -> AbstractContextManager[None]:
        """Inside the block float32 products are computed in float32: TF32 and HF32 are off."""

    @contextmanager
    def repeatable(self) -> Iterator[None]:
        """Inside the block torch uses deterministic algorithms only, and raises where it has none."""
        before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])

    def dtypes(self) -> tuple[str, ...]:
        """Names of the floating dtypes in which a matrix product and a softmax run here."""
        return tuple(name for name in DTYPES if self.dtype_hindrance(name) is None)

    def dtype_hindrance(self, dtype: str) -> Hindrance | None:
        """Why this dtype cannot be used here, in the device's words; None if it can.

        Raises:
            UsageError: an unknown dtype.
        """
        choose("dtype", dtype, DTYPES)
        return trial.of_dtype(self.device, dtype, self.synchronise)

    def kernels(self, dtype: str = "float32", *, masked: bool = True) -> tuple[str, ...]:
        """Names of the attention kernels that run here, without those that must be compiled first (ask ``hindrance``)."""
        return tuple(
            name
            for name, kernel in KERNELS.items()
            if not kernel.compiles and self.hindrance(name, dtype, masked=masked) is None
        )

    def hindrance(self, kernel: str, dtype: str = "float32", *, masked: bool = True) -> Hindrance | None:
        """Why this kernel cannot be used here, None if it can: a refusal told from a crash, a wrong result and want of memory.

        Remembered for the rest of the process, but for want of memory, which may pass.

        Args:
            kernel: a name of ``KERNELS``.
            masked: with a mask; some kernels take none.

        Raises:
            UsageError: an unknown kernel or dtype.
        """
        choose("dtype", dtype, DTYPES)
        tried = kernel_named(kernel), dtype, masked
        if tried not in self._tried:
            found = trial.of_kernel(*tried, self.device, self.synchronise, self.kernel_seen)
            if found is not None and found.kind is Kind.OUT_OF_MEMORY:
                return found
            self._tried[tried] = found
        return self._tried[tried]

    def kernel_seen(self, run: Callable[[], Any]) -> Seen:
        """Run once and say which attention kernels ran, by the operators in the profile."""

        def finished() -> Any:
            result = run()
            self.synchronise()
            return result

        return kernel_seen(finished, device=self.device)
