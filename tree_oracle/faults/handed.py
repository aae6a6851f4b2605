"""Masks that are changed on their way into the target's model, or inside of it.

``handed``: the model is handed another mask than the layout says, and whoever watches its attention sees that one. ``read``:
the right mask is handed to the modules that use it, and they read another, which shows in rows alone.

    inverted             what should be seen is hidden, what should be hidden is seen
    exchanged            queries and keys of the new rows change places: a node sees what is below it
    as booleans          true where a row attends: right where booleans are read, and hides nothing where they are added
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.parts import Rows, TargetPass, run_target
from tree_oracle.decoder.tap_mask import innermost
from tree_oracle.tree import CandidateTree, Layout

Change = Callable[[Tensor], Tensor]
_MASK = "attention_mask"


def handed(change: Change) -> TargetPass:
    """The pass over a tree, with a mask that is changed before the model gets it."""

    def run(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
        with _changing(change, [model], first=True):
            return run_target(model, cache, tree, layout)

    return run


def read(change: Change) -> TargetPass:
    """The pass over a tree, with a mask that is changed by the modules that use it."""

    def run(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
        with _changing(change, innermost(model, _MASK), first=False):
            return run_target(model, cache, tree, layout)

    return run


def inverted(mask: Tensor) -> Tensor:
    """Fault: the additive mask hides what it should show, and shows what it should hide."""
    return torch.zeros_like(mask).masked_fill(mask == 0, torch.finfo(mask.dtype).min)


def inverted_twice(mask: Tensor) -> Tensor:
    """Twin: the mask is inverted, and inverted again."""
    return inverted(inverted(mask))


def exchanged(mask: Tensor) -> Tensor:
    """Fault: the square over the new rows is transposed."""
    rows = mask.shape[-2]
    return torch.cat([mask[..., :-rows], mask[..., -rows:].transpose(-1, -2)], dim=-1)


def exchanged_twice(mask: Tensor) -> Tensor:
    """Twin: the square is transposed, and transposed again."""
    return exchanged(exchanged(mask))


def as_booleans(mask: Tensor) -> Tensor:
    """Booleans, true where a row attends: a fault where the attention adds its mask."""
    return mask == 0


def as_inverted_booleans(mask: Tensor) -> Tensor:
    """Fault: booleans, true where a row must not look."""
    return mask != 0


def _changing(change: Change, modules: list[Any], *, first: bool) -> ExitStack:
    """Until it is left, the modules get a changed mask; ``first``: before anybody else who watches them looks at it."""

    def hook(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, {**kwargs, _MASK: _changed(change, kwargs[_MASK])}

    hooks = ExitStack()
    for module in modules:
        hooks.callback(module.register_forward_pre_hook(hook, prepend=first, with_kwargs=True).remove)
    return hooks


def _changed(change: Change, mask: Any) -> Any:
    """One mask, or one for each kind of layer."""
    return {kind: change(one) for kind, one in mask.items()} if isinstance(mask, Mapping) else change(mask)
