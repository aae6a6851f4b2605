"""The typed errors of trace files. Each says which file and line, and what is the matter with it, so that a broken recording is
never taken for a broken decoder.

    NotATrace         the first line is not the head of a trace, or is of another version
    TruncatedTrace    the file stops inside a line, or without its end: the recording broke off
    MissingLine       a line is not there
    ReorderedTrace    a line stands before one that was written earlier
    DuplicatedLine    a line that was there already
    DamagedLine       the bytes are not those that were written
    MalformedLine     a line that holds something else than the format allows
    OversizedTrace    a line, an array or an open text beyond the bounds of the format
    InconsistentTrace lines that contradict each other
    ArrayFileError    arrays beside the trace that are not there, or are not what the line says
"""

from __future__ import annotations

from pathlib import Path

from tree_oracle.record import FileError


class TraceError(FileError):
    """A trace that cannot be read as one. ``line`` counts from 1; ``path`` is the trace."""

    def __init__(self, path: Path, line: int, said: str) -> None:
        super().__init__(f"{path}, line {line}: {said}")
        self.path, self.line, self.said = path, line, said


class NotATrace(TraceError):
    """The file does not begin as a trace of this version."""


class TruncatedTrace(TraceError):
    """The file stops inside a line, or where a line is still to come."""


class MissingLine(TraceError):
    """The numbers of the lines have a gap, and what is missing stands nowhere behind it."""


class ReorderedTrace(TraceError):
    """A line stands before one that was written earlier."""


class DuplicatedLine(TraceError):
    """The number of a line was there already."""


class DamagedLine(TraceError):
    """The checksum of a line is not that of its bytes."""


class MalformedLine(TraceError):
    """A line is no JSON, or holds a field or a value that the format does not have."""


class OversizedTrace(TraceError):
    """A line, an array or what must be remembered is beyond the bounds of the format."""


class InconsistentTrace(TraceError):
    """A line contradicts those before it."""


class ArrayFileError(TraceError):
    """The arrays beside a trace are missing, or are not what the line says."""
