"""A trace may hold longer texts than the target that it is judged by can take: of what lies beyond, nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from tree_oracle.record import LayerRows, Truth, UsageError
from tree_oracle.trace import NotRecorded

Result = TypeVar("Result")


class WithinContext:
    """``inner``, which raises ``NotRecorded`` for a history that its target refuses, where it would raise ``UsageError``."""

    def __init__(self, inner: Truth) -> None:
        self._inner = inner
        self.grade, self.exact, self.vocab_size = inner.grade, inner.exact, inner.vocab_size
        self.greedy, self.reaches, self.noise = inner.greedy, inner.reaches, inner.noise

    def rows(self, histories: Sequence[Sequence[int]]) -> Float[np.ndarray, "k vocab"]:
        """As of ``record.Truth``."""
        return _had(lambda: self._inner.rows(histories))

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        """As of ``record.Truth``."""
        return _had(lambda: self._inner.cache(tokens))

    def error(self, history: Sequence[int]) -> float:
        """As of ``record.Truth``."""
        return _had(lambda: self._inner.error(history))

    def cache_room(self, tokens: Sequence[int]) -> float:
        """As of ``record.Truth``."""
        return _had(lambda: self._inner.cache_room(tokens))


def _had(asked: Callable[[], Result]) -> Result:
    try:
        return asked()
    except UsageError as error:
        raise NotRecorded(f"the target cannot be asked: {error}") from error
