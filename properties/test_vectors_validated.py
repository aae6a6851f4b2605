"""Every vector of every group is what a second implementation says, which shares no line with the library."""

from __future__ import annotations

import ast
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from vectors_oracle import agrees

from tree_oracle.vectors import GROUPS
from tree_oracle.vectors.corpus import read_bytes

pytestmark = pytest.mark.sweep

SECOND = ("vectors_oracle", "vectors_formats", "vectors_refusals", "vectors_policies")
STANDARD = {"__future__", "collections.abc", "copy", "fractions", "itertools", "json", "typing"}


def vectors_of(group: str) -> list[Any]:
    found: list[Any] = json.loads(read_bytes(f"{group}.json"))["vectors"]
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_every_vector_is_what_a_second_implementation_says(group: str) -> None:
    """Brute force over the JSON alone gives what is expected, for each vector of the group."""
    assert [vector["id"] for vector in vectors_of(group) if not agrees(group, vector)] == []


def test_the_second_implementation_shares_nothing() -> None:
    """Its files import the standard library and each other, and nothing else."""
    for name in SECOND:
        tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert imports
        for node in imports:
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert set(modules) <= STANDARD | set(SECOND), f"{name}.py, line {node.lineno}"


def others(expected: Any) -> list[Any]:
    """What is expected, changed in one place at a time."""
    found = []
    for key, value in expected.items():
        changed = copy.deepcopy(expected)
        if isinstance(value, list):
            changed[key] = value[:-1] if value else [[0]]
        else:
            changed[key] = "x"
        found.append(changed)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_the_second_implementation_disagrees_with_what_is_wrong(group: str) -> None:
    """Any vector whose expectation is changed is found: the agreement above is no empty one."""
    for vector in vectors_of(group)[::9]:
        for wrong in others(vector["expected"]):
            assert not agrees(group, {**vector, "expected": wrong}), vector["id"]


@pytest.mark.parametrize(("group", "source"), [("malformed-trees", "trees"), ("malformed", "decode")])
def test_the_second_implementation_knows_what_is_right(group: str, source: str) -> None:
    """A tree, or the document of one, is never taken for something that must be refused."""
    seen = 0
    for vector in vectors_of(source):
        small = len(vector["input"].get("documents", [1])) == 1 and len(json.dumps(vector["input"])) < 150
        if small and len(vector["input"].get("prefix_lens", [1])) == 1:
            seen += 1
            with pytest.raises(AssertionError, match="this is"):
                agrees(group, vector)
    assert seen > 25
