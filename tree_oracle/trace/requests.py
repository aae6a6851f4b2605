"""The requests of a trace, each whole as soon as it is done, rounds of others in between.

Memory is that of the requests that are open, without the arrays beside them, which are read when they are asked for. A text is
held once, whatever its rounds are: what was committed before a round is the beginning of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tree_oracle.record import Array, FileError, LayerRows, Limits, Round
from tree_oracle.trace.arrays import read_arrays
from tree_oracle.trace.errors import ArrayFileError, InconsistentTrace, MalformedLine, OversizedTrace
from tree_oracle.trace.lines import DoneLine, Head, RequestLine, RoundLine, Summary
from tree_oracle.trace.reader import TraceReader
from tree_oracle.trace.summary import refuse_misfit

MAX_HELD = 2**30  # bytes of arrays that stand in the lines of open requests
MAX_TOLD = 2**27  # bytes of the lines of their rounds without these; decoded they take some ten times as many


@dataclass(frozen=True, slots=True)
class Recorded:
    """One round as it was written. ``line`` counts from 1; ``before`` it so many tokens were committed."""

    path: Path
    line: int
    round: Round
    beside: tuple[str, ...] = ()
    summary: Summary | None = None
    before: int = 0

    @property
    def tokens_only(self) -> Round:
        """The round without any array."""
        return msgspec.structs.replace(self.round, visible=None, rows=None, scores=None, cache=None)

    def whole(self) -> Round:
        """The round with the arrays beside it.

        Raises:
            ArrayFileError: they are not there, or not what the line says.
            MalformedLine: an array in the line is none.
        """
        found = read_arrays(self.path, self.line - 1, self.beside) if self.beside else {}
        plain = {name: array for name, array in found.items() if not name.startswith("cache.")}
        unknown = set(plain) - {"visible", "rows", "scores"}
        if unknown:
            raise ArrayFileError(self.path, self.line, f"{min(unknown)!r} is no array of a round")
        layers = {name: array for name, array in found.items() if name not in plain}
        round_ = msgspec.structs.replace(self.round, cache=self._cache(layers) or self.round.cache, **plain)
        try:
            for name in ("visible", "rows", "scores"):
                held: Array | None = getattr(round_, name)
                if held is not None:
                    held.numpy()
        except FileError as error:
            raise MalformedLine(self.path, self.line, str(error)) from error
        return round_

    def _cache(self, layers: dict[str, Array]) -> tuple[LayerRows, ...] | None:
        count = len(layers) // 2
        due = {f"cache.{layer}.{part}" for layer in range(count) for part in ("keys", "values")}
        if set(layers) != due:
            raise ArrayFileError(
                self.path, self.line, f"cache holds {sorted(layers)[:4]}; expected keys and values per layer"
            )
        rows = tuple(LayerRows(layers[f"cache.{i}.keys"], layers[f"cache.{i}.values"]) for i in range(count))
        return rows or None


@dataclass(slots=True)
class Request:
    """One request. ``done``: the decoder said that nothing follows. ``size``: bytes that its lines hold, arrays and others."""

    number: int
    line: int
    prompt: tuple[int, ...]
    limits: Limits | None = None
    greedy: bool = True
    rounds: list[Recorded] = field(default_factory=list)
    done: bool = False
    size: tuple[int, int] = (0, 0)
    rank: int = 0
    text: list[int] = field(init=False)  # the prompt and all that was emitted since
    _whole: tuple[int, ...] = field(default=(), init=False, repr=False)  # the same, to be cut without a second copy

    def __post_init__(self) -> None:
        self.text = list(self.prompt)

    @property
    def control(self) -> bool:
        """Whether it is a plain run, without any tree."""
        return bool(self.rounds) and all(one.round.control for one in self.rounds)

    @property
    def emitted(self) -> tuple[int, ...]:
        """The tokens of all rounds."""
        return tuple(self.text[len(self.prompt) :])

    def prefix(self, one: Recorded) -> tuple[int, ...]:
        """The tokens that were committed before one of its rounds, root last."""
        if len(self._whole) != len(self.text):
            self._whole = tuple(self.text)
        return self._whole[: one.before]

    def take(self, one: Recorded) -> None:
        """Its next round."""
        self.rounds.append(one)
        self.text += one.round.emitted


class Requests:
    """All requests of one trace. Iterate once; ``head`` is known from the first on."""

    def __init__(self, reader: TraceReader) -> None:
        self.reader = reader
        self.head: Head | None = None
        self._open: dict[int, Request] = {}
        self._held = self._told = 0

    def __iter__(self) -> Iterator[Request]:
        """Every request when it is done, then those that never were, in the order of admission.

        Raises:
            TraceError: as for ``TraceReader``.
        """
        for line in self.reader:
            match line:
                case Head():
                    self.head = line
                case RequestLine():
                    self._open[line.request] = Request(
                        line.request, self.reader.line, line.prompt, line.limits, line.greedy, rank=self._rank
                    )
                case RoundLine():
                    self._take(line)
                case DoneLine():
                    found = self._open.pop(line.request)
                    found.done = True
                    self._held, self._told = self._held - found.size[0], self._told - found.size[1]
                    yield found
        yield from self._open.values()

    def _take(self, line: RoundLine) -> None:
        request, at = self._open[line.round.request], self.reader.line
        path = self.reader.path
        if line.summary is not None:
            refuse_misfit(line, path, at)
        if line.round.prefix is not None and list(line.round.prefix) != request.text:
            raise InconsistentTrace(path, at, "prefix is not the prompt and what was emitted since")
        round_ = msgspec.structs.replace(line.round, rank=self._rank, prefix=None)  # the request's text begins with it
        found = Recorded(path, at, round_, line.beside, line.summary, len(request.text))
        request.take(found)
        self._hold(request, found)

    @property
    def _rank(self) -> int:
        return self.head.rank if self.head is not None else 0

    def _hold(self, request: Request, found: Recorded) -> None:
        held = _held(found)
        told = self.reader.size - held * 4 // 3  # three bytes of an array are four characters of its line
        request.size = request.size[0] + held, request.size[1] + told
        self._held, self._told = self._held + held, self._told + told
        for what, bytes_, most in (("arrays in", self._held, MAX_HELD), ("all else in", self._told, MAX_TOLD)):
            if bytes_ > most:
                said = f"{what} the lines of open requests hold more than {most} bytes"
                raise OversizedTrace(found.path, found.line, said)


def _held(one: Recorded) -> int:
    """Bytes of the arrays that stand in the line."""
    summary = one.summary
    arrays = [one.round.visible, one.round.rows, one.round.scores]
    arrays += [summary.tokens, summary.values] if summary is not None else []
    return sum(len(array.data) for array in arrays if array is not None)
