"""What may be handed to ``check_decoder``: each argument is looked at once, before anything is loaded or run.

Rule: a value of the wrong kind is refused by name, with what was expected; nothing is taken for something that it nearly is.
So ``True`` is no number, and a string is no list of names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tree_oracle.record import UsageError

_HIGHEST_RUNG = 5


def names(value: Any) -> bool:
    """A sequence of strings, which is not a string itself."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(map(_text, value))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _seconds(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not math.isnan(value) and value > 0


def _target(value: Any) -> bool:
    from tree_oracle.target import Target  # resolved here, since it loads torch

    return _text(value) or isinstance(value, Target)


_Rule = tuple[Callable[[Any], bool], str]
_RULES: dict[str, _Rule] = {
    "checks": (names, "a list of ids, such as ['HISTORY-01']"),
    "families": (names, "a list of names, such as ['COMMIT']"),
    "device": (_text, "a string, such as 'cpu'"),
    "dtype": (_text, "a string, such as 'float32'"),
    "attention": (_text, "a string, such as 'sdpa'"),
    "isolate": (_flag, "True or False"),
    "power": (_flag, "True or False"),
}
_OPTIONAL: dict[str, _Rule] = {
    "target": (_target, "a Target, or a specification such as 'exact'"),
    "profile": (_text, "'ci' or 'deep'"),
    "name": (_text, "a string"),
    "tolerance": (lambda value: isinstance(value, str | os.PathLike), "the path of a tolerance report"),
    "cases": (lambda value: _whole(value) and value >= 0, "a whole number, 0 or more"),
    "seed": (_whole, "a whole number"),
    "require": (lambda value: _whole(value) and 0 <= value <= _HIGHEST_RUNG, f"a rung, 0 to {_HIGHEST_RUNG}"),
    "python": (_text, "an interpreter, by path or by command, such as '.venv/bin/python'"),
    "timeout": (_seconds, "seconds, more than 0"),
    "memory": (lambda value: _whole(value) and value >= 1, "MiB, a whole number of 1 or more"),
}


def refuse_bad(**given: Any) -> None:
    """Return if every argument is of its kind.

    Raises:
        UsageError: one is not; names it, its value and what was expected.
    """
    for argument, value in given.items():
        fits, expected = _RULES.get(argument) or _OPTIONAL[argument]
        if value is None and argument in _OPTIONAL:
            continue
        if not fits(value):
            raise UsageError(f"{argument} is {_short(value)}; expected {expected}")


def refuse_no_report(tolerance: str | os.PathLike[str] | None) -> None:
    """Return if there is a file to take the floor from, or none is asked for.

    Raises:
        UsageError: there is no such file.
    """
    if tolerance is not None and not _is_file(tolerance):
        raise UsageError(
            f"tolerance {_short(str(tolerance))} is no file; expected what tree-oracle tolerance measure wrote"
        )


def _is_file(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # too long for a name, or not to be looked at
        return False


def _short(value: Any) -> str:
    try:
        shown = " ".join(repr(value).split())
    except Exception:
        shown = type(value).__name__
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
