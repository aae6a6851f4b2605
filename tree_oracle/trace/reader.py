"""Reading a trace line by line: bounded, strictly typed, in constant memory, every defect told apart.

Nothing is remembered but, for each request that is open, how many tokens of text it has. The file names no other file: arrays
lie where the trace's own name and the number of the line say.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

import msgspec

from tree_oracle.record.files import format_of
from tree_oracle.trace.errors import (
    DamagedLine,
    DuplicatedLine,
    InconsistentTrace,
    MalformedLine,
    MissingLine,
    NotATrace,
    OversizedTrace,
    ReorderedTrace,
    TruncatedTrace,
)
from tree_oracle.trace.lines import TRACE_FORMAT, TRACE_VERSION, DoneLine, EndLine, Head, Line, RequestLine, RoundLine

# A tree of 4,096 nodes with summaries of all its rows takes 6 MiB; more than four times that is no line of ours.
MAX_LINE = 32 * 2**20
MAX_OPEN = 2**16  # requests that are open at once
MAX_TEXT = 2**26  # tokens that open requests hold together

_CRC = re.compile(rb',"crc":"([0-9a-f]{8})"\}')
_TAIL = 18  # bytes of it
_DECODER = msgspec.json.Decoder(Line)


class _Number(msgspec.Struct):
    """As much of a line as is read to learn its place."""

    n: int = -1


class TraceReader:
    """The lines of one trace, in order. Iterate once.

    Args:
        path: the trace.
        partial: take a recording that broke off for what it is, and stop before what was cut; ``complete`` then says so.
    """

    def __init__(self, path: Path, *, partial: bool = False, max_line: int = MAX_LINE) -> None:
        self.path, self.partial, self.complete = path, partial, False
        self.line = 0  # the number of the last line read, from 1
        self.size = 0  # its bytes
        self._max_line, self._sha256 = max_line, hashlib.sha256()
        self._open: dict[int, int] = {}  # tokens of each open request
        self._held = 0
        self.requests = self.rounds = 0

    def __iter__(self) -> Iterator[Line]:
        """Every line, the head first.

        Raises:
            TraceError: one of its subclasses, which names line and defect.
            FileError: the file cannot be opened.
        """
        for data in self._whole_lines():
            line = self._decode(data)
            self._follow(line)
            yield line
        if not self.complete:
            self._broken_off("the file stops without its end; what was recorded broke off here")

    @property
    def sha256(self) -> str:
        """The digest of all bytes that were read, in hex: of the file, once it was read to its end."""
        return self._sha256.hexdigest()

    def _whole_lines(self) -> Iterator[bytes]:
        with open_plain(self.path) as file:
            while data := file.readline(self._max_line + 1):
                self.line, self.size = self.line + 1, len(data)
                self._sha256.update(data)
                if len(data) > self._max_line:
                    raise OversizedTrace(self.path, self.line, f"more than {self._max_line} bytes in one line")
                if not data.endswith(b"\n"):
                    self._broken_off("the line stops before its end")
                    self.line -= 1
                    return
                yield data[:-1]

    def _broken_off(self, said: str) -> None:
        if self.line == 0 or (self.line == 1 and said.startswith("the line")):
            raise NotATrace(
                self.path, 1, f"{self._instead() or 'no whole line'}; expected the head of a {TRACE_FORMAT}"
            )
        if not self.partial:
            raise TruncatedTrace(self.path, max(self.line, 1), said)

    def _decode(self, data: bytes) -> Line:
        found = _CRC.fullmatch(data[-_TAIL:])
        if found and int(found[1], 16) != zlib.crc32(memoryview(data)[:-_TAIL]):
            raise DamagedLine(self.path, self.line, f"its checksum is {found[1].decode()}; its bytes have another")
        try:
            line = _DECODER.decode(data)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            if self.line == 1:
                raise NotATrace(
                    self.path, 1, f"expected the head of a {TRACE_FORMAT}: {self._instead() or error}"
                ) from error
            raise MalformedLine(self.path, self.line, str(error)) from error
        if line.crc is not None and found is None:
            raise MalformedLine(self.path, self.line, "crc is not the last member, or not eight hex digits")
        return line

    def _instead(self) -> str:
        """What the file is, if it is another document of ours."""
        with open_plain(self.path) as file:
            other = format_of(file.read(4096))
        return f"this is a {other} file" if other not in ("", TRACE_FORMAT) else ""

    def _follow(self, line: Line) -> None:
        self._in_order(line)
        match line:
            case Head():
                self._begin(line)
            case RequestLine():
                self._admit(line)
            case RoundLine():
                self.rounds += 1
                self._grow(self._known(line.round.request), line)
            case DoneLine():
                self._held -= self._open.pop(self._known(line.request))
            case EndLine():
                self._close(line)

    def _in_order(self, line: Line) -> None:
        if self.complete:
            raise InconsistentTrace(self.path, self.line, "a line behind the end of the trace")
        due = self.line - 1
        if (due == 0) != isinstance(line, Head):
            if due == 0:
                raise NotATrace(self.path, 1, f"the first line is no head of a {TRACE_FORMAT}")
            raise InconsistentTrace(self.path, self.line, "a second head; expected one, in the first line")
        if line.n < due:
            raise DuplicatedLine(self.path, self.line, f"line number {line.n} was there already; expected {due}")
        if line.n > due:
            where = self._elsewhere(due)
            if where is not None:
                raise ReorderedTrace(
                    self.path, self.line, f"number {line.n} stands before {due}, which is line {where}"
                )
            raise MissingLine(self.path, self.line, f"number {due} is missing; this is {line.n}")

    def _elsewhere(self, due: int) -> int | None:
        """The line that holds number ``due``, behind this one."""
        with open_plain(self.path) as file:
            for place in range(1, 2**62):
                data = file.readline(self._max_line + 1)
                if not data or len(data) > self._max_line:
                    return None
                with suppress(msgspec.DecodeError, RecursionError, ValueError):
                    if place > self.line and msgspec.json.decode(data, type=_Number).n == due:
                        return place
        return None

    def _begin(self, head: Head) -> None:
        if (head.format, head.version) != (TRACE_FORMAT, TRACE_VERSION):
            said = f"{head.format!r} version {head.version}; expected {TRACE_FORMAT!r} version {TRACE_VERSION}"
            raise NotATrace(self.path, 1, said)
        if head.rank >= head.ranks:
            raise InconsistentTrace(self.path, 1, f"rank {head.rank} of {head.ranks}")

    def _admit(self, line: RequestLine) -> None:
        if line.request != self.requests:
            raise InconsistentTrace(
                self.path, self.line, f"request {line.request}; expected {self.requests}, the next one"
            )
        if not line.prompt:
            raise InconsistentTrace(
                self.path, self.line, f"request {line.request} has an empty prompt; expected a root"
            )
        if len(self._open) >= MAX_OPEN:
            raise OversizedTrace(self.path, self.line, f"more than {MAX_OPEN} requests are open at once")
        self.requests += 1
        self._open[line.request] = 0
        self._hold(line.request, len(line.prompt))

    def _known(self, request: int) -> int:
        if request in self._open:
            return request
        told = "is done" if 0 <= request < self.requests else "was never opened"
        raise InconsistentTrace(self.path, self.line, f"request {request} {told}")

    def _grow(self, request: int, line: RoundLine) -> None:
        self._hold(request, len(line.round.emitted))
        if line.round.rows is not None and line.summary is not None:
            raise InconsistentTrace(self.path, self.line, "rows stand beside their summary; expected one of them")

    def _hold(self, request: int, tokens: int) -> None:
        self._open[request] += tokens
        self._held += tokens
        if self._held > MAX_TEXT:
            raise OversizedTrace(self.path, self.line, f"open requests hold more than {MAX_TEXT} tokens")

    def _close(self, line: EndLine) -> None:
        self.complete = True
        if (line.requests, line.rounds) != (self.requests, self.rounds):
            said = f"the end counts {line.requests} requests and {line.rounds} rounds; "
            raise InconsistentTrace(self.path, self.line, f"{said}there are {self.requests} and {self.rounds}")


def open_plain(path: Path) -> BufferedReader:
    """A regular file: what is opened must have an end, which a pipe or a device may not.

    Raises:
        NotATrace: it is none, or cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise NotATrace(path, 1, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotATrace(path, 1, "is no regular file")
    return os.fdopen(handle, "rb")
