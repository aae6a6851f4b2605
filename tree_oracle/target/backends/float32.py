"""How float32 products are rounded, by torch's newer switches ``fp32_precision`` or, where a torch has none, the older ones.

Asking an older switch (``allow_tf32``, ``get_float32_matmul_precision``) raises RuntimeError once somebody has set a newer one
to something else, while the newer ones always tell what is in force. Setting an older one is always allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_WORDS = {"none": "highest", "ieee": "highest", "tf32": "high", "bf16": "medium"}  # newer words in the older ones


def cpu_products() -> str:
    """The precision of matrix products on the processor: highest, high or medium."""
    found = _newer(getattr(torch.backends.mkldnn, "matmul", None))
    return torch.get_float32_matmul_precision() if found is None else _WORDS.get(found, found)


def tf32_products() -> bool:
    """Whether matrix products on a GPU are rounded to TF32."""
    found = _newer(torch.backends.cuda.matmul)
    return bool(torch.backends.cuda.matmul.allow_tf32) if found is None else found == "tf32"


def tf32_convolutions() -> bool:
    """Whether convolutions on a GPU are rounded to TF32."""
    found = _newer(getattr(torch.backends.cudnn, "conv", None))
    return bool(torch.backends.cudnn.allow_tf32) if found is None else found == "tf32"


@contextmanager
def full_float32() -> Iterator[None]:
    """Float32 products and convolutions in float32 on every device; afterwards both kinds of switches are what they were."""
    backends = torch.backends
    switches: tuple[Any, ...] = (
        backends.cuda.matmul,
        getattr(backends.cudnn, "conv", None),
        getattr(backends.mkldnn, "matmul", None),
    )
    newer = [(switch, value) for switch in switches if (value := _newer(switch)) is not None]
    products, convolutions = _older(torch.get_float32_matmul_precision), _older(lambda: backends.cudnn.allow_tf32)
    try:
        torch.set_float32_matmul_precision("highest")
        backends.cudnn.allow_tf32 = False
        for switch, _ in newer:  # the older ones leave "none" there, which follows the switch for all of torch
            if _WORDS.get(_newer(switch) or "none") != "highest":
                switch.fp32_precision = "ieee"
        yield
    finally:
        if products is not None:
            torch.set_float32_matmul_precision(products)
        if convolutions is not None:
            backends.cudnn.allow_tf32 = convolutions
        for switch, value in newer:
            if _newer(switch) != value:
                switch.fp32_precision = value


def _newer(switch: Any) -> str | None:
    found = getattr(switch, "fp32_precision", None)
    return None if found is None else str(found)


def _older(ask: Callable[[], Any]) -> Any:
    """What an older switch says; None where the newer ones do not allow to ask it."""
    try:
        return ask()
    except RuntimeError:
        return None
