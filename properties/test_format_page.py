"""The page of conventions is what the code says, and what the code says of systems holds together."""

from __future__ import annotations

import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

from tree_oracle.tree.formats import FORMATS, SYSTEMS, convention
from tree_oracle.tree.formats.page import render
from tree_oracle.tree.formats.system import System

PAGE = Path(__file__).parents[1] / "docs" / "conventions.md"


def test_the_committed_page_is_the_generated_one() -> None:
    """``docs/conventions.md`` is what the command prints, byte for byte."""
    command = [sys.executable, "-m", "tree_oracle.tree.formats.page"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == render()
    assert PAGE.read_text(encoding="utf-8") == printed


def test_every_table_is_rectangular() -> None:
    """Each row of a table has as many cells as its head, so no value breaks a table."""
    lines = render().splitlines()
    for above, line in zip(lines, lines[1:], strict=False):
        if above.startswith("|") and line.startswith("|"):
            assert above.count("|") == line.count("|"), line


def test_encodings_name_systems_that_are_described() -> None:
    """No encoding belongs to a system that the page does not have."""
    named = {name for encoding in FORMATS.values() for name in encoding.systems}
    assert named <= set(SYSTEMS)


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(convention).values()
        if isinstance(kind, type) and issubclass(kind, Enum) and kind is not Enum
    ],
)
def test_every_convention_is_somebodys(kind: type[Enum]) -> None:
    """Each member of each enumeration is the convention of a system, or this project's refusal; each stands on the page."""
    used = {
        one
        for system in SYSTEMS.values()
        for name in System.__dataclass_fields__
        for one in flat(getattr(system, name))
    }
    for member in kind:
        assert member in used or member is convention.Duplicates.REFUSED, member
        assert f"`{member.name}`: {member.value}" in render()


def flat(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)
