"""Calling code that may raise, exit, lie about its input or contradict itself, and living to say so.

A decoder that raises, changes what it was given, or answers the same question differently has failed: the input was valid.
A hang cannot be stopped from inside the process.
"""

from __future__ import annotations

import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec
import numpy as np

from tree_oracle.record import (
    AdapterError,
    DecoderError,
    Misdescribed,
    MissingEngine,
    TreeOracleError,
    Unsupported,
    counted,
)
from tree_oracle.tree import CandidateTree

Result = TypeVar("Result")

_OURS = PurePath(__file__).parent
_UNCHANGING = frozenset((int, float, bool, str, type(None)))
_INSTALLED = (
    _OURS.parent,
    *(PurePath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
_WIDTH = 80  # of a source line


def call(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's answer.

    Raises:
        AdapterError: it does not take these arguments; or it was described, and is not as its description says.
        DecoderError: it raised, called ``sys.exit``, or changed an argument.
        MissingEngine: what it drives is not installed here, so there is nothing to judge.
        Unsupported: it refused, by raising ``Unsupported`` or ``NotImplementedError``.
    """
    before = [_snapshot(argument) for argument in arguments]
    try:
        with np.errstate(), _default_dtype_stays():  # what it sets stays with it
            answer = function(*arguments)
    except (KeyboardInterrupt, MissingEngine, Misdescribed):
        raise
    except NotImplementedError as refusal:
        raise Unsupported(_text(refusal) or f"{what} is not implemented") from refusal
    except BaseException as error:
        if isinstance(error, TypeError) and not _theirs(error):
            raise AdapterError(
                f"{what} cannot be called with {counted(len(arguments), 'argument')}: {_text(error)}"
            ) from error
        raise DecoderError(f"{what} raised {_summary(error)}") from error
    changed = _changes(before, arguments)
    if changed:
        raise DecoderError(f"{what} changed its input: {changed}")
    return answer


@contextmanager
def _default_dtype_stays() -> Iterator[None]:
    """What the block makes of torch's default dtype, where torch is loaded, stays with it: the oracle makes tensors too."""
    torch = sys.modules.get("torch")
    before = None if torch is None else torch.get_default_dtype()
    try:
        yield
    finally:
        if torch is not None:
            torch.set_default_dtype(before)


def protect(what: str, read: Callable[[], Result]) -> Result:
    """Read an answer whose own methods may misbehave: an exception that is not ours is the decoder's.

    Raises:
        DecoderError: reading the answer raised.
    """
    try:
        return read()
    except (TreeOracleError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise DecoderError(f"reading the answer of {what} raised {_summary(error)}") from error


def _snapshot(argument: Any) -> Any:
    """A comparable copy of what a decoder can change."""
    if type(argument) in _UNCHANGING:
        return ("value", argument)
    if isinstance(argument, CandidateTree):
        return ("tree", argument.tokens.tolist(), argument.parents.tolist())
    if isinstance(argument, np.ndarray):
        return ("array", argument.dtype.str, argument.shape, argument.tobytes())
    if isinstance(argument, list | tuple):
        if _UNCHANGING.issuperset(map(type, argument)):
            return ("values", tuple(argument))
        return ("sequence", [_snapshot(item) for item in argument])
    if is_dataclass(argument) and not isinstance(argument, type):  # frozen ones can be changed by force
        return ("object", {part.name: _snapshot(getattr(argument, part.name)) for part in fields(argument)})
    if isinstance(argument, msgspec.Struct):
        return ("value", msgspec.structs.asdict(argument))
    return ("value", argument)


def _changes(before: Sequence[Any], arguments: Sequence[Any]) -> str:
    """What became of the arguments, in words; empty if they are what they were."""
    try:
        pairs = zip(before, map(_snapshot, arguments), strict=True)
        return next((_difference(old, new) for old, new in pairs if old != new), "")
    except BaseException as error:  # the decoder put something of its own there
        return f"comparing it with what it was raised {_summary(error)}"


def _difference(before: Any, after: Any) -> str:
    kind = before[0]
    if kind == "tree":
        name, old, new = ("tokens", before[1], after[1]) if before[1] != after[1] else ("parents", before[2], after[2])
        return f"the tree's {name} were {old} and are now {new}"
    if kind == "object":
        names = [name for name in before[1] if before[1][name] != after[1].get(name)]
        return f"{names[0]}: {_difference(before[1][names[0]], after[1][names[0]])}"
    if kind == "array":
        return "the array it was handed holds other values now"
    if kind in ("values", "sequence"):
        both = kind == after[0] == "sequence"
        pairs = zip(before[1], after[1], strict=False) if both else ()
        inner = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if inner and inner[0][0] != "value":
            return _difference(*inner)
        return f"a list of {counted(len(before[1]), 'entry')} was changed"
    return f"{before[1]!r} became {after[1]!r}"


def _summary(error: BaseException) -> str:
    """Type, message and the innermost line of the decoder, without a traceback of ours."""
    return f"{type(error).__name__}: {_text(error)}{_where(_theirs(error))}"


def _where(frames: list[traceback.FrameSummary]) -> str:
    """The innermost line of the user's own code, as it is written, and the line that raised if that is another's."""
    if not frames:
        return ""
    raising = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}"
    own = next((frame for frame in reversed(frames) if not _is_installed(frame.filename)), None)
    if own is None:
        return f" ({raising})"
    line = " ".join((own.line or "").split())[:_WIDTH].encode(errors="backslashreplace").decode()
    said = f"{PurePath(own.filename).name}:{own.lineno}{line and f': {line}'}"
    return f" ({said})" if own is frames[-1] else f" ({said}; raised in {raising})"


def _is_installed(file: str) -> bool:
    """Whether a file is the interpreter's, an installed package's or ours, and not what is under test."""
    path = PurePath(file)
    return any(path.is_relative_to(folder) for folder in _INSTALLED) or file.startswith("<frozen ")


def _theirs(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames below ours: none if the call itself failed."""
    return [f for f in traceback.extract_tb(error.__traceback__) if PurePath(f.filename).parent != _OURS]


def _text(error: BaseException) -> str:
    """The message on one line; an exception may refuse to tell it."""
    try:
        return (
            " ".join(str(error).split())[:300].encode(errors="backslashreplace").decode()
        )  # JSON has no lone surrogates
    except BaseException as second:
        return f"a message that raises {type(second).__name__}"


def agree(what: str, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> None:
    """Compare two answers to the same question, round by round and field by field.

    Raises:
        DecoderError: they differ.
    """
    again = f"{what} answered differently the second time, on the same input"
    if len(first) != len(second):
        raise DecoderError(f"{again}: {counted(len(first), 'round')}, then {len(second)}")
    for index, (one, other) in enumerate(zip(first, second, strict=True)):
        different = [name for name in one if one[name] != other[name]]
        if different:
            where = f" of round {index}" if len(first) > 1 else ""
            raise DecoderError(f"{again}: {different[0]}{where}")
