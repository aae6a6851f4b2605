"""The journal of a run: every finished check, on disk as soon as it is done, so that an interrupted run can go on.

One JSON document a line. The first says which run it is: the whole plan, the limits, the versions, and a digest of the
decoder's own source files, so that nothing is taken over for a decoder that was changed since. Each other line holds one
finished check and its own checksum. A last line that was cut off is no loss: it is dropped and its check runs again. Anything
else that is not what was written is refused, and the file left as it is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tree_oracle.record import FileError, UsageError
from tree_oracle.run.tally import Finished

DEFAULT_FILE = Path(".tree-oracle") / "run.jsonl"

JOURNAL_FORMAT = "tree-oracle-journal"
JOURNAL_VERSION = 1

MAX_BYTES = 512 * 2**20


class Identity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: str
    version: int
    run: dict[str, object]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    finished: msgspec.Raw


class Journal:
    """One file, open for one run."""

    def __init__(self, path: Path, run: Mapping[str, object], *, resume: bool) -> None:
        """Begin anew, or go on with what is there if ``resume``.

        Args:
            path: the file; it need not exist.
            run: all that decides what the results are, as values that JSON holds.
            resume: whether to take over what an earlier attempt at the same run finished.

        Raises:
            UsageError: the file belongs to another run; what differs is named.
            FileError: it is no journal, or a line of it is damaged.
        """
        self.path = path
        self._made_folder = not path.parent.exists()
        self.finished: tuple[Finished, ...] = ()
        self._head = msgspec.json.encode(Identity(JOURNAL_FORMAT, JOURNAL_VERSION, dict(run)), order="deterministic")
        if resume and path.exists():
            self._continue()
        else:
            self._begin()

    def add(self, finished: Finished) -> None:
        """Keep one finished check; it is on disk when this returns."""
        self._append(msgspec.json.encode(_Line(_sum(content := msgspec.json.encode(finished)), msgspec.Raw(content))))

    def close(self) -> None:
        """The run is over: nothing is left to go on with."""
        self.path.unlink(missing_ok=True)
        if self._made_folder:
            with suppress(OSError):  # something else was put there
                self.path.parent.rmdir()

    def _begin(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)  # another run may still be writing to the old one
        self._append(self._head)

    def _continue(self) -> None:
        data = _read(self.path)
        if self._head.startswith(data):  # it was cut off before there was anything in it
            self._begin()
            return
        whole, _, torn = data.rpartition(b"\n")
        head, *lines = whole.split(b"\n")
        self._compare(_identity(self.path, head))
        self.finished = tuple(_finished(self.path, number, line) for number, line in enumerate(lines, 2))
        if torn:
            os.truncate(self.path, len(data) - len(torn))

    def _compare(self, identity: Identity) -> None:
        mine, theirs = _flat(msgspec.json.decode(self._head, type=Identity).run), _flat(identity.run)
        for name in [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]:
            raise UsageError(
                f"{self.path} belongs to another run: {name} was {_short(theirs.get(name))} there and is "
                f"{_short(mine.get(name))} here; run without --resume to begin anew"
            )

    def _append(self, line: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise FileError(f"{path} holds more than {MAX_BYTES} bytes; a journal is refused above that")
    return data


def _identity(path: Path, line: bytes) -> Identity:
    try:
        identity = msgspec.json.decode(line, type=Identity)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FileError(f"{path} is not a {JOURNAL_FORMAT} file: {error}") from error
    if (identity.format, identity.version) != (JOURNAL_FORMAT, JOURNAL_VERSION):
        raise FileError(
            f"{path} is {identity.format!r} version {identity.version}; "
            f"expected {JOURNAL_FORMAT!r} version {JOURNAL_VERSION}"
        )
    return identity


def _finished(path: Path, number: int, line: bytes) -> Finished:
    try:
        held = msgspec.json.decode(line, type=_Line)
        if _sum(bytes(held.finished)) == held.sha256:
            return msgspec.json.decode(held.finished, type=Finished)
        cause = "its checksum is wrong"
    except (msgspec.DecodeError, RecursionError) as error:
        cause = str(error)
    raise FileError(f"{path}, line {number} is damaged: {cause}; take the line out to run its check again")


def _flat(value: Mapping[str, object], above: str = "") -> dict[str, object]:
    """Every value by its path, as in ``plan.budget.cases``."""
    found: dict[str, object] = {}
    for name, item in value.items():
        found |= _flat(item, f"{above}{name}.") if isinstance(item, Mapping) else {f"{above}{name}": item}
    return found


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
