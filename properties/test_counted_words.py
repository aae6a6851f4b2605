"""Messages count in right grammar, and pages name no document that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tree_oracle.checks import CHECKS
from tree_oracle.construct import POLICIES
from tree_oracle.faults import PLANTED

ROOT = Path(__file__).parent.parent
SAYING = {"fail", "unsure", "AdapterError", "DecoderError", "Unsupported", "NothingToJudge", "Unexplained"}
NOUNS = (
    "tokens|cases|checks|nodes|trees|requests|rows|rounds|entries|arguments|pages|levels|children|prompts|calls|layers"
)
UNGUARDED = re.compile(rf" (?:(?!are |after |commits )\w+ )?(?:{NOUNS})\b")


def said(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    """The f-strings of what is said of a decoder, without those that stand inside another."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING:
            for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from (one for one in ast.walk(part) if isinstance(one, ast.JoinedStr))


def unguarded(text: ast.JoinedStr) -> Iterator[str]:
    """Numbers that stand before a plural as they are."""
    for value, after in zip(text.values, text.values[1:], strict=False):
        plain = isinstance(value, ast.FormattedValue) and isinstance(
            value.value, ast.Name | ast.Attribute | ast.Call | ast.BinOp
        )
        if plain and isinstance(after, ast.Constant) and UNGUARDED.match(str(after.value)):
            yield ast.unparse(text)


def test_no_message_counts_one_of_many() -> None:
    """In what checks say of a decoder every number before a noun is followed by the singular where it is one."""
    files = sorted((ROOT / "tree_oracle" / "checks").glob("*.py"))
    found = [
        (file.name, one) for file in files for text in said(ast.parse(file.read_text())) for one in unguarded(text)
    ]
    assert found == []


def test_pages_name_documents_that_are_there() -> None:
    """Whatever a check, a planted fault or a policy gives as its source is in this project, or is no file."""
    told = [f"{check.source} {check.page}" for check in CHECKS.values()]
    told += [f"{fault.sentence} {fault.wakes} {fault.seen_in}" for fault in PLANTED.values()]
    told += [str(vars(policy) if hasattr(policy, "__dict__") else policy) for policy in POLICIES.values()]
    named = {name for text in told for name in re.findall(r"[\w./-]+\.md\b", text)}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
