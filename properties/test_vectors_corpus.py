"""The installed corpus is what the reference makes, matches its schema, holds no floating score, and says what it wakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tree_oracle.construct import POLICIES
from tree_oracle.record import FileError, UsageError
from tree_oracle.tree.formats import FORMATS
from tree_oracle.vectors import FLAGS, GROUPS, digest, find, load, load_all
from tree_oracle.vectors.corpus import SCHEMA, folder, group_of, read_bytes

pytestmark = pytest.mark.sweep

ROOT = Path(__file__).parent.parent
CLASSES = {
    *(
        "KV-COMMIT",
        "KV-MOVE",
        "ROLLBACK",
        "STATE",
        "MASK-IGNORED",
        "MASK-STALE",
        "MASK-LAYOUT",
        "MASK-TILE",
        "SWA",
        "POSITION",
    ),
    *("CONSTRUCT", "GATHER", "DECISION", "LAW", "STOP", "PATH-STATE", "BATCH", "GRAPH", "PREFIX", "NUMERIC", "DRAFTER"),
}
FILES = [*(f"{name}.json" for name in GROUPS), SCHEMA]


def plain(name: str) -> Any:
    return json.loads(read_bytes(f"{name}.json"))


def numbers(value: Any) -> Iterator[Any]:
    """Every number in a JSON value."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, int | float):
        yield value


@pytest.mark.skipif(
    os.environ.get("TREE_ORACLE_PROFILE") != "deep", reason="takes ten seconds; `.ci/run` does it, and the profile deep"
)
def test_the_reference_makes_the_installed_files_byte_for_byte(tmp_path: Path) -> None:
    """One command makes every file anew, with the same bytes in a process that hashes strings otherwise."""
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tree_oracle.vectors.generate", str(tmp_path)]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    different = [name for name in FILES if (tmp_path / name).read_bytes() != read_bytes(name)]
    assert different == [], f"not what the reference makes; run `{' '.join(command[1:3])}` if that is meant"


def test_the_corpus_is_large_and_compact() -> None:
    """There are at least 2,000 vectors with ids of their own, in files that are small enough to install."""
    ids = [vector.id for group in load_all() for vector in group.vectors]
    assert len(ids) == len(set(ids)) >= 2000
    assert sum(len(read_bytes(name)) for name in FILES) < 6 * 2**20


def test_nothing_but_vectors_lies_beside_them() -> None:
    """The folder holds the files of the groups, the schema and the README, and no file that nobody reads."""
    assert sorted(entry.name for entry in folder().iterdir()) == sorted([*FILES, "README.md"])


@pytest.mark.parametrize("name", GROUPS)
def test_every_file_matches_the_schema(name: str) -> None:
    """A file is valid under the committed schema as the kind of its own group, and is not with a member too many."""
    schema, group = json.loads(read_bytes(SCHEMA)), plain(name)
    kind = schema["oneOf"][list(GROUPS).index(name)]
    validator = jsonschema.Draft202012Validator({**kind, "$defs": schema["$defs"]})
    validator.validate(group)
    group["vectors"] = group["vectors"][:1]
    group["vectors"][0]["input"]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        validator.validate(group)


