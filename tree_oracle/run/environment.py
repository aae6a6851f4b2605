"""The place a result was seen in. No host names, users or paths: the block is made to be published."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from tree_oracle.record.installed import FILES, package_digest

if TYPE_CHECKING:
    from tree_oracle.target import Target

WEIGHTS, DECODER_FILE = (
    "weights",
    "decoder file",
)  # SHA-256 of what the target computes with, and of the decoder's source
SWITCHED_OFF = "switched off"  # what we turn off in order to look

_WORDS = {"flex_attention": "flex_attention, not compiled"}
_PACKAGES = ("tree-oracle", "torch", "transformers", "numpy", "hypothesis")


def environment(target: Target) -> dict[str, str]:
    """Versions, machine, and how the target was run."""
    from tree_oracle.numerics.weights import weights_of  # resolved here, since it loads torch
    from tree_oracle.target.backends.plugin import shown_device

    return versions() | {
        WEIGHTS: weights_of(target),
        "device": shown_device(str(target.device)),
        "dtype": str(target.dtype),
        "attention": _WORDS.get(target.attention, target.attention),
        SWITCHED_OFF: "; ".join(_switched_off(target)) or "nothing",
    }


def _switched_off(target: Target) -> Iterator[str]:
    """What of torch or of the model is off in the truth's passes because we look, and would be on without us."""
    import torch

    from tree_oracle.target.sequential import is_small
    from tree_oracle.target.uncompiled import FLEX

    if target.attention == FLEX:
        yield "the compiler of flex_attention and of its masks"
    if target.dtype == "float64" and not target.exact:
        yield "casts to smaller types inside the model"
    if is_small(target.model) and torch.get_num_threads() > 1:
        yield f"{torch.get_num_threads() - 1} of torch's {torch.get_num_threads()} threads"


def versions() -> dict[str, str]:
    """Versions and machine."""
    block = {name: _version(name) for name in _PACKAGES}
    block[FILES] = package_digest()
    return block | {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}


def place(device: str) -> dict[str, str]:
    """Versions, machine and what of a device decides how it rounds, as they stand in a tolerance report.

    Raises:
        UsageError: no such device here.
    """
    from tree_oracle.target import one_torch_thread  # resolved here, since it loads torch
    from tree_oracle.target.backends import backend_for

    with one_torch_thread():
        facts = backend_for(device).environment()
    named = {name: str(getattr(facts, name)) for name in facts.__struct_fields__}
    return versions() | {name: value for name, value in named.items() if value}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
