"""Where two traces part, round by round and request by request, in constant memory for traces in the same order.

Two ranks of one run must agree bit for bit on what they accept and emit; two runs of one decoder may be compared too. Times,
ranks, environments and names are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path

import msgspec

from tree_oracle.record import Round
from tree_oracle.trace.lines import DoneLine, Head, Line, RequestLine, RoundLine
from tree_oracle.trace.parting import parted
from tree_oracle.trace.reader import TraceReader
from tree_oracle.trace.requests import Recorded

_SKIPPED = frozenset({"prefix", "started_ns", "ended_ns", "rank", "kernel", "graph"})
_FIELDS = tuple(name for name in Round.__struct_fields__ if name not in _SKIPPED)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One field in which two lines differ. Lines count from 1; 0 where a trace has no further line."""

    lines: tuple[int, int]
    what: str  # "round 3 of request 0", for a reader
    field: str
    values: tuple[str, str]


def compare_traces(one: Path, other: Path, *, partial: bool = False, most: int = 20) -> list[Difference]:
    """The first ``most`` differences, of each pair of lines the first.

    Raises:
        TraceError: one of them cannot be read.
    """
    first, second = TraceReader(one, partial=partial), TraceReader(other, partial=partial)
    return list(islice(_differences(first, second), most))


def _differences(first: TraceReader, second: TraceReader) -> Iterator[Difference]:
    for one, other in zip_longest(_compared(first), _compared(second)):
        lines = (first.line if one is not None else 0, second.line if other is not None else 0)
        if one is None or other is None or type(one) is not type(other):
            names = tuple("nothing" if line is None else _name(line) for line in (one, other))
            yield Difference(lines=lines, what="line", field="kind", values=(names[0], names[1]))
            return
        found = _field(first, second, one, other, lines)
        if found is not None:
            yield found


def _compared(reader: TraceReader) -> Iterator[Line]:
    return (line for line in reader if isinstance(line, RequestLine | RoundLine | DoneLine))


def _name(line: Line) -> str:
    return {RoundLine: "a round", RequestLine: "a request", DoneLine: "done", Head: "head"}.get(type(line), "end")


def _field(
    first: TraceReader, second: TraceReader, one: Line, other: Line, lines: tuple[int, int]
) -> Difference | None:
    mine, theirs = _fields(first, one), _fields(second, other)
    name = next((name for name in mine if mine[name] != theirs.get(name)), None)
    if name is None:
        return None
    what = f"a round of request {mine['request']}" if isinstance(one, RoundLine) else f"request {mine['request']}"
    return Difference(lines=lines, what=what, field=name, values=parted(mine[name], theirs.get(name)))


def _fields(reader: TraceReader, line: Line) -> dict[str, object]:
    if not isinstance(line, RoundLine):
        return {name: getattr(line, name) for name in line.__struct_fields__ if name not in ("n", "crc")}
    round_ = Recorded(reader.path, reader.line, line.round, line.beside).whole()
    return {name: getattr(round_, name) for name in _FIELDS} | {"summary": line.summary}
