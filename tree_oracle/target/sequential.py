"""The ground truth of one target: ordinary runs over whole token sequences, no tree anywhere.

Three layers, each proven against the one before: naive (``sequential_naive``), shared (``sequential_shared``), and the
same runs in float64. Nothing here knows of trees, tree masks, verification or decoders; the import graph proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import index

import msgspec
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import Module

from tree_oracle.record import Array, Continuation, Grade, LayerRows, Limits, Noise
from tree_oracle.target.compat import layer_tensors, prefill
from tree_oracle.target.errors import HistoryError
from tree_oracle.target.greedy_plain import plain_greedy
from tree_oracle.target.reach import reaches
from tree_oracle.target.sequential_naive import History, naive_rows
from tree_oracle.target.sequential_noise import cache_room, measure_noise, row_error
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.target.target import Target
from tree_oracle.target.threads import one_torch_thread

# Below this many parameters a second thread costs more than it brings. The tiny models have 0.1 million.
SMALL = 2_000_000


def is_small(model: Module) -> bool:
    """Whether a model is run on one torch thread, and may be run for a look at it alone."""
    return sum(parameter.numel() for parameter in model.parameters()) <= SMALL


MEMO_BYTES = 2**28  # rows remembered before all are forgotten

_Rows = Float[np.ndarray, "k vocab"]


class SequentialTruth:
    """The truth of ``target``, an implementation of ``record.Truth``. Rows once computed are remembered."""

    def __init__(self, target: Target, floor: Noise | None = None) -> None:
        """``floor`` takes the place of what would be measured of rows; the room of cache entries is measured all the same."""
        self.target, self._floor = target, floor
        self._reference: Target | None = target if target.exact else None
        self._noise: Noise | None = None
        self._small = is_small(target.model)
        self._longest = target.context_length
        self._rows = _Memo()
        self._own = self._rows if target.exact else _Memo()

    @property
    def grade(self) -> Grade:
        """A for the exact model; otherwise the same code runs on both sides."""
        return Grade.EXACT if self.target.exact else Grade.SAME_ENGINE

    @property
    def exact(self) -> bool:
        """Rows are compared bit for bit."""
        return self.target.exact

    @property
    def vocab_size(self) -> int:
        """Entries in a row."""
        return self.target.vocab_size

    def rows(self, histories: Sequence[Sequence[int]]) -> Float[np.ndarray, "k vocab"]:
        """The row after each history in float64, from a float64 run unless the target is exact.

        Raises:
            HistoryError: a history is empty, longer than the context, or holds a token outside the vocabulary.
        """
        model = self._float64().model
        return self._remembered(self._rows, histories, lambda new: shared_rows(model, new))

    def plain_rows(self, histories: Sequence[Sequence[int]], *, shared: bool = False) -> Float[np.ndarray, "k vocab"]:
        """The rows of plain passes in the target's own dtype, widened to float64. ``shared`` rows are not remembered.

        Raises:
            HistoryError: as for ``rows``.
        """
        if not shared:
            return self._remembered(self._own, histories, lambda new: naive_rows(self.target.model, new))
        known = self._checked(histories)
        with self._threads():
            return shared_rows(self.target.model, known) if known else self._no_rows()

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        """Plain greedy decoding in the target's own dtype, every row from a whole naive pass.

        Raises:
            HistoryError: as for ``rows``, except that the prompt may be longer than the context.
            UsageError: a limit below 0.
        """
        start = _history(prompt, self.vocab_size)
        return plain_greedy(lambda text: self.plain_rows([text])[0], start, limits, self.target.context_length)

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        """The rows that a cold run leaves, layer by layer, heads x tokens x width; sliding layers keep every row too.

        Raises:
            HistoryError: as for ``rows``.
            Unsupported: the model does not cache keys and values.
        """
        history = self._checked([tokens])[0]
        with self._threads():
            layers = layer_tensors(prefill(self.target.model, history))
        return tuple(LayerRows(_array(keys[0]), _array(values[0])) for keys, values in layers)

    def reaches(self) -> tuple[int | None, ...]:
        """Of each layer how many of the newest rows the next token can see; None: all."""
        return reaches(self.target.model.config)

    def noise(self) -> Noise:
        """The noise floor, measured on first use and kept; as it was given, if one was."""
        if self._noise is None:
            with self._threads():
                measured = measure_noise(self.target, self._float64())
            given = self._floor or measured
            self._noise = msgspec.structs.replace(given, cache=measured.cache)
        return self._noise

    def error(self, history: Sequence[int]) -> float:
        """How far the plain row after this history is off, up to a constant shift; 0 where exact.

        Raises:
            HistoryError: as for ``rows``.
        """
        (known,) = self._checked([history])
        if self.exact:
            return 0.0
        with self._threads():
            return row_error(self.target, self._float64(), known)

    def cache_room(self, tokens: Sequence[int]) -> float:
        """The room of the cache entries of this text; 0 where exact.

        Raises:
            HistoryError: as for ``rows``.
        """
        (known,) = self._checked([tokens])
        if self.exact:
            return 0.0
        with self._threads():
            return cache_room(self.target, self._float64(), [known])

    def _remembered(
        self, memo: _Memo, histories: Sequence[Sequence[int]], run: Callable[[list[History]], _Rows]
    ) -> _Rows:
        known = self._checked(histories)
        if not known:
            return self._no_rows()
        new = [history for history in dict.fromkeys(known) if history not in memo.rows]
        found = {history: memo.rows[history] for history in known if history in memo.rows}
        if new:
            with self._threads():
                found |= memo.keep(new, run(new))
        return np.stack([found[history] for history in known])

    def _checked(self, histories: Sequence[Sequence[int]]) -> list[History]:
        known = [_history(history, self.vocab_size) for history in histories]
        for history in known:
            if len(history) > self._longest:
                raise HistoryError(f"a history of {len(history)} tokens; the context of this target is {self._longest}")
        return known

    def _float64(self) -> Target:
        if self._reference is None:
            self._reference = self.target.in_double()
        return self._reference

    def _no_rows(self) -> _Rows:
        return np.empty((0, self.vocab_size))

    def _threads(self) -> AbstractContextManager[None]:
        return one_torch_thread() if self._small else nullcontext()


class _Memo:
    """Rows by history. Everything is forgotten when too much is known: simple, and a battery returns to few histories."""

    def __init__(self) -> None:
        self.rows: dict[History, Float[np.ndarray, " vocab"]] = {}

    def keep(self, histories: list[History], rows: _Rows) -> dict[History, Float[np.ndarray, " vocab"]]:
        found = dict(zip(histories, rows, strict=True))
        if (len(self.rows) + len(found)) * rows[0].nbytes > MEMO_BYTES:
            self.rows.clear()
        self.rows.update(found)
        return found


def _history(tokens: Sequence[int], vocab_size: int) -> History:
    try:
        history = tuple(map(index, tokens))  # numpy's integers too, but no float
    except TypeError as error:
        raise HistoryError(f"a history holds something that is no token id: {error}") from error
    if not history:
        raise HistoryError("an empty history has no row; expected at least one token")
    outside = [token for token in history if not 0 <= token < vocab_size]
    if outside:
        raise HistoryError(f"token {outside[0]} of a history is outside the vocabulary of {vocab_size}")
    return history


def _array(rows: Float[Tensor, "heads n width"]) -> Array:
    wide = rows.detach().cpu()
    return Array.of((wide if wide.dtype == torch.float64 else wide.float()).numpy())
