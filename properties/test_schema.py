"""The file formats: what is written can be read back, matches the committed JSON Schema, and nothing else is accepted."""

from __future__ import annotations

import contextlib
import json
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tree_oracle.record import (
    Array,
    Bias,
    CaseFile,
    FileError,
    Limits,
    Processors,
    Report,
    Token,
    read_case,
    read_report,
    to_json,
    write_file,
)
from tree_oracle.record.files import decoded
from tree_oracle.record.report import REPORT_FORMAT, REPORT_VERSION
from tree_oracle.record.schema import FOLDER, NAMES, schema_json
from tree_oracle.trace import TraceReader

pytestmark = pytest.mark.versions

Document = CaseFile | Report


def read_any_report(path: Path) -> Report:
    """A report as it is written, though no run comes to it: ``test_edited_reports`` is about those that contradict themselves."""
    return decoded(path.read_bytes(), path, Report, REPORT_FORMAT, REPORT_VERSION)


READERS: dict[type[Document], Callable[[Path], Document]] = {CaseFile: read_case, Report: read_any_report}
PLAIN: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
}


def arrays() -> st.SearchStrategy[Array]:
    """Arrays of every dtype that a document may hold, empty ones and NaN included."""
    dtypes = st.sampled_from(["bool", "int32", "int64", "float32", "float64"])
    return npst.arrays(dtypes, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)).map(Array.of)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type, as far as JSON holds them: integers of 64 bits, finite floats, no lone surrogates."""
    if typing.get_origin(kind) is typing.Annotated:
        return bounded(*typing.get_args(kind))
    if kind is Array:
        return arrays()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return structs(kind)
    if typing.get_origin(kind) is tuple:
        return st.lists(values(typing.get_args(kind)[0]), max_size=3).map(tuple)
    if typing.get_origin(kind) is dict:
        key, value = typing.get_args(kind)
        return st.dictionaries(values(key), values(value), max_size=3)
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return st.one_of(*map(values, reversed(typing.get_args(kind))))
    return PLAIN[kind] if kind in PLAIN else st.from_type(kind)


def bounded(kind: Any, meta: msgspec.Meta) -> st.SearchStrategy[Any]:
    """Values within the bounds that the type states."""
    if kind is int:
        return st.integers(int(meta.ge or 0), int(meta.le or 0))
    if kind is float:
        return st.floats(meta.ge, meta.le, allow_nan=False, allow_infinity=False)
    return values(kind).filter(lambda found: len(found) >= (meta.min_length or 0))


def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Structs with every field drawn, except the two that say which format it is."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {name: values(hints[name]) for name in hints if name not in ("format", "version")}
    if kind is Limits:
        fields["stop"] = sequences(values(Token))
    if kind is Bias:
        fields["sequence"] = sequence(values(Token))
    if kind is Processors:
        fields["repetition"] = st.floats(0, exclude_min=True, allow_infinity=False)
        fields["bias"] = st.lists(structs(Bias), max_size=3, unique_by=lambda bias: bias.sequence).map(tuple)
        fields["banned"] = sequences(values(Token))
        fields["grammar"] = st.sampled_from([(), ((0,),), ((None, 1, 0), (0, None, None))])
    return st.builds(kind, **fields)


def sequence(tokens: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[int, ...]]:
    """One token or more."""
    return st.lists(tokens, min_size=1, max_size=3).map(tuple)


def sequences(tokens: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    """Sequences, none of them twice."""
    return st.lists(sequence(tokens), max_size=3, unique=True).map(tuple)


documents = st.one_of(structs(CaseFile), structs(Report))
MAPPINGS = {
    name for kind in READERS for name, hint in typing.get_type_hints(kind).items() if typing.get_origin(hint) is dict
}
SMALL = Report(decoder="d", target="t", grade="A", results=())


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((FOLDER / name).read_text(encoding="utf-8")))


def validator_of(document: Document) -> jsonschema.Draft202012Validator:
    return validator("case-1.schema.json" if isinstance(document, CaseFile) else "report-1.schema.json")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents") / "document.json"


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_schemas_are_the_ones_that_the_code_means(name: str) -> None:
    """Changing a document's fields without its schema is noticed."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_json(name)))
    same = (FOLDER / name).read_text(encoding="utf-8") == schema_json(name)
    assert same, f"{name} is not what the code means; write it anew with `python -m tree_oracle.record.schema`"


@pytest.mark.sweep
@given(document=documents)
def test_every_document_matches_its_schema(document: Document) -> None:
    """Whatever its fields hold, what is written is valid under the committed schema."""
    validator_of(document).validate(json.loads(to_json(document)))


@given(document=documents)
def test_every_document_is_read_back_as_it_was_written(file: Path, document: Document) -> None:
    """Reading undoes writing, and writing again gives the same bytes."""
    write_file(file, document)
    again = READERS[type(document)](file)
    assert again == document
    assert to_json(again) == file.read_bytes()


@given(values=npst.arrays(st.sampled_from(["float32", "float64"]), npst.array_shapes(min_side=0)))
def test_an_array_keeps_every_bit(values: np.ndarray[Any, Any]) -> None:
    """An array comes back through JSON with its dtype, shape and bytes, whatever kind of NaN it holds."""
    again = msgspec.json.decode(msgspec.json.encode(Array.of(values)), type=Array).numpy()
    assert (again.dtype, again.shape, again.tobytes()) == (values.dtype, values.shape, values.tobytes())


