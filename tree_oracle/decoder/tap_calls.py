"""The tap: what the target is asked while a decoder runs, whoever asks and however.

It hangs hooks on the *target model* alone and needs to know nothing of the decoder. Of every call it keeps the tokens, the
positions and the masks that were really used (read at the innermost modules that take them, once for every kind of layer), the
number of cached rows, and the logits: one entry for each row of the batch. It changes no result, and its hooks are gone when
the block is left, also by an exception.

    with tap(target.model) as seen:
        (output,) = decoder.generate([prompt], limits)
    rounds = recover(seen, prompt, output)

An older family of decoders carries its own modelling file and calls the inner model directly, then the head: that is a call
too, and its rows are what the head makes of all of its output.

What it cannot see, and ``recover`` therefore does not take for evidence: calls of ``forward`` past ``__call__`` or of another
part of the model, replays of a captured graph, and logits that the decoder changes after the target has made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import Cache

from tree_oracle.decoder.tap_caches import cache_among, cache_given, rows_held
from tree_oracle.decoder.tap_mask import FLEX, FOREIGN, OWN, Asked, Sight, acting, given, innermost, kernel_of
from tree_oracle.decoder.watched import inner_of
from tree_oracle.masked import refuse_unsupported
from tree_oracle.masked.columns import columns_if_known
from tree_oracle.masked.kinds import layer_kinds, size_of
from tree_oracle.record import Unsupported

Kwargs = Mapping[str, Any]


@dataclass(slots=True)
class TargetCall:
    """One row of the batch of one call of the target."""

    tokens: tuple[int, ...]  # empty: the call was not made with token ids
    past: int  # cached rows before the call
    cache: int | None  # number of the cache object that was handed in, or that came out where none was
    handed: bool  # a cache was handed in
    keeps_last: bool  # the rows are those of the last inputs
    positions: tuple[int, ...]
    sights: list[Sight | None] = field(default_factory=list)  # each that differs; None: a mask that cannot be read
    rows: Float[np.ndarray, "kept vocab"] | None = None
    lane: int = 0  # which row of the batch
    lanes: int = 1  # how many there are
    number: int = 0  # of the call that it is a row of


class Tap:
    """The calls of the target, in order, as far as they came to an end."""

    def __init__(self) -> None:
        self.calls: list[TargetCall] = []


def can_tap(model: Any) -> bool:
    """Whether the masks of this model can be read: a proven model type, under eager, sdpa, flex or attention of its own."""
    try:
        _refuse(model)
    except Unsupported:
        return False
    return True


@contextmanager
def tap(model: Any) -> Iterator[Tap]:
    """Record every call of ``model`` until the block is left.

    Raises:
        Unsupported: the masks of this model cannot be read.
    """
    _refuse(model)
    recorder = _Recorder(model)
    with ExitStack() as hooks:
        for handle in recorder.hang():
            hooks.callback(handle.remove)
        yield recorder.tap


def _refuse(model: Any) -> None:
    kernel = kernel_of(model)
    known = kernel != FOREIGN  # attention that nobody knows may have its own idea of a window
    refuse_unsupported(model, windows=known, attention=known and kernel != FLEX)


@dataclass(slots=True)
class _Open:
    """The call that is under way, or of which only the head is left."""

    lanes: list[TargetCall]
    cache: Any
    direct: bool = False  # of the inner model
    output: Tensor | None = None  # of the inner model, for the head
    read: dict[tuple[object, ...], Any] = field(default_factory=dict)  # the masks that were read: layers share one


class _Recorder:
    """The hooks, and the call that is under way."""

    def __init__(self, model: Any) -> None:
        self.tap = Tap()
        self._model, self._kernel, self._kinds = model, kernel_of(model), layer_kinds(model.config)
        self._open: _Open | None = None
        self._calls = 0
        self._ended: _Open | None = None
        self._numbers: WeakKeyDictionary[Cache, int] = WeakKeyDictionary()
        self._plain: list[tuple[Any, int]] = []  # caches that are lists or tuples
        self._fresh = count()

    def hang(self) -> Iterator[Any]:
        """Hang the hooks, outermost first, so that a model that reads its own mask has a call to note it in."""
        inner, head = inner_of(self._model), _head(self._model)
        yield self._model.register_forward_pre_hook(self._begin, with_kwargs=True)
        if inner is not None:
            yield inner.register_forward_pre_hook(self._begin_inner, with_kwargs=True)
        for module in innermost(self._model, "position_ids"):
            yield module.register_forward_pre_hook(self._see_positions, with_kwargs=True)
        for module, layers in self._takers():
            yield module.register_forward_pre_hook(partial(self._see_mask, layers), with_kwargs=True)
        if inner is not None:
            yield inner.register_forward_hook(self._end_inner)
        if head is not None:
            yield head.register_forward_hook(self._see_head)
        yield self._model.register_forward_hook(self._end)

    def _takers(self) -> Iterator[tuple[nn.Module, tuple[int, ...]]]:
        """The modules at which a mask is used, each with the layers that it is used for: one, or the first of every kind."""
        for place, module in enumerate(innermost(self._model, "attention_mask")):
            if self._kernel == OWN:
                yield module, tuple(self._kinds.index(kind) for kind in dict.fromkeys(self._kinds))
            else:
                layer = int(getattr(module, "layer_idx", place))
                yield module, (min(layer, len(self._kinds) - 1),)  # more of them only where all layers are of one kind

    def _begin(self, model: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        ids = given(model, args, kwargs, "input_ids")
        cache = cache_given(model, args, kwargs)
        past = rows_held(cache)
        texts = [tuple(row) for row in ids.tolist()] if isinstance(ids, Tensor) and ids.dim() == 2 else [()]
        keeps_last, number = not isinstance(given(model, args, kwargs, "logits_to_keep"), Tensor), self._number(cache)
        lanes = [
            TargetCall(
                tokens=tokens,
                past=past,
                cache=number,
                handed=cache is not None,
                keeps_last=keeps_last,
                positions=tuple(range(past, past + len(tokens))),  # by slot, as every model counts that is not told
                lane=lane,
                lanes=len(texts),
            )
            for lane, tokens in enumerate(texts)
        ]
        self._open, self._ended = _Open(lanes, cache), None

    def _begin_inner(self, inner: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        """The inner model is called within a call of the whole one, or directly."""
        if self._open is None or self._open.direct:
            self._begin(inner, args, kwargs)
            assert self._open is not None
            self._open.direct = True

    def _end_inner(self, inner: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if self._open is None or not self._open.direct:
            return
        under_way, self._open = self._open, None
        under_way.output = next(iter(output.values())) if isinstance(output, Mapping) else output[0]
        self._close(under_way, output)
        self._ended = under_way

    def _see_head(self, head: nn.Module, args: tuple[Any, ...], logits: Tensor) -> None:
        """What the head makes of the whole output of a direct call are the rows of that call."""
        done = self._ended
        if done is None or done.output is None or args[0].shape != done.output.shape or not args[0].equal(done.output):
            return
        for call in done.lanes:
            call.rows = _rows(logits[call.lane])
        self._ended = None

    def _see_positions(self, module: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        positions = given(module, args, kwargs, "position_ids")
        if self._open is not None and self._open.lanes[0].tokens and isinstance(positions, Tensor):
            shape = len(self._open.lanes), len(self._open.lanes[0].tokens)
            for call, row in zip(self._open.lanes, positions.expand(shape).tolist(), strict=True):
                call.positions = tuple(row)

    def _see_mask(self, layers: tuple[int, ...], module: nn.Module, args: tuple[Any, ...], kwargs: Kwargs) -> None:
        mask = given(module, args, kwargs, "attention_mask")
        for layer in layers:
            if self._open is not None and self._open.lanes[0].tokens:
                self._note(mask, layer, self._open)

    def _note(self, mask: Any, layer: int, under_way: _Open) -> None:
        kind, shown = self._kinds[layer], self._shown(layer, under_way)
        key = (kind, id(mask), None if shown is None else shown.tobytes())
        if key in under_way.read:
            return
        under_way.read[key] = mask  # kept, so that no other mask is given its number
        for call in under_way.lanes:
            asked = Asked(
                rows=len(call.tokens),
                past=call.past,
                kernel=self._kernel,
                kind=kind,
                size=size_of(self._model.config, kind),
                lane=call.lane,
                positions=call.positions,
                shown=shown,
                heads=int(getattr(self._model.config, "num_attention_heads", 1)),
            )
            seen = acting(mask, asked)
            if seen not in call.sights:
                call.sights.append(seen)

    def _shown(self, layer: int, under_way: _Open) -> Int[np.ndarray, " keys"] | None:
        call = under_way.lanes[0]
        return columns_if_known(under_way.cache, layer, call.past, len(call.tokens))

    def _end(self, model: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        under_way, self._open = self._open, None
        if under_way is None:
            return
        self._close(under_way, output)
        logits = output["logits"] if isinstance(output, Mapping) else output[0]
        for call in under_way.lanes:
            call.rows = _rows(logits[call.lane]) if call.tokens else None

    def _close(self, under_way: _Open, output: Any) -> None:
        parts = tuple(output.values()) if isinstance(output, Mapping) else tuple(output)
        number = self._number(cache_among(parts))
        for call in under_way.lanes:
            call.cache = number if call.cache is None else call.cache
            call.number = self._calls
            self.tap.calls.append(call)
        self._calls += 1

    def _number(self, cache: Any) -> int | None:
        """Caches are told apart by identity, and not kept alive for it, unless they are lists or tuples."""
        if cache is None or isinstance(cache, Cache):
            return None if cache is None else self._numbers.setdefault(cache, next(self._fresh))
        known = next((number for one, number in self._plain if one is cache), None)
        if known is None:
            known = next(self._fresh)
            self._plain.append((cache, known))
        return known


def _head(model: Any) -> nn.Module | None:
    found = getattr(model, "lm_head", None)
    return found if isinstance(found, nn.Module) else None


def _rows(logits: Tensor) -> Float[np.ndarray, "kept vocab"]:
    """A copy that the decoder cannot reach, widened to float32; float64 stays."""
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return np.array(logits.detach().to(wide).cpu().numpy())
