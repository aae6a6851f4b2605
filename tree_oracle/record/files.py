"""Reading and writing the documents of this package. Files are untrusted: bounded, strictly typed, never executed."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

from tree_oracle.record.asked import ToleranceFile
from tree_oracle.record.case_file import CASE_FORMAT, CASE_VERSION, CaseFile
from tree_oracle.record.consistent import contradiction
from tree_oracle.record.errors import FileError
from tree_oracle.record.report import REPORT_FORMAT, REPORT_VERSION, Report

Document = TypeVar("Document", bound=msgspec.Struct)

# A case of 4,096 nodes with rows over a vocabulary of 1,024 in float64 takes 45 MiB in base64; ten times that is an accident.
MAX_BYTES = 512 * 2**20


def to_json(document: msgspec.Struct) -> bytes:
    """Canonical, indented JSON with a final newline: the same document gives the same bytes everywhere."""
    return msgspec.json.format(msgspec.json.encode(document, order="deterministic"), indent=2) + b"\n"


def write_file(path: Path, document: msgspec.Struct) -> None:
    """Write the whole document or nothing: a reader never sees half a file, and an old file survives a crash."""
    write_bytes(path, to_json(document))


def write_bytes(path: Path, content: bytes) -> None:
    """Write all of ``content`` or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.chmod(draft, 0o666 & ~_umask())  # as any other new file: reports are made to be picked up by somebody else
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _umask() -> int:
    """The mask for new files; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def read_case(path: Path, *, max_bytes: int = MAX_BYTES) -> CaseFile:
    """Read a case file.

    Raises:
        FileError: the file is missing, too large, not JSON, of another format or version, or misses a field.
    """
    return _read(path, CaseFile, CASE_FORMAT, CASE_VERSION, max_bytes)


def read_report(path: Path, *, max_bytes: int = MAX_BYTES) -> Report:
    """Read a report.

    Raises:
        FileError: as for ``read_case``; or the report contradicts itself.
    """
    found = _read(path, Report, REPORT_FORMAT, REPORT_VERSION, max_bytes)
    refuse_contradiction(found, path)
    return found


def refuse_contradiction(report: Report, path: Path) -> None:
    """Return if the report in a file can have come of a run.

    Raises:
        FileError: it cannot.
    """
    said = contradiction(report)
    if said:
        raise FileError(f"{path} holds a report that contradicts itself: {said}")


class _Head(msgspec.Struct):
    format: str
    version: int


def _read(path: Path, kind: type[Document], name: str, version: int, max_bytes: int) -> Document:
    return decoded(read_bounded(path, name, max_bytes), path, kind, name, version)


def read_bounded(path: Path, name: str, max_bytes: int) -> bytes:
    """The bytes of a file of the format ``name``.

    Raises:
        FileError: the file is missing, no regular file, or too large.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe waits for somebody to write
            raise FileError(f"cannot read {path}: it is no regular file")
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileError:
        raise
    except (OSError, ValueError) as error:  # a ValueError for a path that no file can have
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > max_bytes:
        raise FileError(f"{path} holds more than {max_bytes} bytes; a {name} file is refused above that")
    return data


def tolerance_file(path: Path) -> ToleranceFile:
    """The name and the digest of a tolerance report, which is not read otherwise.

    Raises:
        FileError: it cannot be read, or is too large.
    """
    content = read_bounded(path, "tolerance report", MAX_BYTES)
    return ToleranceFile(str(path), hashlib.sha256(content).hexdigest())


def decoded(data: bytes, path: Path, kind: type[Document], name: str, version: int) -> Document:
    """The document that the bytes of a file hold.

    Raises:
        FileError: they are not JSON, of another format or version, or miss a field.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        if (head.format, head.version) != (name, version):
            raise FileError(f"{path} is {head.format!r} version {head.version}; expected {name!r} version {version}")
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        other = format_of(data)
        said = f"it is a {other} file" if other not in ("", name) else str(error)
        raise FileError(f"{path} is not a {name} file: {said}") from error


def format_of(data: bytes) -> str:
    """Which of our formats the first bytes of a file name, whatever else they hold; empty if none."""
    found = _FORMAT.search(data[:_HEAD])
    return found[1].decode() if found else ""


_HEAD = 4096  # bytes in which a document of ours says what it is
_FORMAT = re.compile(rb'"format":\s*"(tree-oracle-[a-z]+)"')
