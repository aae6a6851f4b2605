"""Slipping a wrong row into what the target answers, to learn by which pass a token is decided.

    with slipped(target.model, [(5, 6, 7)], spared=()) as slips:
        decoder.generate([[5, 6]], limits)

Every pass over exactly one of the texts, in one piece or above cached rows, answers with a last row whose best token is another
one. Plain decoding emits that token. Who drafts it and verifies it by a longer pass, whose rows are as they are, does not: the
right token stands in the text, and the pass that scored the wrong one was seen. The model is changed for nobody else, and no
longer than the block lasts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
def slipped(model: Any, texts: Collection[Text], spared: Collection[int]) -> Iterator[Slips]:
    """Change the last row of every pass of ``model`` over one of ``texts``; no token of ``spared`` becomes the best one."""
    slips, under_way = Slips(), list[bool]()

    def begin(module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        under_way.append(is_over(call_of(module, args, kwargs), texts))

    def end(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        if not under_way.pop():
            return output
        slips.made += 1
        logits = _misled(output["logits"] if isinstance(output, Mapping) else output[0], spared)
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
def _misled(logits: Float[Tensor, "1 kept vocab"], spared: Collection[int]) -> Float[Tensor, "1 kept vocab"]:
    """A copy in which the second best token of the last row, of those that are not spared, is the best."""
    changed = logits.clone()
    row = changed[0, -1]
    best, *others = row.argsort(descending=True).tolist()
    other = next(token for token in others if token not in spared)
    row[other] = row[best] + 1
    return changed
