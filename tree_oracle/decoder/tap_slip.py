"""Slipping wrong rows into what the target answers, to learn by which pass a token is decided.

    with slipped(target.model, lambda call: is_over(call, [(5, 6, 7)]), spared=()) as slips:
        decoder.generate([[5, 6]], limits)

Every pass that is picked answers with a last row whose best token is another one; with ``every_row`` all of its rows do. Plain
decoding emits that token where the pass runs exactly the text as far as it is decided. Who drafts it and verifies it by a
longer pass, whose rows are as they are, does not: the right token stands in the text, and a pass was seen that scored the wrong
one.

The other token leads by as much as the whole row spread before, and more: whoever looks again by a second pass where a choice
is close has no cause to. The model is changed for nobody else, and no longer than the block lasts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tree_oracle.decoder.tap_count import call_of
from tree_oracle.record import Call

Text = tuple[int, ...]


@dataclass(slots=True)
class Slips:
    """How often a row was changed."""

    made: int = 0


def is_over(call: Call, texts: Collection[Text]) -> bool:
    """Whether a call runs one of these texts to its end and no further."""
    end = call.past + len(call.tokens)
    return bool(call.tokens) and any(len(text) == end and call.tokens == text[call.past :] for text in texts)


@contextmanager
def slipped(
    model: Any, picks: Callable[[Call], bool], spared: Collection[int], *, every_row: bool = False
) -> Iterator[Slips]:
    """Change the last row, or every row, of every pass of ``model`` that is picked.

    ``picks`` is asked once for each pass, in order. No token of ``spared`` becomes the best one.
    """
    slips, under_way = Slips(), list[bool]()

    def begin(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        under_way.append(picks(call_of(module, args, kwargs)))

    def end(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        if not under_way.pop():
            return output
        slips.made += 1
        logits = _misled(output["logits"] if isinstance(output, Mapping) else output[0], spared, every_row=every_row)
        if not isinstance(output, Mapping):
            return (logits, *output[1:])
        output["logits"] = logits  # type: ignore[index]
        return output

    handles = [model.register_forward_pre_hook(begin, with_kwargs=True), model.register_forward_hook(end)]
    try:
        yield slips
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def _misled(
    logits: Float[Tensor, "batch kept vocab"], spared: Collection[int], *, every_row: bool
) -> Float[Tensor, "batch kept vocab"]:
    """A copy in which the second best token of these rows, of those that are not spared, is the best by far."""
    changed = logits.clone()
    rows = changed if every_row else changed[:, -1:]
    best = rows.argmax(dim=-1, keepdim=True)
    others = rows.scatter(-1, best, -math.inf)
    others[..., [token for token in spared if token < rows.shape[-1]]] = -math.inf
    highest = rows.gather(-1, best)
    lowest = rows.where(rows.isfinite(), highest).amin(dim=-1, keepdim=True)
    rows.scatter_(-1, others.argmax(dim=-1, keepdim=True), 2 * highest - lowest + 1)
    return changed
