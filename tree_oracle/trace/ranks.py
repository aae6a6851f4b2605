"""The traces of several ranks of one run, request by request: each rank writes its own, and admits the same in the same order.

Ranks may finish requests in another order. What one of them has finished and others have not is held until they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from tree_oracle.record import Peer, UsageError
from tree_oracle.trace.errors import InconsistentTrace, OversizedTrace
from tree_oracle.trace.lines import Head
from tree_oracle.trace.reader import TraceReader
from tree_oracle.trace.requests import MAX_HELD, Request, Requests


def by_rank(paths: Sequence[Path]) -> list[Path]:
    """The traces of one run in the order of their ranks.

    Raises:
        UsageError: a rank is there twice, or two files are not of one run.
        TraceError: one does not begin as a trace.
    """
    found = sorted(((_head(path), path) for path in paths), key=lambda one: one[0].rank)
    first, at = found[0]
    for (before, other), (head, path) in pairwise(found):
        if before.rank == head.rank:
            raise UsageError(
                f"{str(other)!r} and {str(path)!r} are both of rank {head.rank}; expected a file of each rank"
            )
        for field in ("ranks", "decoder", "target", "engine"):
            mine, theirs = getattr(first, field), getattr(head, field)
            if mine != theirs:
                raise UsageError(f"{str(at)!r} and {str(path)!r} are not of one run: {field} {mine!r} and {theirs!r}")
    return [path for _, path in found]


def together(traces: Sequence[Requests]) -> Iterator[tuple[Request, tuple[Request, ...]]]:
    """Every request of the first trace, with the same request of the others, of which one that broke off may have none.

    Raises:
        InconsistentTrace: a whole trace lacks a request, or has it with another prompt, other limits, or drawn otherwise.
        OversizedTrace: what waits for another rank is beyond the bounds.
        TraceError: as for ``Requests``.
    """
    first, *others = traces
    waiting = [_Waiting(other) for other in others]
    for request in first:
        found = [(one, one.take(request.number)) for one in waiting]
        for other, theirs in found:
            _refuse_another(request, other, theirs)
        yield request, tuple(theirs for _, theirs in found if theirs is not None)
    for other in waiting:
        left = other.left()
        if left is not None and first.reader.complete:
            said = f"request {left.number} is not in {first.reader.path}"
            raise InconsistentTrace(other.trace.reader.path, left.line, said)


class _Waiting:
    """The requests of one rank, taken by their number."""

    def __init__(self, trace: Requests) -> None:
        self.trace, self._next = trace, iter(trace)
        self._held: dict[int, Request] = {}
        self._size = 0

    def take(self, number: int) -> Request | None:
        while number not in self._held and (request := next(self._next, None)) is not None:
            self._held[request.number] = request
            self._size += sum(request.size)
            if self._size > MAX_HELD:
                said = f"rounds that wait for the other ranks hold more than {MAX_HELD} bytes"
                raise OversizedTrace(self.trace.reader.path, request.line, said)
        found = self._held.pop(number, None)
        self._size -= 0 if found is None else sum(found.size)
        return found

    def left(self) -> Request | None:
        """A request that nobody took."""
        return next(iter(self._held.values()), None) or next(self._next, None)


def peer_of(request: Request, place: int, *, prefix: bool) -> Peer | None:
    """Another rank's round; emptiness where its text is done before, and None where its recording broke off.

    ``prefix``: with what was committed before it.
    """
    head = request.rank
    if place >= len(request.rounds):
        text = tuple(request.text) if prefix else None
        return Peer(rank=head, emitted=(), prefix=text) if request.done else None
    one = request.rounds[place]
    fields = ("tokens", "parents", "accepted", "bonus", "emitted", "kept", "end")
    shown = {field: getattr(one.round, field) for field in fields}
    return Peer(rank=head, prefix=request.prefix(one) if prefix else None, **shown)


def _head(path: Path) -> Head:
    line = next(iter(TraceReader(path)))
    assert isinstance(line, Head)  # the reader hands out nothing else first
    return line


def _refuse_another(request: Request, other: _Waiting, theirs: Request | None) -> None:
    path = other.trace.reader.path
    if theirs is None:
        if other.trace.reader.complete:
            raise InconsistentTrace(
                path, other.trace.reader.line, f"request {request.number} of rank {request.rank} is missing"
            )
        return
    for field in ("prompt", "limits", "greedy"):
        if getattr(request, field) != getattr(theirs, field):
            said = f"request {request.number} has another {field} than that of rank {request.rank}: not of one run"
            raise InconsistentTrace(path, theirs.line, said)
