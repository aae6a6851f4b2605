"""Counting: how often the target runs while something else goes on, and over what.

    with counted(target.model) as calls:
        session.step(trees)

One hook on the innermost model that takes token ids, so that a pass which leaves the head out counts as one too. No mask is
read, so every model can be counted. A copy of the model is another model: a drafter that runs one is not counted. Not seen, and
so not counted: replays of a captured graph, compiled code, and calls of parts of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tree_oracle.decoder.tap_calls import cache_among, rows_held
from tree_oracle.decoder.tap_mask import given
from tree_oracle.record import Call


@contextmanager
def counted(model: Any) -> Iterator[list[Call]]:
    """The calls of ``model`` until the block is left, in order; the list grows as they begin."""
    calls: list[Call] = []
    inner = getattr(model, "base_model", model)

    def note(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if module is inner and not torch.compiler.is_compiling():  # a copy of the model has a copy of the hook
            calls.append(call_of(module, args, kwargs))

    handle = inner.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield calls
    finally:
        handle.remove()


def call_of(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """What a module that takes token ids is asked; without tokens where more than one row, or none, can be read."""
    ids = given(module, args, kwargs, "input_ids")
    single = isinstance(ids, Tensor) and ids.dim() == 2 and len(ids) == 1
    return Call(tuple(ids[0].tolist()) if single else (), rows_held(cache_among((*args, *kwargs.values()))))
