"""Why a kernel or a dtype cannot be used here: a refusal is no failure, and a failure is no refusal.

Rule: an error is a *refusal* if it says that this is not there for the device, the dtype or the inputs: a
``NotImplementedError``, an import that fails, a usage error of ours, or a message whose first line says so in one of the ways
listed below. Every error of CUDA has words on kernels in its later lines, so those say nothing; a compiler that is missing may
be named in any line. An error that speaks of memory is *out of memory*. Any other error is a *crash*: the kernel took the
inputs and failed. A *wrong result* is an answer that is no attention. Only a refusal means that the kernel is not offered.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

import torch

from tree_oracle.record import TreeOracleError, UsageError

# How torch begins where none of the kernels that are allowed takes the inputs.
_NO_KERNEL = ("No available kernel", "No viable backend")
_NOT_THERE = re.compile(
    r"not implemented for|not support|unsupported|\bNYI\b|no kernel image is available", re.IGNORECASE
)
_NO_COMPILER = re.compile(
    r"no working c\+\+ compiler|failed to find c compiler|cannot find a working triton", re.IGNORECASE
)
_NO_MEMORY = re.compile(r"out of memory|can't allocate memory|_ALLOC_FAILED", re.IGNORECASE)


class Kind(StrEnum):
    """What stands in the way."""

    REFUSED = "refused"  # not offered for this device, dtype or these inputs, or another kernel runs in its place
    OUT_OF_MEMORY = "out of memory"
    CRASHED = "crashed"
    WRONG = "wrong result"


class KernelFailed(TreeOracleError, RuntimeError):
    """A kernel that is offered here crashed, ran out of memory or answered what is no attention."""

    def __init__(self, message: str, kind: Kind) -> None:
        super().__init__(message)
        self.kind = kind


class Hindrance(NamedTuple):
    """Why something cannot be used."""

    kind: Kind
    reason: str  # in the words of whoever said so, in one line

    def __str__(self) -> str:
        return self.reason if self.kind is Kind.REFUSED else f"{self.kind}: {self.reason}"

    def error(self, what: str) -> UsageError | KernelFailed:
        """The exception for somebody who asked for it by name."""
        message = f"{what}: {self.reason}"
        return UsageError(message) if self.kind is Kind.REFUSED else KernelFailed(f"{self.kind}: {message}", self.kind)


def kind_of(error: BaseException) -> Kind:
    """What an error of a library or a driver says."""
    if isinstance(error, KernelFailed):
        return error.kind
    text = str(error).strip()
    first = text.partition("\n")[0]
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)) or _NO_MEMORY.search(first):
        return Kind.OUT_OF_MEMORY
    refuses = isinstance(error, (NotImplementedError, ImportError, UsageError)) or first.startswith(_NO_KERNEL)
    return Kind.REFUSED if refuses or _NOT_THERE.search(first) or _NO_COMPILER.search(text) else Kind.CRASHED