@given(document=documents, data=st.data())
def test_a_truncated_file_is_refused(file: Path, document: Document, data: st.DataObject) -> None:
    """A file cut anywhere before its last brace is never read as a shorter document."""
    whole = to_json(document)
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole.rstrip()) - 1))])
    with pytest.raises(FileError, match="is not a tree-oracle-"):
        READERS[type(document)](file)


@pytest.mark.sweep
@given(document=documents, data=st.data())
def test_damage_is_refused_or_harmless(file: Path, document: Document, data: st.DataObject) -> None:
    """Overwriting any byte of a file gives a FileError or a document of the right type, and no other exception."""
    damaged = bytearray(to_json(document))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(damaged)
    with contextlib.suppress(FileError):
        assert isinstance(READERS[type(document)](file), type(document))


@given(document=documents, data=st.data())
def test_a_field_that_nobody_knows_is_refused(document: Document, file: Path, data: st.DataObject) -> None:
    """An unknown field at any depth is named by the reader and refused by the schema: a typing error is no default."""
    plain = json.loads(to_json(document))
    data.draw(st.sampled_from(_objects(plain)))["surprise"] = 1
    file.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(FileError, match="unknown field `surprise`"):
        READERS[type(document)](file)
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        validator_of(document).validate(plain)


def _objects(value: Any) -> list[dict[str, Any]]:
    """Every JSON object in ``value`` that stands for a struct, not for a mapping whose keys are free."""
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    return [value, *(found for key, item in value.items() if key not in MAPPINGS for found in _objects(item))]


@pytest.mark.parametrize(("head", "cause"), [
    ({"version": 2}, "is 'tree-oracle-report' version 2; expected 'tree-oracle-report' version 1"),
    ({"format": "tree-oracle-case"}, "is 'tree-oracle-case' version 1; expected 'tree-oracle-report' version 1"),
    ({"version": "1"}, "Expected `int`, got `str` - at `$.version`"),
    ({"grade": 1}, "Expected `str`, got `int` - at `$.grade`"),
])  # fmt: skip
def test_another_format_version_or_type_is_refused(tmp_path: Path, head: dict[str, Any], cause: str) -> None:
    """The message says what the file is and what was expected."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(json.loads(to_json(SMALL)) | head), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_report(path)
    assert str(path) in str(caught.value)
    assert cause in str(caught.value)


@pytest.mark.parametrize("field", ["format", "version", "decoder", "results"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    """A file without one of its fields is refused, format and version included, by reader and schema alike."""
    plain = json.loads(to_json(SMALL))
    del plain[field]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(FileError, match=f"missing required field `{field}`"):
        read_report(path)
    with pytest.raises(jsonschema.ValidationError, match=field):
        validator("report-1.schema.json").validate(plain)


@pytest.mark.parametrize(("content", "cause"), [
    (b"", "truncated"),
    (b"\x80\x05K\x01.", "invalid"),  # a pickle
    (b'{"format": "tree-oracle-report", "version": 1, "x": ' + b"[" * 100_000, "recursion"),
    (b'{"format": "tree-oracle-report", "version": 1' + b"0" * 100_000 + b"}", "out of range"),
    (b'{"format": "\xff\xfe", "version": 1}', "utf"),
], ids=["empty", "pickle", "nested", "huge number", "not UTF-8"])  # fmt: skip
def test_what_is_no_document_is_refused_with_its_cause(tmp_path: Path, content: bytes, cause: str) -> None:
    """Bytes that are no document at all give a FileError that says why, whatever they are."""
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"(?i)not a tree-oracle-report file: .*{cause}"):
        read_report(path)


@pytest.mark.parametrize("indented", [True, False])
def test_another_document_of_ours_is_named(tmp_path: Path, indented: bool) -> None:
    """Where one document is read as another, it is said which it is, and nothing of bytes or truncation."""
    trace = b'{"kind":"trace","n":0,"format":"tree-oracle-trace","version":1}\n{"kind":"end","n":1}\n'
    report = to_json(SMALL) if indented else msgspec.json.encode(SMALL)
    (tmp_path / "trace").write_bytes(trace)
    (tmp_path / "report").write_bytes(report)
    with pytest.raises(FileError, match="trace is not a tree-oracle-report file: it is a tree-oracle-trace file"):
        read_report(tmp_path / "trace")
    with pytest.raises(FileError, match="report, line 1: .*this is a tree-oracle-report file"):
        list(TraceReader(tmp_path / "report"))


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    """One byte too many is refused with the limit in the message; at the limit the file is read."""
    path = tmp_path / "report.json"
    write_file(path, SMALL)
    size = path.stat().st_size
    assert read_report(path, max_bytes=size) == SMALL
    with pytest.raises(FileError, match=f"more than {size - 1} bytes"):
        read_report(path, max_bytes=size - 1)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    """A path that is missing or a directory gives a FileError that names it."""
    with pytest.raises(FileError, match="cannot read"):
        read_report(tmp_path / name)


@pytest.mark.parametrize("step", ["os.fdopen", "os.replace"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A crash before the last step leaves the file that was there, whole, and nothing beside it."""
    path = tmp_path / "report.json"
    write_file(path, SMALL)

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(step, full)
    with pytest.raises(OSError, match="no space left"):
        write_file(path, msgspec.structs.replace(SMALL, decoder="another"))
    monkeypatch.undo()

    assert read_report(path) == SMALL
    assert list(tmp_path.iterdir()) == [path]
