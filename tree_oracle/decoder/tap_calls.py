"""The tap: what the target is asked while a decoder runs, whoever asks and however.

It hangs hooks on the *target model* alone and needs to know nothing of the decoder. Of every call it keeps the tokens, the
positions and the masks that were really used (read at the innermost modules that take them), the number of cached rows, and
the logits. It changes no result, and its hooks are gone when the block is left, also by an exception.

    with tap(target.model) as seen:
        (output,) = decoder.generate([prompt], limits)
    rounds = recover(seen, prompt, output)

What it cannot see, and ``recover`` therefore does not take for evidence: calls of ``forward`` past ``__call__`` or of a part
of the model, replays of a captured graph, and logits that the decoder changes after the target has made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import Cache

from tree_oracle.decoder.tap_mask import acting, given, innermost, kernel_of
from tree_oracle.masked import refuse_unsupported
from tree_oracle.record import Unsupported

Kwargs = Mapping[str, Any]


@dataclass(slots=True)
class TargetCall:
    """One call of the target."""

    tokens: tuple[int, ...]  # empty: not one row of token ids
    past: int  # cached rows before the call
    cache: int | None  # number of the cache object that was handed in, or that came out where none was
    handed: bool  # a cache was handed in
    keeps_last: bool  # the rows are those of the last inputs
    positions: tuple[int, ...]
    masks: list[Bool[np.ndarray, "n columns"] | None] = field(
        default_factory=list
    )  # each that differs; None: unreadable
    rows: Float[np.ndarray, "kept vocab"] | None = None


class Tap:
    """The calls of the target, in order, as far as they came to an end."""

    def __init__(self) -> None:
        self.calls: list[TargetCall] = []


def can_tap(model: Any) -> bool:
    """Whether the masks of this model can be read: as for a tree pass, one mask for all layers, eager or sdpa."""
    try:
        refuse_unsupported(model)
    except Unsupported:
        return False
    return True


@contextmanager
def tap(model: Any) -> Iterator[Tap]:
    """Record every call of ``model`` until the block is left.

    Raises:
        Unsupported: the masks of this model cannot be read.
    """
    refuse_unsupported(model)
    recorder = _Recorder(model)
    with ExitStack() as hooks:
        for handle in recorder.hang():
            hooks.callback(handle.remove)
        yield recorder.tap


class _Recorder:
    """The hooks, and the call that is under way."""

    def __init__(self, model: Any) -> None:
        self.tap = Tap()
        self._model, self._kernel = model, kernel_of(model)
        self._open: TargetCall | None = None
        self._mask: Any = None  # the mask that was read last: layers share one object
        self._numbers: WeakKeyDictionary[Cache, int] = WeakKeyDictionary()
        self._fresh = count()

    def hang(self) -> Iterator[Any]:
        """Hang the hooks, outermost first, so that a model that reads its own mask has a call to note it in."""
        yield self._model.register_forward_pre_hook(self._begin, with_kwargs=True)
        for module in innermost(self._model, "attention_mask"):
            yield module.register_forward_pre_hook(self._see_mask, with_kwargs=True)
        for module in innermost(self._model, "position_ids"):
            yield module.register_forward_pre_hook(self._see_positions, with_kwargs=True)
        yield self._model.register_forward_hook(self._end)

    def _begin(self, model: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        ids = given(model, args, kwargs, "input_ids")
        cache = _cache_among((*args, *kwargs.values()))
        past = 0 if cache is None else int(cache.get_seq_length())
        single = isinstance(ids, Tensor) and ids.dim() == 2 and len(ids) == 1
        tokens = tuple(ids[0].tolist()) if single else ()
        self._mask = self  # no mask is this object
        self._open = TargetCall(
            tokens=tokens,
            past=past,
            cache=self._number(cache),
            handed=cache is not None,
            keeps_last=not isinstance(given(model, args, kwargs, "logits_to_keep"), Tensor),
            positions=tuple(range(past, past + len(tokens))),  # by slot, as every model counts that is not told
        )

    def _see_mask(self, module: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        mask = given(module, args, kwargs, "attention_mask")
        if self._open is None or not self._open.tokens or mask is self._mask:
            return
        self._mask = mask
        seen = acting(mask, self._kernel, len(self._open.tokens), self._open.past)
        if not any(_same(seen, other) for other in self._open.masks):
            self._open.masks.append(seen)

    def _see_positions(self, module: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        positions = given(module, args, kwargs, "position_ids")
        if self._open is not None and self._open.tokens and isinstance(positions, Tensor):
            self._open.positions = tuple(positions.expand(1, len(self._open.tokens))[0].tolist())

    def _end(self, model: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        call, self._open = self._open, None
        if call is None:
            return
        parts = tuple(output.values()) if isinstance(output, Mapping) else tuple(output)
        call.cache = self._number(_cache_among(parts)) if call.cache is None else call.cache
        call.rows = _rows(output["logits"] if isinstance(output, Mapping) else parts[0]) if call.tokens else None
        self.tap.calls.append(call)

    def _number(self, cache: Cache | None) -> int | None:
        """Caches are told apart by identity, and not kept alive for it."""
        return None if cache is None else self._numbers.setdefault(cache, next(self._fresh))


def _cache_among(parts: tuple[Any, ...]) -> Cache | None:
    """The cache, whatever this release calls it."""
    return next((part for part in parts if isinstance(part, Cache)), None)


def _rows(logits: Tensor) -> Float[np.ndarray, "kept vocab"]:
    """A copy that the decoder cannot reach, widened to float32; float64 stays."""
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return np.array(logits[0].detach().to(wide).cpu().numpy())


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and bool(np.array_equal(one, other)))
