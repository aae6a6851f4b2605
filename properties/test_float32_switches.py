"""Torch has two sets of switches for float32 products: whichever a program used, facts are told and switches come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tree_oracle.target.backends.float32 import full_float32, matmul_on_cpu, tf32_in_convolution, tf32_in_matmul

MATMUL, CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
NEWER = hasattr(MATMUL, "fp32_precision")
Use = Callable[[], Any]


def newer(part: Callable[[], Any], value: str) -> Use:
    return lambda: setattr(part(), "fp32_precision", value)


def for_all() -> None:
    """TF32 wherever an operation says nothing itself."""
    backends: Any = torch.backends
    for part in (MATMUL, backends.mkldnn.matmul, backends.cudnn.conv, backends.cudnn.rnn):
        part.fp32_precision = "none"
    backends.fp32_precision = "tf32"


# What a program did, and then: TF32 in products, TF32 in convolutions, the word of a processor.
OLDER: dict[str, tuple[Use, tuple[bool, bool, str]]] = {
    "nothing": (lambda: None, (False, True, "highest")),
    "high": (lambda: torch.set_float32_matmul_precision("high"), (True, True, "high")),
    "medium": (lambda: torch.set_float32_matmul_precision("medium"), (True, True, "medium")),
    "no convolution": (lambda: setattr(CUDNN, "allow_tf32", False), (False, False, "highest")),
}
NEW: dict[str, tuple[Use, tuple[bool, bool, str]]] = {
    "products": (newer(lambda: MATMUL, "tf32"), (True, True, "highest")),
    "products, not": (newer(lambda: MATMUL, "ieee"), (False, True, "highest")),
    "convolutions, not": (newer(lambda: CUDNN.conv, "ieee"), (False, False, "highest")),  # type: ignore[attr-defined]
    "processor": (newer(lambda: torch.backends.mkldnn.matmul, "bf16"), (False, True, "medium")),  # type: ignore[attr-defined]
    "for all": (for_all, (True, True, "high")),
    "older flag": (lambda: setattr(MATMUL, "allow_tf32", True), (True, True, "highest")),
}


@pytest.fixture(autouse=True)
def as_torch_starts() -> Iterator[None]:
    def start() -> None:
        if NEWER:
            newer(lambda: torch.backends, "none")()
        torch.set_float32_matmul_precision("highest")
        CUDNN.allow_tf32 = True

    start()
    yield
    start()


def facts() -> tuple[bool, bool, str]:
    return tf32_in_matmul(), tf32_in_convolution(), matmul_on_cpu()


@pytest.mark.parametrize("used", [*OLDER, *(NEW if NEWER else ())])
def test_whatever_was_used_is_told_and_comes_back(used: str) -> None:
    """Facts name what holds; inside the block all is off and every switch can be read; after it, and an error, all is as before."""
    use, due = (OLDER | NEW)[used]
    use()
    assert facts() == due

    def fail() -> None:
        with full_float32():
            assert facts() == (False, False, "highest")
            assert torch.get_float32_matmul_precision() == "highest"
            assert not MATMUL.allow_tf32
            assert not CUDNN.allow_tf32
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert facts() == due


@pytest.mark.parametrize("said", ["highest", "high", "medium"])
def test_what_the_older_set_said_it_says_again(said: str) -> None:
    """A program that never heard of the newer set reads what it set."""
    torch.set_float32_matmul_precision(said)
    with full_float32():
        pass
    assert torch.get_float32_matmul_precision() == said
    assert MATMUL.allow_tf32 == (said != "highest")
