"""The typed exceptions of the library. Every one names the offending value and what was expected instead."""

from __future__ import annotations


class TreeOracleError(Exception):
    """Base of everything that this library raises on purpose."""


class UsageError(TreeOracleError, ValueError):
    """The caller asked for something that does not exist or does not fit together (exit code 2)."""


class MissingEngine(UsageError):
    """An adapter needs an engine that is not installed (exit code 2). Nothing is said of the decoder."""


class Unsupported(TreeOracleError, NotImplementedError):
    """A combination that would be decoded quietly wrong, or that nobody has proven: refused, with the reason."""


class AdapterError(TreeOracleError, ValueError):
    """An answer of the wrong shape, dtype or declared convention: the adapter's fault, status ``error``."""


class Misdescribed(AdapterError):
    """What a described function gave is not what its description says: the description is at fault, and no decoder."""


class DecoderError(TreeOracleError, RuntimeError):
    """The decoder under test raised, changed its input or contradicted itself on valid input: status ``failed``.

    ``rounds`` holds the rounds that were seen before, which often show what led to it; ``answered`` in full an answer that is
    itself what is wrong.
    """

    rounds: tuple[object, ...] = ()
    answered: str = ""


class FileError(TreeOracleError, ValueError):
    """A file that cannot be read as what it should be: too large, truncated, of another format or another version."""


def first_line(error: BaseException) -> str:
    """What an error of somebody else's code says, without the pages that may follow."""
    return (str(error).strip().splitlines() or ["no message"])[0]
