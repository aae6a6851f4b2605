"""The page of conventions, made from the code: ``python -m tree_oracle.tree.formats.page > docs/conventions.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from tree_oracle.tree.formats import convention
from tree_oracle.tree.formats.format import Format
from tree_oracle.tree.formats.registry import FORMATS
from tree_oracle.tree.formats.systems import SYSTEMS

_INTRODUCTION = """# Conventions

Made from `tree_oracle/tree/formats` by `python -m tree_oracle.tree.formats.page`; change it there.

Find the system that your decoder follows, and declare what differs from `tree_oracle`. Nothing is guessed from data: the
same mask is right under one polarity and wrong under another. An empty cell means that no source says, not that there is no
convention.

Words in capitals are members of the enumerations at the end. Those of masks, roots, parents, budgets, depths, lengths, counts,
positions, links, paths and lists are parameters of the functions in `tree_oracle.tree.formats`."""

# One table for each question that an adapter answers; a column is a field of System.
_TABLES = (
    ("Mask", ("polarity", "orientation", "causality", "prefix", "packing")),
    ("Root and budget", ("root", "root_parent", "budget", "budget_name", "depth")),
    ("Storage", ("order", "listing", "duplicates", "links", "leaves", "pad", "sentinels")),
    ("Positions and rows", ("position", "prefix_length", "scoring_row")),
    ("Outcome", ("bonus", "accepted", "metric", "cache", "batch")),
)
_BELOW = {
    "Positions and rows": "Everywhere a child is judged with its parent's row, and a position counts depth, never the slot.",
}


def render() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, _sources()]
    for title, columns in _TABLES:
        parts += [f"## {title}", *filter(None, [_BELOW.get(title)]), _systems_table(columns)]
    parts += ["## Encodings", _ENCODINGS, _formats_table(), "## The enumerations", *_enumerations()]
    return "\n\n".join(parts) + "\n"


_ENCODINGS = """Entries are those of one request that is not padded: n nodes with the root, c cached tokens before it.
`find_format(name)` gives the encoding with both ways through it."""


def _sources() -> str:
    return _table(("system", "read in"), ((one.name, one.source) for one in SYSTEMS.values()))


def _systems_table(columns: Sequence[str]) -> str:
    rows = ((one.name, *(_cell(getattr(one, column)) for column in columns)) for one in SYSTEMS.values())
    return _table(("system", *(column.replace("_", " ") for column in columns)), (row for row in rows if any(row[1:])))


def _formats_table() -> str:
    rows = (
        (f"`{one.name}`", one.holds, ", ".join(one.systems), _sizes(one), _demands(one)) for one in FORMATS.values()
    )
    return _table(("encoding", "holds", "systems", "entries", "demands"), rows)


def _sizes(encoding: Format) -> str:
    formulas: dict[str, str] = {}
    for part in encoding.parts:
        formulas[part.field] = f"{formulas[part.field]} + {part.formula}" if part.field in formulas else part.formula
    return "; ".join(f"{field} {formula}" for field, formula in formulas.items())


def _demands(encoding: Format) -> str:
    demands = encoding.demands
    said = (
        "level order" if demands.level_order else "",
        "one size in a batch" if demands.one_size else "",
        f"at most {demands.most_nodes} nodes" if demands.most_nodes else "",
        f"at most {demands.most_siblings} siblings" if demands.most_siblings else "",
        "distinct siblings" if demands.distinct_siblings else "",
    )
    return ", ".join(filter(None, said))


def _enumerations() -> list[str]:
    kinds = [kind for kind in vars(convention).values() if isinstance(kind, type) and issubclass(kind, Enum)]
    return [
        "\n".join([f"**{kind.__name__}**", "", *(f"- `{member.name}`: {member.value}" for member in kind)])
        for kind in kinds
        if kind is not Enum
    ]


def _cell(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name
    return ", ".join(map(_cell, value)) if isinstance(value, tuple) else value or ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(render())
