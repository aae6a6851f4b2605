"""The noise floor of a recorded run, taken from its control rounds: the same weights in the same engine, without any tree.

With a target the error of a control row is its distance from the float64 row of a sequential run. Without one, repeated control
rows after the same tokens tell how far the engine is off itself. Only so many rows are kept as ``KEPT`` bytes hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from tree_oracle.record import Grade, Noise, Truth, row_gap
from tree_oracle.run.trace_cases import drafted, one_row
from tree_oracle.trace import Beginning, History, NotRecorded, Recorded, RecordedTruth, Request, Requests, completed

KEPT = 2**28
_BLOCK = 64
_ORIGIN = "from the control rounds of the trace"


@dataclass(slots=True)
class Controls:
    """Control rows of a trace: the first after each history, and how far later ones were from it."""

    rows: dict[History, np.ndarray] = field(default_factory=dict)
    repeats: list[float] = field(default_factory=list)
    partial: set[History] = field(default_factory=set)  # histories whose row is known in part: a summary
    held: int = 0  # bytes of the rows

    @property
    def whole(self) -> dict[History, np.ndarray]:
        """The rows of which every entry was recorded."""
        return {history: row for history, row in self.rows.items() if history not in self.partial}

    @property
    def count(self) -> int:
        return len(self.rows) + len(self.repeats)

    def take(self, request: Request) -> None:
        """Read the control rounds of a request."""
        for one in request.rounds:
            if one.round.control and self.held < KEPT:
                round_, history = one.whole(), Beginning(request.text, one.before)
                if one.summary is not None:
                    round_ = msgspec.structs.replace(round_, rows=completed(one.summary, None))
                    self.partial.add(history)
                self._keep(history, one_row(round_))

    def _keep(self, history: History, row: np.ndarray | None) -> None:
        if row is None:
            return
        if history in self.rows:
            self.repeats.append(_gap(row, self.rows[history]))
        else:
            self.rows[history] = row
            self.held += row.nbytes


def controls_of(requests: Requests) -> Controls:
    """All control rows of a trace; it is read to its end.

    Raises:
        TraceError: as for ``Requests``.
    """
    found = Controls()
    for request in requests:
        found.take(request)
    return found


def rows_shown(one: Recorded) -> int:
    """How many rows of a round can be held against a floor, whole or summarised."""
    shown = one.round.rows is not None or one.summary is not None or "rows" in one.beside
    return len(one.round.tokens or ()) if shown and drafted(one) else 0


def floor_without_target(found: Controls, vocab_size: int) -> RecordedTruth | None:
    """Control rows as the truth; None where there are none."""
    rows = {history: row for history, row in found.rows.items() if len(row) == vocab_size}
    if not rows:
        return None
    noise = Noise(control=max(found.repeats, default=0.0), samples=len(found.repeats), origin=_ORIGIN)
    return RecordedTruth(Grade.SAME_ENGINE, vocab_size, rows, noise)


def with_floor(truth: Truth, found: Controls, engine: str) -> Truth:
    """The truth of a target with the floor of the engine that was recorded, and the grade that this allows.

    An engine that is declared, is another implementation than the truth's own, and whose control rows are there to be measured,
    makes the truth an independent one. Control rows of which the tail was not recorded are compared as far as they were; what
    the target cannot take tells nothing.
    """
    rows = [(history, row) for history, row in found.rows.items() if len(row) == truth.vocab_size]
    if truth.exact or not (errors := list(_errors(truth, rows))):
        return truth
    noise = truth.noise()
    floor = msgspec.structs.replace(
        noise,
        sequential=max(noise.sequential, *errors),
        control=max(noise.control, *found.repeats, 0.0),
        samples=found.count,
        origin=_ORIGIN,
    )
    grade = Grade.INDEPENDENT if engine not in ("", "transformers") else truth.grade
    return _Floored(truth, floor, grade)


def _errors(truth: Truth, rows: Sequence[tuple[History, np.ndarray]]) -> Iterator[float]:
    """How far rows are from the target's, a block at a time: histories of one long run take the square of its length."""
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        try:
            true = truth.rows([history for history, _ in block])
        except NotRecorded:
            continue
        yield from (_gap(row, due) for (_, row), due in zip(block, true, strict=True))


def _gap(row: np.ndarray, other: np.ndarray) -> float:
    """Their distance over the entries that both show."""
    shown = np.isfinite(row) & np.isfinite(other)
    return row_gap(row[shown], other[shown]) if shown.any() else float("inf")


class _Floored:
    """A truth whose floor is another engine's."""

    def __init__(self, inner: Truth, floor: Noise, grade: Grade) -> None:
        self._inner, self._floor, self.grade = inner, floor, grade
        self.exact, self.vocab_size = inner.exact, inner.vocab_size
        self.rows, self.greedy, self.cache, self.cache_room = inner.rows, inner.greedy, inner.cache, inner.cache_room
        self.reaches = inner.reaches

    def noise(self) -> Noise:
        return self._floor

    def error(self, history: Sequence[int]) -> float:
        return max(self._inner.error(history), self._floor.sequential)