def test_the_schema_tells_the_groups_apart() -> None:
    """The whole schema is a valid one, and takes a file as exactly one kind."""
    schema = json.loads(read_bytes(SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    stop = plain("stop")
    stop["vectors"] = stop["vectors"][:3]
    jsonschema.Draft202012Validator(schema).validate(stop)
    stop["group"] = "walk"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(stop)


@pytest.mark.parametrize("name", GROUPS)
def test_every_number_is_an_integer(name: str) -> None:
    """No floating number is stored anywhere, and no integer of more than 64 bits."""
    found = list(numbers(plain(name)["vectors"]))
    assert found
    assert all(type(number) is int and -(2**63) <= number < 2**64 for number in found)


@pytest.mark.parametrize("name", GROUPS)
def test_every_flag_is_explained_and_used(name: str) -> None:
    """Each vector has a flag, each flag of a file is explained there in the catalogue's words, and each is used."""
    group = load(name)
    assert all(vector.flags and vector.comment for vector in group.vectors)
    assert group.flags == {flag: FLAGS[flag] for vector in group.vectors for flag in vector.flags}


def test_no_flag_is_without_a_vector() -> None:
    """The catalogue holds the flags of the corpus and no others."""
    assert {flag for group in load_all() for flag in group.flags} == FLAGS.keys()


def test_every_flag_names_a_class_of_real_faults() -> None:
    """The classes are those under which reported faults were gathered."""
    assert {flag.fault_class for flag in FLAGS.values()} <= CLASSES


def test_every_encoding_and_every_policy_has_vectors() -> None:
    """Each published encoding is written, read and refused somewhere, and each published policy has drafts with and without ties."""
    for name in ("encode", "decode", "malformed"):
        assert {vector.input.format for vector in load(name).vectors} == FORMATS.keys()
    for name in ("construct", "construct-ties"):
        assert {vector.input.policy for vector in load(name).vectors} == POLICIES.keys()


def test_a_level_too_many_would_be_seen() -> None:
    """Each policy that has a bound on its depth meets drafts that go on below it: who drafts one level more builds another tree."""
    deeper = {
        vector.input.policy
        for name in ("construct", "construct-ties")
        for vector in load(name).vectors
        for depth in [vector.input.parameters.get("depth", vector.input.parameters.get("block", 0) - 1)]
        if 0 < depth < levels_of(vector.input.draft)
    }
    assert deeper == POLICIES.keys() - {"medusa", "eagle1", "specinfer"}


def levels_of(draft: Any) -> int:
    """How many levels a draft has laws for."""
    laws = draft.laws
    return max(len(one.after) for one in laws) + 1 if hasattr(laws[0], "after") else len(laws)


def test_the_guide_lists_every_flag() -> None:
    """`docs/vectors.md` has the table of flags as the catalogue has it, in its order."""
    rows = [f"| `{name}` | {f.bug_type} | {f.effect} | {f.fault_class} |" for name, f in FLAGS.items()]
    assert "\n".join(rows) in (ROOT / "docs" / "vectors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("text", "cause"), [
    (b"", "truncated"),
    (b'{"format": "tree-oracle-vectors"', "truncated"),
    (b"[" * 100_000, "(?i)recursion|expected"),
    (b'{"format": "tree-oracle-vectors", "version": 2}', "version"),
    (read_bytes("stop.json").replace(b'"group": "stop"', b'"group": "go"'), "holds group 'go'; expected 'stop'"),
    (read_bytes("stop.json")[:-5], "truncated"),
    (read_bytes("stop.json").replace(b'"length":7', b'"length":"7"', 1), "Expected `int`, got `str`"),
], ids=["empty", "cut head", "nested", "version", "group", "cut", "type"])  # fmt: skip
def test_a_damaged_file_is_refused_with_its_cause(text: bytes, cause: str) -> None:
    """What is no file of vectors gives a FileError that says why."""
    with pytest.raises(FileError, match=cause):
        group_of(text, "stop")


@pytest.mark.parametrize(("unknown", "message"), [
    ("stop-9999", "no vector 'stop-9999'; expected an id such as trees-0000"),
    ("x", "no vector 'x'"),
])  # fmt: skip
def test_an_unknown_vector_is_named(unknown: str, message: str) -> None:
    """An id that does not exist is refused, with one that does."""
    with pytest.raises(UsageError, match=message):
        find(unknown)


def test_a_vector_is_found_by_its_id() -> None:
    """Finding gives back the vector and the group that it stands in; an unknown group is named."""
    for group in load_all():
        assert find(group.vectors[-1].id) == (group, group.vectors[-1])
    with pytest.raises(UsageError, match="no group 'x'; expected one of trees, "):
        load("x")


def test_the_digest_tells_corpora_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest is that of the bytes: one other byte, another digest."""
    before = digest()
    assert len(before) == 64
    monkeypatch.setattr("tree_oracle.vectors.corpus.read_bytes", lambda name: read_bytes(name).replace(b"eos", b"oes"))
    assert digest() != before
