"""Each encoding is as large as its formulas say, and its parts grow as they should when the nodes double."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from format_oracle import SIZES, grown, grown_batch, suits

from tree_oracle.record import UsageError
from tree_oracle.tree.formats import FORMATS, Part, TreeShape, as_plain, shape_of


def entries(value: Any) -> int:
    """The numbers in a document's field."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, Mapping):
        return len(value)
    return sum(map(entries, value)) if isinstance(value, tuple | list) else 1


def fields(document: Any) -> dict[str, Any]:
    """The fields of a document by name; JSON text has its own."""
    if isinstance(document, str):
        return {name: value for name, value in json.loads(document).items() if name not in ("format", "version")}
    return {field.name: getattr(document, field.name) for field in dataclasses.fields(document)}


@pytest.mark.parametrize("name", FORMATS)
def test_formulas_count_what_is_there(name: str) -> None:
    """For trees of every size after prefixes of several lengths, the parts of each field add up to its entries."""
    encoding = FORMATS[name]
    for n in (size for size in SIZES if suits(encoding, size)):
        for tree, prefix_len in zip(grown_batch(n, 3)[0], (1, 2, 20), strict=True):
            counted: dict[str, int] = {}
            for part in encoding.parts:
                counted[part.field] = counted.get(part.field, 0) + part.entries(shape_of(tree, prefix_len))
            (document,) = encoding.encode([tree], [prefix_len])
            assert {field: entries(value) for field, value in fields(document).items()} == counted, (n, prefix_len)


@pytest.mark.parametrize("name", FORMATS)
def test_documents_become_json(name: str) -> None:
    """Any document can be written as JSON, entry for entry, with null for minus infinity and nothing else lost."""
    (document,) = FORMATS[name].encode([grown(9, 0)], [3])
    text = json.dumps(as_plain(document), allow_nan=False)
    if isinstance(document, str):
        assert json.loads(text) == document
        return
    for field, value in json.loads(text).items():
        assert flat(value) == flat(fields(document)[field]), field


def flat(value: Any) -> list[Any]:
    """All entries in order, minus infinity as None."""
    if isinstance(value, Mapping):
        return [(int(key), one) for key, one in value.items()]
    if isinstance(value, tuple | list | np.ndarray):
        return [one for entry in value for one in flat(entry)]
    return [None if value is None or value == -np.inf else value]


def test_what_is_no_document_does_not_become_json() -> None:
    """An object that no encoder returned is refused."""
    with pytest.raises(UsageError, match="a set is no encoding; expected what an encoder returns"):
        as_plain({"mask": {1, 2}})


def parts(formula: str) -> list[Part]:
    found = [part for encoding in FORMATS.values() for part in encoding.parts if part.formula == formula]
    assert found
    return found


def shape(n: int, cached: int) -> TreeShape:
    """The numbers of a tree that is nothing but its size."""
    return TreeShape(n=n, cached=cached, leaves=1, levels=n, inner=n - 1, edges_on_paths=0, nodes_to_leaves=n)


@pytest.mark.parametrize("n", [8, 32, 33, 64, 512])
def test_parts_grow_as_they_are_named(n: int) -> None:
    """When n doubles a dense block grows fourfold and lists twofold; the prefix block grows with both its sides alone."""
    for block in parts("n^2"):
        assert block.entries(shape(2 * n, 5)) == 4 * block.entries(shape(n, 5))
        assert block.entries(shape(n, 10)) == block.entries(shape(n, 5))
    for prefix in parts("n c"):
        assert prefix.entries(shape(2 * n, 5)) == 2 * prefix.entries(shape(n, 5)) == prefix.entries(shape(n, 10))
    for each in parts("n"):
        assert each.entries(shape(2 * n, 5)) == 2 * each.entries(shape(n, 10))
    (words,) = parts("n ceil(n / 32)")
    assert [words.entries(shape(size, 0)) for size in (1, 31, 32, 33, 64, 65)] == [1, 31, 32, 66, 128, 195]


def test_intervals_and_parents_stay_small_where_blocks_do_not() -> None:
    """At 4,096 nodes a dense block has 16,777,216 entries, packed words 524,288, intervals 8,192 and a parent list 4,096."""
    size = shape(4096, 100)
    assert {part.entries(size) for part in parts("n^2")} == {16_777_216}
    assert {part.entries(size) for part in parts("n ceil(n / 32)")} == {524_288}
    without_tokens = [part.entries(size) for part in FORMATS["intervals"].parts if part.field != "tokens"]
    assert sum(without_tokens) == 8192
    assert [part.entries(size) for part in FORMATS["parents"].parts if part.field == "parents"] == [4096]
