"""A wrong argument is refused by name, with its value and what was expected, before anything is loaded."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tree_oracle import check_decoder, parametrize_with_checks
from tree_oracle.checks import answers
from tree_oracle.cli.common import caps_of
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import AdapterError, FileError, UsageError, read_report

BAD: list[tuple[str, Any]] = [
    ("checks", None), ("checks", [1]), ("checks", "VISIBLE-03"), ("families", "VISIBLE"), ("families", [None]),
    ("cases", 1.5), ("cases", "3"), ("cases", -1), ("cases", True), ("seed", "x"), ("seed", 1.5),
    ("require", "L3"), ("require", 9), ("require", -1), ("target", object()), ("target", 5), ("device", 5),
    ("dtype", np.float32), ("attention", None), ("name", 5), ("profile", 1), ("isolate", 1), ("python", 3),
    ("timeout", math.nan), ("timeout", -1), ("timeout", 0), ("timeout", "1"), ("memory", 0), ("memory", -1), ("memory", 1.5),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "value"), BAD)
def test_a_wrong_argument_is_named(argument: str, value: Any) -> None:
    """The message begins with the argument and its value, and says what was expected."""
    with pytest.raises(UsageError) as refusal:
        check_decoder(ReferenceDecoder, **{argument: value})
    assert str(refusal.value).startswith(f"{argument} is {' '.join(repr(value).split())[:50]}")
    assert "; expected " in str(refusal.value)


@pytest.mark.parametrize("decoders", [ReferenceDecoder, None, [], (), ["deco:good"], "deco:good"])
def test_decoders_that_are_none_are_refused(decoders: Any) -> None:
    """One decoder by itself, a name or an empty list never becomes a suite that tests nothing."""
    with pytest.raises(UsageError, match="^decoders "):
        parametrize_with_checks(decoders)


@pytest.mark.parametrize("timeout", [math.nan, -1.0, 0.0])
def test_the_command_line_takes_no_such_time_limit(timeout: float) -> None:
    """A limit that never comes, or has passed before the start, is none."""
    with pytest.raises(UsageError, match="timeout is .*; expected seconds"):
        caps_of("module:decoder", None, timeout, None)


def test_a_masked_array_is_no_answer() -> None:
    """Whatever is compared with a masked entry, nothing is found wrong."""
    with pytest.raises(AdapterError, match="rows is a masked array; expected its numbers"):
        answers.rows(np.ma.masked_array(np.zeros((2, 3)), mask=True), "rows", 2, 3)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """A pipe that nobody writes to is refused and not waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="no regular file"):
        read_report(tmp_path / "pipe")
