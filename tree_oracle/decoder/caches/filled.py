"""Where a request's rows are kept: the cache after an ordinary run over its prompt, kind by kind.

``Parts(prefill=...)`` takes any of them; ``keep_path`` commits in each.

    static_cache(slots)   transformers' StaticCache: as many slots for every layer, filled from the front
    window_cache          transformers' DynamicCache made for the model: its sliding layers keep their window alone
    ring_cache(room)      the same with windows in rings of ``window - 1 + room`` slots
    quantised_cache()     rows in eight bits, with a scale for each layer; only for real models, judged by regret
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from transformers import StaticCache
from transformers.cache_utils import DynamicSlidingWindowLayer

from tree_oracle.decoder.batch_state import POISON
from tree_oracle.decoder.caches.layers import FP8_LAYER
from tree_oracle.decoder.caches.ring import RingLayer
from tree_oracle.decoder.commit import keep_path
from tree_oracle.decoder.parts import Prefill
from tree_oracle.record import Unsupported
from tree_oracle.target import SLOTS_ARE_TOLD, forward_with_cache, new_cache

_BLOCKWISE = {"quanto": "optimum.quanto", "hqq": "hqq"}  # transformers' other backends, and the package of each


def static_cache(slots: int) -> Prefill:
    """Caches with room for ``slots`` rows; slots behind a prompt are poisoned, so that a query that sees one is moved.

    Raises (when a request is opened):
        Unsupported: the model has layers with windows, whose static form drops rows that a rollback needs.
    """

    def prefill(model: Any, tokens: Sequence[int]) -> Any:
        cache = _run(model, tokens, StaticCache(config=model.config, max_cache_len=slots))
        for layer in cache.layers if len(tokens) else ():
            for rows in (layer.keys, layer.values):
                rows[..., len(tokens) :, :] = POISON
        return cache

    return prefill


def window_cache(model: Any, tokens: Sequence[int]) -> Any:
    """Sliding and chunked layers keep their window, and record what they drop until the next commit.

    Raises:
        Unsupported: this release has no such recording.
    """
    cache = new_cache(model.config)
    for layer in cache.layers:
        if type(layer) is DynamicSlidingWindowLayer:
            if not hasattr(layer, "activate_past_recording"):
                raise Unsupported("sliding layers of this release of transformers cannot record what they drop")
            layer.activate_past_recording()  # type: ignore[no-untyped-call]
    return _run(model, tokens, cache)


def ring_cache(room: int = 0) -> Prefill:
    """Caches whose windows are rings with ``room`` slots to spare."""
    return rings(lambda window: RingLayer(window, max(window - 1, 1) + room))


def rings(make: Callable[[int], RingLayer]) -> Prefill:
    """Caches whose windows are what ``make`` makes for a window of that size."""

    def prefill(model: Any, tokens: Sequence[int]) -> Any:
        cache = new_cache(model.config)
        cache.layers = [
            make(layer.sliding_window) if type(layer) is DynamicSlidingWindowLayer else layer for layer in cache.layers
        ]
        return _run(model, tokens, cache)

    return prefill


def quantised_cache(backend: str = "fp8") -> Prefill:
    """Caches whose rows are quantised; ``backend`` is one of transformers' names.

    Raises:
        Unsupported: a backend that rounds many rows together, so that none can be taken back, or that is not there.
    """
    if backend in _BLOCKWISE:
        missing = "" if find_spec(_BLOCKWISE[backend].partition(".")[0]) else "; its package is not installed either"
        raise Unsupported(
            f"backend {backend!r} ({_BLOCKWISE[backend]}) rounds blocks of rows together, so no rejected row can be taken back"
            f"{missing}; use 'fp8'"
        )
    if backend != "fp8" or FP8_LAYER is None:
        raise Unsupported(f"no quantised cache {backend!r} in this release of transformers")

    def prefill(model: Any, tokens: Sequence[int]) -> Any:
        cache = new_cache()
        cache.layers = [FP8_LAYER() for _ in range(int(model.config.num_hidden_layers))]
        return _run(model, tokens, cache)

    return prefill


def _run(model: Any, tokens: Sequence[int], cache: Any) -> Any:
    if SLOTS_ARE_TOLD:
        raise Unsupported("sessions over these caches need a release of transformers whose caches count their own rows")
    if len(tokens):
        forward_with_cache(model, torch.tensor([list(tokens)], device=model.device), cache=cache)
        keep_path(cache, 0, np.arange(len(tokens)))  # a window is cut to its size
    return cache
