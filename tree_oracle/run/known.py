"""Known failures: a file in the tested project that says which checks are expected to fail, why, and where that is followed.

    [[known]]
    check = "COMMIT-01"
    reason = "side buffers are not moved"
    tracker = "https://example.org/issues/12"
    decoder = "my_package.adapter:make_decoder"  # only for this one; without it, for every decoder

Strict, so that the list is true: an entry whose check passes fails the run, and so does one whose check was not run, could not
be seen or does not exist. An entry for another decoder is not looked at. ``docs/known-failures.md`` is the guide.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import msgspec

from tree_oracle.checks import CHECKS
from tree_oracle.record import CheckResult, Known, Status, UsageError

DEFAULT_FILE = Path("tree-oracle.toml")

MAX_BYTES = 2**20  # there are some dozens of checks; a list of a megabyte is another file


class KnownFailuresError(UsageError):
    """A file of known failures that cannot be read as one."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One failure that is expected."""

    check: str
    reason: str
    tracker: str
    decoder: str | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    known: list[dict[str, object]] = []


class KnownFailures:
    """The entries of one file that are about one decoder."""

    def __init__(self, entries: Iterable[Entry], source: str) -> None:
        self.source = source
        self._entries = {entry.check: entry for entry in entries}

    @property
    def checks(self) -> tuple[str, ...]:
        """The ids of the checks that are expected to fail."""
        return tuple(self._entries)

    def mark(self, result: CheckResult) -> CheckResult:
        """The result, with its reason and tracker if it is a failure that is expected."""
        entry = self._entries.get(result.check)
        if entry is None or result.status is not Status.FAILED:
            return result
        return msgspec.structs.replace(result, known=Known(entry.reason, entry.tracker))

    def violation(self, result: CheckResult) -> str:
        """One line if there is an entry for this check that is not true of its result; else empty."""
        what = _violation(result.check, result.status) if result.check in self._entries else ""
        return what and f"{self.source}: {result.check} {what}"

    def violations(self, results: Iterable[CheckResult]) -> tuple[str, ...]:
        """One line for each entry that is not true of these results."""
        statuses = {result.check: result.status for result in results}
        lines = ((check, _violation(check, statuses.get(check))) for check in self._entries)
        return tuple(f"{self.source}: {check} {what}" for check, what in lines if what)


def no_known_failures() -> KnownFailures:
    """Nothing is expected to fail."""
    return KnownFailures((), "")


def read_known(path: Path, decoder: str) -> KnownFailures:
    """The entries of a file that are about ``decoder``.

    Raises:
        KnownFailuresError: the file cannot be read, is too large, is no TOML, or an entry is not what it should be.
    """
    return _about(decoder, _entries(path), path)


def refuse_untrue(path: Path) -> None:
    """Return if the file is a list for every decoder that it names, of checks that exist.

    Raises:
        KnownFailuresError: as ``read_known``, or there is no such check.
    """
    entries = _entries(path)
    for decoder in sorted({entry.decoder or "" for entry in entries}):
        _about(decoder, entries, path)
    unknown = [f"{entry.check} {_violation(entry.check, None)}" for entry in entries if entry.check not in CHECKS]
    if unknown:
        raise KnownFailuresError(f"{path}: {'; '.join(unknown)}")


def _entries(path: Path) -> list[Entry]:
    try:
        file = msgspec.convert(tomllib.loads(_text(path)), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise KnownFailuresError(
            f"{path} is not a file of known failures: {error}; expected [[known]] entries"
        ) from error
    return [_entry(path, number, raw) for number, raw in enumerate(file.known, 1)]


def _about(decoder: str, entries: Iterable[Entry], path: Path) -> KnownFailures:
    mine = [entry for entry in entries if entry.decoder in (None, decoder)]
    for check, count in Counter(entry.check for entry in mine).items():
        if count > 1:
            raise KnownFailuresError(f"{path} has {count} entries for {check} of {decoder}; expected one")
    return KnownFailures(mine, path.name)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise KnownFailuresError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise KnownFailuresError(
            f"{path} holds more than {MAX_BYTES} bytes; a file of known failures is refused above that"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise KnownFailuresError(f"{path} is not a file of known failures: {error}") from error


def _entry(path: Path, number: int, raw: dict[str, object]) -> Entry:
    where = f"{path}, entry {number} ({raw.get('check', 'without a check')!s:.60})"
    try:
        entry = msgspec.convert(raw, Entry)
    except msgspec.ValidationError as error:
        raise KnownFailuresError(f"{where}: {error}; expected check, reason, tracker and perhaps decoder") from error
    for name in ("check", "reason", "tracker"):
        if not getattr(entry, name).strip():
            raise KnownFailuresError(f"{where}: {name} is empty; expected {_WANTED[name]}")
    return entry


_WANTED = {
    "check": "the id of a check, such as HISTORY-01",
    "reason": "why the failure is expected",
    "tracker": "where it is followed up, such as the address of an issue",
}


def _violation(check: str, status: Status | None) -> str:
    if check not in CHECKS:
        (near,) = get_close_matches(check.upper(), CHECKS, n=1, cutoff=0.0)
        return f"is a known failure, but there is no such check; the nearest is {near}"
    match status:
        case None:
            return "is a known failure, but its check was not run"
        case Status.PASSED:
            return "is a known failure, but it passed; take its entry out"
        case Status.NOT_OBSERVABLE | Status.NOT_APPLICABLE:
            return f"is a known failure, but it is {status.value} here"
    return ""
