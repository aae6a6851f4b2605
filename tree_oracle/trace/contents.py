"""What a trace holds, counted in constant memory: its lines and nodes, as they stand there.

That is another count than the witness of a report, which asks what shows that speculation ran: it leaves control rounds out,
and takes steps of several tokens and stated counters where no tree is shown.
"""

from __future__ import annotations

import msgspec

from tree_oracle.record import Round, UsageError
from tree_oracle.trace.lines import DoneLine, Head, RequestLine, RoundLine
from tree_oracle.trace.reader import TraceReader
from tree_oracle.trace.requests import Request, Requests

_QUIET = frozenset({"emitted", "request", "rank", "control", "row_kind", "score_kind"})


class Contents(msgspec.Struct, kw_only=True):
    """Counts of one trace."""

    head: Head
    complete: bool = False
    lines: int = 0
    requests: int = 0
    done: int = 0  # requests that the decoder has returned
    rounds: int = 0
    control: int = 0  # of these, rounds without any tree
    emitted: int = 0  # tokens
    drafted: int = 0  # nodes without the roots
    accepted: int = 0  # of these nodes
    shown: dict[str, int] = {}  # by field, how many rounds show it


def contents_of(reader: TraceReader) -> Contents:
    """Read a trace to its end and count.

    Raises:
        TraceError: it cannot be read.
    """
    found: Contents | None = None
    for line in reader:
        if isinstance(line, Head):
            found = Contents(head=line, shown={})
        assert found is not None  # the reader hands out the head first
        if isinstance(line, RequestLine):
            found.requests += 1
        elif isinstance(line, DoneLine):
            found.done += 1
        elif isinstance(line, RoundLine):
            _count(found, line)
    assert found is not None
    found.complete, found.lines = reader.complete, reader.line
    return found


def _count(found: Contents, line: RoundLine) -> None:
    round_ = line.round
    found.rounds += 1
    found.control += round_.control
    found.emitted += len(round_.emitted)
    found.drafted += max(len(round_.tokens or ()) - 1, 0)
    found.accepted += len(round_.accepted or ())
    names = {name for name in Round.__struct_fields__ if name not in _QUIET and getattr(round_, name) is not None}
    names |= {"rows (summary)"} if line.summary is not None else set()
    for name in names | {name.partition(".")[0] for name in line.beside}:
        found.shown[name] = found.shown.get(name, 0) + 1


def find_request(reader: TraceReader, number: int) -> Request:
    """One request of a trace.

    Raises:
        UsageError: there is no such request.
        TraceError: the trace cannot be read.
    """
    for request in Requests(reader):
        if request.number == number:
            return request
    raise UsageError(f"no request {number}: the trace holds {reader.requests}, counted from 0")
