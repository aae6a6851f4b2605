"""One interface to the devices that targets run on.

What a device offers is tried, not looked up: a dtype is supported if a product and a softmax in it run, a kernel is offered if
it runs on a small case *and* the profile shows that it was the one that ran (``seen``).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from tree_oracle.target.backends.facts import DeviceFacts
from tree_oracle.target.backends.kernels import KERNELS, Kernel, kernel_named
from tree_oracle.target.backends.seen import Seen, kernel_seen
from tree_oracle.target.dtypes import DTYPES

_TRIAL = (1, 2, 8, 64)  # batch, heads, rows, width of the case a kernel is tried on; every kernel takes such sizes


class Backend(ABC):
    """A device: where tensors lie, how to wait for it, what it offers and how it rounds."""

    kind: str  # cpu, cuda, npu

    def __init__(self, device: str) -> None:
        self.device = device

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
        return tuple(name for name in DTYPES if self.dtype_refusal(name) is None)

    def dtype_refusal(self, dtype: str) -> str | None:
        """Why this dtype is not supported here, in the device's words; None if it is."""
        return _tried(lambda: _one(self.device, dtype)[0].softmax(-1), self.synchronise)

    def kernels(self, dtype: str = "float32", *, masked: bool = True) -> tuple[str, ...]:
        """Names of the attention kernels that run here, without those that must be compiled first (ask ``refusal``)."""
        return tuple(
            name
            for name, kernel in KERNELS.items()
            if not kernel.compiles and self.refusal(name, dtype, masked=masked) is None
        )

    def refusal(self, kernel: str, dtype: str = "float32", *, masked: bool = True) -> str | None:
        """Why this kernel is not offered here, None if it is. Remembered for the rest of the process.

        Args:
            kernel: a name of ``KERNELS``.
            masked: with a mask; some kernels take none.

        Raises:
            UsageError: an unknown kernel.
        """
        return _refusal(self, kernel_named(kernel), dtype, masked)

    def kernel_seen(self, run: Callable[[], Any]) -> Seen:
        """Run once and say which attention kernels ran, by the operators in the profile."""

        def finished() -> Any:
            result = run()
            self.synchronise()
            return result

        return kernel_seen(finished, device=self.device)


@lru_cache(maxsize=512)
def _refusal(backend: Backend, kernel: Kernel, dtype: str, masked: bool) -> str | None:
    names: list[str] = []

    def trial() -> None:
        q, k, v, visible = _case(backend.device, dtype)

        def attend() -> Tensor:
            return kernel.attend(q, k, v, visible if masked else None, 0.125)

        if kernel.compiles:
            attend()  # the first call traces the plain operator, whose name would be seen
        run = backend.kernel_seen(attend)
        names.extend(run.kernels)

    refused = _tried(trial, backend.synchronise)
    if refused is not None:
        return refused
    asked = kernel.name == "sdpa" or kernel.name in names  # torch's own choice is whatever it was
    return None if asked else f"asked for {kernel.name}, and {' and '.join(names) or 'no known kernel'} ran"


def _tried(run: Callable[[], Any], synchronise: Callable[[], None]) -> str | None:
    """The reason why it cannot run, in one line. Torch warns of what a forced kernel misses before it raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run()
            synchronise()
        except Exception as error:
            reasons = [str(error), *(str(warning.message) for warning in said)]
            lines = [line.strip() for reason in reversed(reasons) for line in reason.splitlines()[:1] if line.strip()]
            return f"{type(error).__name__}: {lines[0].partition(' (Triggered internally')[0] if lines else 'no reason given'}"
    return None


def _one(device: str, dtype: str) -> Tensor:
    one = torch.ones(8, 8, dtype=DTYPES[dtype], device=device)
    return one @ one


def _case(device: str, dtype: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    q, k, v = (torch.ones(*_TRIAL, dtype=DTYPES[dtype], device=device) for _ in range(3))
    rows = torch.arange(_TRIAL[2])
    visible = rows[:, None] >= rows[None, :]
    visible[3, 1] = False  # no triangle: a kernel that only knows causal masks must refuse
    return q, k, v, visible.to(device)
