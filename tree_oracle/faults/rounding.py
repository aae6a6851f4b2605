"""Planted numerical faults: the algebra is right and the arithmetic is not. Each has a twin that rounds as much and rightly.

    width-dependent rounding   activations are rounded to bfloat16 in passes of 2 to 16 rows, which is where an engine picks
                               another kernel. Wakes behind a prefix longer than that; twin: rounded in every pass
    row-shared scale           activations are quantised to 8 bits under one scale for all rows of a pass; twin: one per row
    softmax over an empty tile keys are taken in tiles of 8 up to the last one that a row sees, and a tile in which it sees
                               nothing gives NaN. Wakes where siblings fill a tile; twin: the tile is left out
    half-precision state       keys and values are kept as bfloat16; twin: kept as they are computed

They are planted into a copy of a target's model, so the tree pass, the plain pass and every control run through them. The two
that round to bfloat16 change nothing in that dtype; a sweep with a planted fault that changes no figure says so of the cell.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from tree_oracle.record import UsageError
from tree_oracle.target import Target, layer_tensors
from tree_oracle.target.compat import set_layer_tensors

SMALL_KERNEL = range(2, 17)  # rows of a pass that the rounding kernel is picked for
TILE = 8  # keys

Plant = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class NumberFault:
    """A fault of arithmetic, its twin, and the sign by which ``numerics`` knows it."""

    name: str
    sign: str
    fault: Plant
    twin: Plant
    source: str

    def planted(self, target: Target) -> Target:
        """A copy of the target with the fault."""
        return _with(target, self.fault)

    def harmless(self, target: Target) -> Target:
        """A copy of the target with the twin."""
        return _with(target, self.twin)


def find_number_fault(name: str) -> NumberFault:
    """The numerical fault of this name.

    Raises:
        UsageError: there is none.
    """
    for fault in NUMBER_FAULTS:
        if fault.name == name:
            return fault
    raise UsageError(f"unknown numerical fault {name!r}; known: {', '.join(fault.name for fault in NUMBER_FAULTS)}")


def _with(target: Target, plant: Plant) -> Target:
    model = copy.deepcopy(target.model)
    plant(model)
    return replace(target, model=model)


def _before_products(change: Callable[[Tensor], Tensor]) -> Plant:
    """Change what goes into every matrix product with weights."""

    def before(_module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (change(args[0]), *args[1:])

    def plant(model: Any) -> None:
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.register_forward_pre_hook(before)

    return plant


def _halved(values: Tensor) -> Tensor:
    return values.to(torch.bfloat16).to(values.dtype)


def _halved_in_small_passes(values: Tensor) -> Tensor:
    return _halved(values) if values.shape[-2] in SMALL_KERNEL else values


def _quantised(values: Tensor, scale: Tensor) -> Tensor:
    step = scale.clamp_min(torch.finfo(values.dtype).tiny) / 127
    return (values / step).round() * step


def _one_scale(values: Tensor) -> Tensor:
    return _quantised(values, values.abs().amax())


def _scale_per_row(values: Tensor) -> Tensor:
    return _quantised(values, values.abs().amax(dim=-1, keepdim=True))


def _tiles(empty_gives: float | None) -> Plant:
    """What the mask of a row with an empty tile becomes; as online softmax gives NaN."""

    def before(
        _module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mask = kwargs.get("attention_mask")
        if not isinstance(mask, Tensor) or mask.dim() != 4 or not mask.is_floating_point():
            return args, dict(kwargs)  # no mask of ours: the kernel keeps to the triangle
        empty = _empty_tile(mask > torch.finfo(mask.dtype).min / 2)
        given = mask.masked_fill(empty[..., None], empty_gives) if empty_gives is not None else mask.clone()
        return args, {**kwargs, "attention_mask": given}

    def plant(model: Any) -> None:
        for module in model.modules():
            if type(module).__name__.endswith("Attention"):
                module.register_forward_pre_hook(before, with_kwargs=True)

    return plant


def _empty_tile(seen: Tensor) -> Tensor:
    """Rows that see nothing of a tile before the last one that they see something of."""
    columns = seen.shape[-1]
    padded = nn.functional.pad(seen, (0, -columns % TILE))
    some = padded.reshape(*padded.shape[:-1], -1, TILE).any(dim=-1)
    later = some.flip(-1).cummax(dim=-1).values.flip(-1)  # this tile or one behind it is seen
    empty: Tensor = (later & ~some).any(dim=-1)
    return empty


def _keep(change: Callable[[Tensor], Tensor]) -> Plant:
    """Change what a cache holds after every pass."""

    def after(_module: nn.Module, _args: tuple[Any, ...], kwargs: Mapping[str, Any], _output: Any) -> None:
        cache = kwargs.get("past_key_values", kwargs.get("cache"))
        if cache is None:
            return
        for layer, (keys, values) in enumerate(layer_tensors(cache)):
            set_layer_tensors(cache, layer, change(keys), change(values))

    def plant(model: Any) -> None:
        model.register_forward_hook(after, with_kwargs=True)

    return plant


NUMBER_FAULTS = (
    NumberFault(
        "width-dependent-rounding",
        "width",
        _before_products(_halved_in_small_passes),
        _before_products(_halved),
        "llama.cpp issue 25618",
    ),
    NumberFault(
        "row-shared-scale",
        "neighbours",
        _before_products(_one_scale),
        _before_products(_scale_per_row),
        "reports of class NUMERIC",
    ),
    NumberFault(
        "softmax-over-an-empty-tile", "empty row", _tiles(torch.nan), _tiles(None), "reports of class MASK-TILE"
    ),
    NumberFault("half-precision-state", "state", _keep(_halved), _keep(Tensor.clone), "reports of class NUMERIC"),
)
