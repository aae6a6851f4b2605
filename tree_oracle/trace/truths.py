"""Truths that come with a trace: its own rows, the rows of its control rounds, and the floor that these tell.

Own rows (grade D) are the decoder's word: whether it chose by them can be judged, whether they are right cannot. Control rows
(grade C) are those of the same engine without any tree: blind to what both arms share. A history that no row stands for is not
recorded, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from tree_oracle.record import Continuation, Grade, LayerRows, Limits, Noise, TreeOracleError
from tree_oracle.trace.beginning import Beginning

History = tuple[int, ...] | Beginning


class NotRecorded(TreeOracleError, LookupError):
    """What is asked for is not in the trace."""


@dataclass(slots=True)
class RecordedTruth:
    """Rows by history, an implementation of ``record.Truth`` as far as a record can be one."""

    grade: Grade
    vocab_size: int
    known: dict[History, Float[np.ndarray, " vocab"]] = field(default_factory=dict)
    floor: Noise | None = None  # None: the rows are the very bits that were chosen by

    @property
    def exact(self) -> bool:
        """Whether the rows are the same bits on both sides."""
        return self.floor is None

    def rows(self, histories: Sequence[Sequence[int]]) -> Float[np.ndarray, "k vocab"]:
        """The recorded rows.

        Raises:
            NotRecorded: there is none for one of the histories.
        """
        if not self.known:  # else every history would be made to be looked for, each as long as its text
            raise NotRecorded(f"the trace holds no {self.name}")
        return np.stack([self._row(tuple(one)) for one in histories]).astype(np.float64)

    def _row(self, history: tuple[int, ...]) -> Float[np.ndarray, " vocab"]:
        if history not in self.known:
            last = f"{list(history[-8:])} (last of {len(history)})"
            raise NotRecorded(f"the trace holds no {self.name} after tokens {last}")
        return self.known[history]

    @property
    def blind(self) -> bool:
        """Whether a difference may be noise of a size that nobody measured."""
        return self.floor is not None and not self.floor.samples

    @property
    def name(self) -> str:
        """What its rows are, for a reader."""
        return "control row" if self.grade is Grade.SAME_ENGINE else "row of its own"

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        """Raises ``NotRecorded``: a record is not run."""
        raise NotRecorded("a plain greedy run needs the target; name it with --target")

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        """Raises ``NotRecorded``: a record is not run."""
        raise NotRecorded("the cache of a cold run needs the target; name it with --target")

    def reaches(self) -> tuple[int | None, ...]:
        """Raises ``NotRecorded``: a record says nothing of layers."""
        raise NotRecorded("the windows of the layers need the target; name it with --target")

    def noise(self) -> Noise:
        """The floor, as far as control rounds tell it."""
        return self.floor or Noise()

    def error(self, history: Sequence[int]) -> float:
        """The largest error of a control row: there is nothing nearer to be had for one history."""
        return self.noise().sequential

    def cache_room(self, tokens: Sequence[int]) -> float:
        """Raises ``NotRecorded``: no control round tells it."""
        raise NotRecorded("the room of cache entries needs the target; name it with --target")
