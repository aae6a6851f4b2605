"""Whether float32 products may be rounded to fewer digits, read and switched through both of torch's sets of switches.

The older set is ``set_float32_matmul_precision`` and ``allow_tf32``. Torch 2.9 added ``fp32_precision`` for each operation of
each library; a program that uses it makes the older set raise *when it is read* (seen with torch 2.13). So what holds is read
from the newer set where there is one, and both are set, so that inside the block neither contradicts the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_WORDS = {"none": "highest", "ieee": "highest", "tf32": "high", "bf16": "medium"}  # as the older set calls them
_NEWER = "fp32_precision"


def tf32_in_matmul() -> bool:
    """Whether a GPU may round the factors of a float32 matrix product."""
    return _allowed(torch.backends.cuda.matmul, lambda: torch.backends.cuda.matmul.allow_tf32)


def tf32_in_convolution() -> bool:
    """Whether a GPU may round the factors of a float32 convolution."""
    return _allowed(getattr(torch.backends.cudnn, "conv", None), lambda: torch.backends.cudnn.allow_tf32)


def matmul_on_cpu() -> str:
    """The precision of float32 matrix products on a processor: highest, high or medium."""
    newer = getattr(torch.backends.mkldnn, "matmul", None)
    return _WORDS[getattr(newer, _NEWER)] if hasattr(newer, _NEWER) else torch.get_float32_matmul_precision()


@contextmanager
def full_float32() -> Iterator[None]:
    """Inside the block float32 products are computed in float32, on a processor and on a GPU; switches come back after it."""
    cudnn = torch.backends.cudnn
    parts: list[Any] = [torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)]
    parts += [getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)]
    newer = [(part, getattr(part, _NEWER)) for part in parts if hasattr(part, _NEWER)]
    # Where the older set cannot be read it stands as torch starts with it, or it was set to what the newer one now overrules.
    matmul, convolution = _read(torch.get_float32_matmul_precision, "highest"), _read(lambda: cudnn.allow_tf32, True)
    try:
        torch.set_float32_matmul_precision("highest")
        cudnn.allow_tf32 = False
        for part, _ in newer:  # what says nothing itself would take what is said for all
            setattr(part, _NEWER, "ieee")
        yield
    finally:
        torch.set_float32_matmul_precision(matmul)
        cudnn.allow_tf32 = convolution
        for part, value in newer:
            setattr(part, _NEWER, value)


def _allowed(newer: Any, older: Callable[[], bool]) -> bool:
    return getattr(newer, _NEWER) == "tf32" if hasattr(newer, _NEWER) else older()


def _read(ask: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return ask()
    except RuntimeError:
        return otherwise
