"""Files that a command writes beside what it prints. A file that is not one of ours is never written over.

A file is ours if it is empty or begins as we begin one of its kind. It is looked at before a run, which may take long, and
every write is whole or not at all (``record.files``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tree_oracle.record import FileError, Report, UsageError, write_file
from tree_oracle.report import html, markdown
from tree_oracle.report.junit import write_junit
from tree_oracle.report.words import MARK

Document = TypeVar("Document")

_HEAD = 4096  # bytes within which a mark stands


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to keep a report."""

    name: str
    marks: tuple[bytes, ...]
    write: Callable[[Path, Report], None]


KINDS = {
    "output": Kind("report", (b'"tree-oracle-report"',), write_file),
    "junit": Kind("JUnit file", (b'<testsuites name="tree-oracle"',), write_junit),
    "html": Kind("HTML report", (MARK.encode(),), html.write_html),
    "markdown": Kind("Markdown summary", (MARK.encode(),), markdown.write_markdown),
}


class Outputs:
    """Where a report is to be kept, by the names of ``KINDS``.

    Raises:
        UsageError: a path is taken by something else, or named twice.
    """

    def __init__(self, paths: dict[str, str | None]) -> None:
        self._paths = {kind: Path(path) for kind, path in paths.items() if path is not None}
        if len({path.absolute() for path in self._paths.values()}) < len(self._paths):
            raise UsageError("two outputs have the same file; expected a file of its own for each")
        for kind, path in self._paths.items():
            refuse_foreign(path, KINDS[kind].name, KINDS[kind].marks)

    def save(self, report: Report) -> None:
        """Write every file.

        Raises:
            FileError: one cannot be written.
        """
        for kind, path in self._paths.items():
            write_or_say(path, KINDS[kind].write, report)


def write_or_say(path: Path, write: Callable[[Path, Document], None], document: Document) -> None:
    """Write, and name the file if that fails.

    Raises:
        FileError: it cannot be written.
    """
    try:
        write(path, document)
    except (OSError, ValueError) as error:  # a ValueError for a path that no file can have
        raise FileError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error


def refuse_foreign(path: Path, name: str, marks: tuple[bytes, ...]) -> None:
    """Make sure that nothing is lost by writing.

    Raises:
        UsageError: there is a folder, or a file that does not begin as one of ours, or no folder to write it into.
    """
    try:
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: {path.parent} is no folder; make it first, or name another file")
        if not path.exists():
            return
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except UsageError:
        raise
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    if head and not any(mark in head for mark in marks):
        raise UsageError(f"{path} is there and is no {name} of tree-oracle; it is not written over, name another file")
