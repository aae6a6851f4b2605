"""The trace format: what is recorded is read back, every line fits the committed schema, every defect has a name and a line."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from safetensors.numpy import load as safetensors_load
from safetensors.numpy import save as safetensors_save
from trace_grounds import numbered, read_all, sealed, small_trace

from tree_oracle.checks import witness_of
from tree_oracle.record import UsageError, Work
from tree_oracle.report import make_console
from tree_oracle.report.trace import print_contents
from tree_oracle.trace import (
    ArrayFileError,
    DamagedLine,
    DuplicatedLine,
    InconsistentTrace,
    MalformedLine,
    MissingLine,
    NotATrace,
    OversizedTrace,
    Recorder,
    RecordError,
    ReorderedTrace,
    Requests,
    TraceError,
    TraceReader,
    TruncatedTrace,
    compare_traces,
    contents_of,
    find_request,
    read_arrays,
)
from tree_oracle.trace import reader as reader_module
from tree_oracle.trace.arrays import arrays_path, parse
from tree_oracle.trace.schema import FILE, schema_json

Lines = list[bytes]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_trace(tmp_path_factory.mktemp("trace") / "good.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def lines_of(path: Path) -> Lines:
    return path.read_bytes().splitlines()


tokens = st.lists(st.integers(0, 2**31 - 1), max_size=6)
numbers = npst.arrays(
    st.sampled_from(["float32", "float64", "float16"]), npst.array_shapes(min_dims=2, max_dims=2, max_side=9)
)


@given(prompt=tokens.filter(bool), emitted=tokens, rows=numbers, scores=st.booleans(), large=st.booleans())
def test_what_is_recorded_is_read_back(
    folder: Path, prompt: list[int], emitted: list[int], rows: np.ndarray, scores: bool, large: bool
) -> None:
    """Tokens, limits and every bit of every array come back, in the line or beside it; half precision is widened."""
    path = folder / "round.jsonl"
    path.unlink(missing_ok=True)
    rows = np.tile(rows, (1, 600)) if large else rows
    with Recorder(path, rows="whole", decoder="d", engine="e") as trace:
        request = trace.request(prompt, max_new_tokens=9, eos_ids=[3], stop=[[1, 2]])
        given_scores = [0.0, -np.inf] if scores else None
        trace.round(request, emitted=emitted, tokens=emitted, rows=rows, scores=given_scores, end="cap")
    (found,) = list(Requests(TraceReader(path)))
    assert (found.prompt, found.emitted, found.done) == (tuple(prompt), tuple(emitted), False)
    assert found.limits is not None
    assert (found.limits.max_new_tokens, found.limits.eos_ids, found.limits.stop) == (9, (3,), ((1, 2),))
    round_ = found.rounds[0].whole()
    assert round_.rows is not None
    back, wide = round_.rows.numpy(), rows.astype(np.float32) if rows.dtype == np.float16 else rows
    assert (back.dtype, back.shape, back.tobytes()) == (wide.dtype, wide.shape, wide.tobytes())
    assert (round_.scores is None) != scores
    assert bool(found.rounds[0].beside) == (rows.nbytes > 4096 or rows.dtype == np.float16)


def test_the_committed_schema_is_the_one_that_the_code_means(good: Path) -> None:
    """Every line that the recorder writes is valid under it, and a field that nobody knows is not."""
    schema = json.loads(schema_json())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert FILE.read_text(encoding="utf-8") == schema_json()
    validator = jsonschema.Draft202012Validator(schema)
    for line in lines_of(good):
        validator.validate(json.loads(line))
        assert not validator.is_valid(json.loads(line) | {"surprise": 1})


@given(arrays=st.dictionaries(st.sampled_from(["rows", "visible", "scores"]), npst.arrays(
    st.sampled_from(["bool", "int32", "int64", "float16", "float32", "float64"]), npst.array_shapes(min_side=0, max_side=4)), min_size=1))  # fmt: skip
def test_array_files_are_those_of_the_reference_implementation(arrays: dict[str, np.ndarray]) -> None:
    """What safetensors writes is read here bit for bit, half precision widened."""
    found = parse(safetensors_save(arrays))
    assert set(found) == set(arrays)
    for name, values in arrays.items():
        wide = values.astype(np.float32) if values.dtype == np.float16 else values
        back = found[name].numpy()
        assert (back.dtype, back.shape, back.tobytes()) == (wide.dtype, wide.shape, wide.tobytes())


def test_the_recorder_writes_files_for_the_reference_implementation(tmp_path: Path) -> None:
    """What is written beside a trace is read by safetensors bit for bit."""
    path, rows = tmp_path / "t.jsonl", np.random.default_rng(0).normal(size=(3, 900)).astype(np.float32)
    with Recorder(path, rows="whole") as trace:
        trace.round(trace.request([1]), emitted=[2], rows=rows, cache=[(np.ones((1, 2, 3)), np.zeros((1, 2, 3)))])
    found = safetensors_load(arrays_path(path, 2).read_bytes())
    assert found["rows"].tobytes() == rows.tobytes()
    assert found["cache.0.keys"].tolist() == np.ones((1, 2, 3)).tolist()
    (request,) = list(Requests(TraceReader(path)))
    cache = request.rounds[0].whole().cache
    assert cache is not None
    assert cache[0].values.shape == (1, 2, 3)


def swapped(lines: Lines) -> Lines:
    return [*lines[:3], lines[4], lines[3], *lines[5:]]


def changed(place: int, **values: object) -> Callable[[Lines], Lines]:
    """One line with other members, sealed and numbered as if it were meant."""

    def change(lines: Lines) -> Lines:
        found = list(lines)
        found[place] = json.dumps(json.loads(lines[place]) | values).encode()
        return numbered(found)

    return change


def damaged(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace(b'"emitted":[', b'"emitted":[5,'), *lines[4:]]


def hostile(content: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:3], sealed(content), *lines[4:]]


DEFECTS: dict[str, tuple[Callable[[Lines], Lines], type[TraceError], int, str]] = {
    "empty": (lambda _: [], NotATrace, 1, "no whole line|stops without"),
    "a pickle": (lambda _: [pickle.dumps([1])], NotATrace, 1, "expected the head"),
    "another format": (changed(0, format="x"), NotATrace, 1, "'x' version 1; expected 'tree-oracle-trace' version 1"),
    "another version": (changed(0, version=2), NotATrace, 1, "version 2; expected"),
    "no head": (lambda lines: lines[1:], NotATrace, 1, "is no head"),
    "no end": (lambda lines: lines[:-1], TruncatedTrace, 11, "stops without its end"),
    "a line lost": (lambda lines: [*lines[:4], *lines[5:]], MissingLine, 5, "number 4 is missing; this is 5"),
    "two lines swapped": (swapped, ReorderedTrace, 4, "number 4 stands before 3, which is line 5"),
    "a line twice": (lambda lines: [*lines[:4], *lines[3:]], DuplicatedLine, 5, "number 3 was there already"),
    "a head twice": (lambda lines: numbered([*lines[:3], lines[0], *lines[3:]]), InconsistentTrace, 4, "second head"),
    "a digit changed": (damaged, DamagedLine, 4, "checksum"),
    "behind the end": (lambda lines: numbered([*lines, lines[-1]]), InconsistentTrace, 13, "behind the end"),
    "counts that are not true": (changed(-1, rounds=7), InconsistentTrace, 12, "counts 2 requests and 7 rounds"),
    "a round of nobody": (changed(3, round={"emitted": [1], "request": 5}), InconsistentTrace, 4, "request 5 was never opened"),
    "a round after done": (changed(8, round={"emitted": [1]}), InconsistentTrace, 9, "request 0 is done"),
    "an empty prompt": (changed(1, prompt=[]), InconsistentTrace, 2, "empty prompt"),
    "a false prefix": (changed(3, round={"emitted": [1], "prefix": [1]}), InconsistentTrace, 4, "prefix is not"),
    "rank of no ranks": (changed(0, rank=1), InconsistentTrace, 1, "rank 1 of 1"),
    "a field too many": (changed(3, surprise=1), MalformedLine, 4, "unknown field `surprise`"),
    "no tokens": (changed(3, round={"emitted": ["1"]}), MalformedLine, 4, "Expected `int`, got `str`"),
    "nested": (hostile(b'{"kind":"round","x":' + b"[" * 100_000 + b"}"), MalformedLine, 4, "unknown field|(?i:recursion)"),
    "no JSON": (hostile(b'{"kind":"round",}'), MalformedLine, 4, "malformed"),
    "not UTF-8": (hostile(b'{"kind":"\xff"}'), MalformedLine, 4, "(?i)utf"),
    "a kind that is none": (changed(3, kind="eval"), MalformedLine, 4, "Invalid value 'eval'"),
    "a huge number": (hostile(b'{"kind":"done","n":3,"request":' + b"9" * 5000 + b"}"), MalformedLine, 4, "."),
    "a crc inside": (lambda lines: [*lines[:3], b'{"crc":"00000000","kind":"done","n":3,"request":0}', *lines[4:]], MalformedLine, 4, "crc is not the last member"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_has_its_name_and_line(name: str, good: Path, tmp_path: Path) -> None:
    """Truncated, reordered, doubled, damaged, hostile: each is told apart from the others, at the line where it is."""
    spoil, kind, line, said = DEFECTS[name]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"".join(part + b"\n" for part in spoil(lines_of(good))))
    with pytest.raises(TraceError, match=said) as caught:
        read_all(path)
    assert type(caught.value) is kind
    assert (caught.value.line, caught.value.path) == (line, path)
    assert f"bad.jsonl, line {line}: " in str(caught.value)


@given(data=st.data())
def test_a_file_cut_anywhere_is_truncated(good: Path, folder: Path, data: st.DataObject) -> None:
    """Wherever a trace is cut, it is never taken for whole; what came before the cut can be read."""
    whole, path = good.read_bytes(), folder / "cut.jsonl"
    cut = data.draw(st.integers(len(lines_of(good)[0]) + 1, len(whole) - 1))
    path.write_bytes(whole[:cut])
    with pytest.raises(TruncatedTrace, match="stops"):
        read_all(path)
    rounds = sum(b'"kind":"round"' in line for line in whole[:cut].split(b"\n")[:-1])
    assert read_all(path, partial=True) == rounds


def test_bounds_are_kept(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line, the open requests, their texts and the arrays of a round that are beyond the bounds are refused as too large."""
    with pytest.raises(OversizedTrace, match="line 3: more than 300 bytes in one line"):
        list(TraceReader(good, max_line=300))
    for name, value, said in (("MAX_OPEN", 0, "more than 0 requests"), ("MAX_TEXT", 4, "hold more than 4 tokens")):
        with monkeypatch.context() as bound:
            bound.setattr(reader_module, name, value)
            with pytest.raises(OversizedTrace, match=said):
                read_all(good)
    summarised = small_trace(tmp_path / "summary.jsonl", rows="summary")
    lines = [line.replace(b'"vocab":80', b'"vocab":2147483647') for line in lines_of(summarised)]
    summarised.write_bytes(b"\n".join([*numbered(lines), b""]))
    with pytest.raises(OversizedTrace, match="line 3: summary of rows that take 25769803764 bytes"):
        read_all(summarised)
    with_arrays = small_trace(tmp_path / "large.jsonl", vocab=2000)
    with pytest.raises(ArrayFileError, match="line 3: .* bytes; at most 100 are read"):
        read_arrays(with_arrays, 2, ("rows",), max_bytes=100)


ARRAY_DEFECTS: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "gone": (lambda _: None, "No such file"),
    "empty": (lambda _: b"", "a head of 0 bytes in a file of 0"),
    "a pickle": (lambda _: pickle.dumps([1, 2]), "a head of"),
    "cut": (lambda data: data[:-1], "expected bytes from"),
    "longer": (lambda data: data + b"x", "1 bytes belong to no array"),
    "a name changed": (lambda data: data.replace(b'"rows"', b'"cows"'), "holds ..cows..; the line speaks of ..rows.."),
    "a dtype changed": (lambda data: data.replace(b'"F32"', b'"F99"'), "dtype 'F99'"),
    "a shape changed": (lambda data: data.replace(b"[3,2000]", b"[3,2001]"), "cannot have 24000 bytes"),
    "an offset changed": (lambda data: data.replace(b"[0,24000]", b"[8,24000]"), "lies at 8 to 24000"),
    "a huge head": (lambda data: b"\xff" * 8 + data[8:], "a head of 18446744073709551615 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAY_DEFECTS)
def test_arrays_that_are_not_what_the_line_says_are_refused(name: str, tmp_path: Path) -> None:
    """The error says which file, which line speaks of it, and what is the matter."""
    spoil, said = ARRAY_DEFECTS[name]
    path = small_trace(tmp_path / "t.jsonl", vocab=2000)
    beside = arrays_path(path, 2)
    data = spoil(beside.read_bytes())
    beside.unlink()
    if data is not None:
        beside.write_bytes(data)
    with pytest.raises(ArrayFileError, match=rf"t\.jsonl, line 3: .*000000002\.safetensors.*{said}"):
        read_all(path)


def test_a_link_in_the_place_of_arrays_is_not_followed(tmp_path: Path) -> None:
    """Arrays lie where the trace says, and a trace cannot make the reader open another file."""
    path = small_trace(tmp_path / "t.jsonl", vocab=2000)
    beside = arrays_path(path, 2)
    beside.rename(tmp_path / "elsewhere")
    beside.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArrayFileError, match="is a link"):
        read_all(path)


@pytest.mark.parametrize("path", ["missing.jsonl", ".", "/dev/zero", "a\0b"])
def test_what_is_no_file_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a device without an end and a name that no file can have are refused before anything is read."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotATrace, match=r"cannot be read|is no regular file"):
        read_all(Path(path))


def peak(path: Path) -> int:
    """The most bytes that reading and counting a trace holds at once."""
    tracemalloc.start()
    contents_of(TraceReader(path))
    for _ in Requests(TraceReader(path)):
        pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_a_longer_trace_takes_no_more_memory(tmp_path: Path) -> None:
    """Eight times as many rounds, in as many more requests, are read within the same peak, but for a few pages."""
    short = small_trace(tmp_path / "short.jsonl", requests=10, rounds=4, rows="summary")
    long = small_trace(tmp_path / "long.jsonl", requests=80, rounds=4, rows="summary")
    assert long.stat().st_size > 7 * short.stat().st_size
    peak(short)  # what is imported or cached once
    assert peak(long) < peak(short) + 32_768


def test_traces_are_compared_field_by_field(good: Path, tmp_path: Path) -> None:
    """A trace agrees with itself under another rank and machine; one accepted token less is named with both lines."""
    other = tmp_path / "other.jsonl"
    lines = lines_of(good)
    lines[0] = json.dumps(json.loads(lines[0]) | {"rank": 1, "ranks": 2, "environment": {}}).encode()
    other.write_bytes(b"\n".join(numbered(lines)) + b"\n")
    assert compare_traces(good, other) == []
    found = json.loads(lines[3])
    found["round"]["accepted"] = [1]
    lines[3] = json.dumps(found).encode()
    other.write_bytes(b"\n".join(numbered(lines)) + b"\n")
    (difference,) = compare_traces(good, other)
    assert (difference.lines, difference.what, difference.field) == ((4, 4), "a round of request 0", "accepted")
    assert difference.values == ("(1, 2)", "(1,)")
    other.write_bytes(b"\n".join([*lines_of(good)[:5], b""]))
    assert [one.values for one in compare_traces(good, other, partial=True)] == [("done", "nothing")]


def test_contents_are_counted(good: Path) -> None:
    """Requests, rounds, tokens and what the rounds show, as they were written."""
    found = contents_of(TraceReader(good))
    assert (found.complete, found.requests, found.done, found.rounds, found.control) == (True, 2, 2, 6, 3)
    assert (found.emitted, found.drafted, found.accepted) == (12, 6, 6)
    assert found.shown == {"tokens": 6, "parents": 6, "accepted": 6, "rows": 6, "scores": 6, "visible": 3}
    assert find_request(TraceReader(good), 1).control
    with pytest.raises(UsageError, match="no request 2: the trace holds 2"):
        find_request(TraceReader(good), 2)


def edited(path: Path, place: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The first line that has such a place, with this value there, in a trace that is otherwise as it was."""
    lines = lines_of(path)
    for number, text in enumerate(lines):
        line = json.loads(text)
        found = line
        for name in place[:-1]:
            found = found.get(name) or {}
        if place[-1] in found:
            found[place[-1]] = value
            lines[number] = json.dumps(line).encode()
            path.write_bytes(b"\n".join(numbered(lines)) + b"\n")
            return dict(line)
    raise AssertionError(place)


# What nobody can ask for or count, by its place; in between the largest and the smallest that somebody can.
RANGES: dict[tuple[str, ...], tuple[list[Any], list[Any]]] = {
    ("prompt",): ([[-3], [2**31], [2**70]], [[0], [2**31 - 1]]),
    ("limits", "max_new_tokens"): ([-4, 2**70], [0, 2**53]),
    ("limits", "max_length"): ([-1, 2**70], [0]),
    ("limits", "min_new"): ([-1, 2**70], [0]),
    ("limits", "eos_ids"): ([[-1], [2**31]], [[], [0]]),
    ("limits", "stop"): ([[[-1]], [[2**31]], [[]]], [[[0]]]),
    ("request",): ([-1, 2**70], [0]),
    ("n",): ([-1, 2**70], []),
    ("rank",): ([-1, 2**70], [0]),
    ("ranks",): ([0, -1, 2**70], [1]),
    ("round", "emitted"): ([[2**70], [-(2**70)]], [[2**31]]),
    ("round", "tokens"): ([[2**70]], [[-1]]),
    ("round", "parents"): ([[-(2**70)]], [[-2]]),
    ("round", "bonus"): ([2**70], [-1]),
    ("round", "positions"): ([[2**70]], [[-1]]),
    ("round", "started_ns"): ([2**70], [-1]),
    ("round", "request"): ([-1, 2**70], [0]),
    ("round", "work", "rounds"): ([-1, 2**70], [0]),
    ("round", "work", "drafted"): ([-1], [0]),
    ("round", "work", "accepted"): ([-1], [0]),
    ("round", "work", "target_passes"): ([-1], [0]),
}


@pytest.mark.parametrize("place", RANGES, ids=".".join)
def test_an_integer_that_cannot_be_is_refused(tmp_path: Path, place: tuple[str, ...]) -> None:
    """Tokens, limits and counts outside their range are refused with the place by the reader, and by the schema; the least and
    the largest are read, and what a decoder answered is read as it is, for a judge to name."""
    validator = jsonschema.Draft202012Validator(json.loads(schema_json()))
    wrong, right = RANGES[place]
    for number, value in enumerate([*wrong, *right]):
        path = tmp_path / f"{number}.jsonl"
        with Recorder(path) as trace:
            request = trace.request([1], max_new_tokens=4, eos_ids=[2], max_length=9, stop=[[3]], min_new=1)
            work = {"rounds": 1, "drafted": 1, "accepted": 1, "target_passes": 1}
            trace.round(
                request,
                emitted=[2],
                tokens=[1],
                parents=[-1],
                positions=[0],
                accepted=[],
                bonus=2,
                started_ns=1,
                work=work,
            )
        if place == ("n",):
            line = json.loads(lines_of(path)[1]) | {"n": value}
            path.write_bytes(b"\n".join([lines_of(path)[0], sealed(json.dumps(line).encode()), b""]))
        else:
            line = edited(path, place, value)
        assert validator.is_valid(line) == (value in right)
        if value in right:
            assert read_all(path) == 1
        else:
            with pytest.raises((MalformedLine, NotATrace), match=r"Expected .* - at `\$\." + r"\.".join(place)):
                read_all(path)


@pytest.mark.parametrize(("asked", "said"), [
    ({"prompt": [-3]}, r"prompt holds -3; expected tokens from 0 to 2147483647"),
    ({"prompt": [2**70]}, r"prompt holds 1180591620717411303424; expected"),
    ({"eos_ids": [-1]}, "eos_ids holds -1"), ({"stop": [[1, 2**31]]}, "stop holds 2147483648"),
    ({"max_new_tokens": -4}, "max_new_tokens is -4; expected 0 to"), ({"max_length": -1}, "max_length is -1"),
    ({"min_new": -1}, "min_new is -1"),
])  # fmt: skip
def test_the_recorder_refuses_what_no_reader_takes(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    """A request that cannot be asked for is refused where it is recorded, and the trace goes on without it."""
    with Recorder(tmp_path / "t.jsonl") as trace:
        with pytest.raises(RecordError, match=said):
            trace.request(**{"prompt": [1], "max_new_tokens": 3, **asked})
        trace.round(trace.request([0, 2**31 - 1], max_new_tokens=0, max_length=0), emitted=[])
    assert read_all(tmp_path / "t.jsonl") == 1


BAD_VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "no emitted": ({"tokens": [1]}, "a round without emitted"),
    "unknown": ({"emitted": [], "tokns": [1]}, "a round has no field 'tokns'; it has emitted, tokens"),
    "a float": ({"emitted": [1.5]}, r"emitted is \[1.5\]; expected a flat list of integers"),
    "text": ({"emitted": "12"}, "emitted is '12'"),
    "nested": ({"emitted": [[1]]}, "expected a flat list"),
    "ragged": ({"emitted": [], "rows": [[1.0], [1.0, 2.0]]}, r"rows is ragged: lists of \[1, 2\]"),
    "no numbers": ({"emitted": [], "scores": ["x"]}, "expected numbers in lists"),
    "another dtype": ({"emitted": [], "visible": np.ones((1, 1), np.uint8)}, "visible has dtype uint8; expected one of bool"),
    "flat rows": ({"emitted": [], "rows": [1.0]}, r"rows have shape \(1,\)"),
    "a bonus of text": ({"emitted": [], "bonus": "x"}, "bonus is 'x'; expected an integer"),
    "too large": ({"emitted": [2**70]}, "emitted holds 1180591620717411303424; expected integers of 64 bits"),
    "a counter below 0": ({"emitted": [], "work": {"drafted": -4}}, "work.drafted is -4; expected 0 to"),
    "counters of text": ({"emitted": [], "work": {"rounds": "x"}}, "work is .*; expected a dict of whole numbers"),
    "an unknown counter": ({"emitted": [], "work": {"acepted": 1}}, "work has no count 'acepted'; it has rounds, drafted"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_value_that_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    """The recorder says which field and what was expected, and the trace goes on as if nothing had been asked."""
    values, said = BAD_VALUES[name]
    with Recorder(tmp_path / "t.jsonl") as trace:
        request = trace.request([1])
        with pytest.raises(RecordError, match=said):
            trace.round(request, **values)
        trace.round(request, emitted=[2])
    assert read_all(tmp_path / "t.jsonl") == 1


def test_counters_are_recorded(tmp_path: Path) -> None:
    """What a decoder counts is read back as the round's stated work, and is a witness where its tokens alone are shown."""
    path = tmp_path / "t.jsonl"
    with Recorder(path) as trace:
        trace.round(trace.request([1]), emitted=[2, 3, 4], work={"rounds": 1, "drafted": np.int64(5), "accepted": 2})
    ((found,),) = [[one.round for one in request.rounds] for request in Requests(TraceReader(path))]
    assert found.work == Work(rounds=1, drafted=5, accepted=2)
    assert witness_of([found]).drafted == 5


def test_a_recorder_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    """Another trace is never overwritten, options are checked, and a closed trace stays as it is."""
    path = tmp_path / "t.jsonl"
    trace = Recorder(path)
    with pytest.raises(FileExistsError):
        Recorder(path)
    trace.close()
    with pytest.raises(RecordError, match=r"t\.jsonl is closed"):
        trace.request([1])
    with pytest.raises(RecordError, match="rows is 'all'; expected 'summary' or 'whole'"):
        Recorder(tmp_path / "u.jsonl", rows="all")
    with pytest.raises(RecordError, match="rank is 2 of 2; expected 0 to 1"):
        Recorder(tmp_path / "u.jsonl", rank=2, ranks=2)
    assert read_all(path) == 0
    with Recorder(tmp_path / "v.jsonl", rank=1, ranks=2) as ranked:
        assert ranked.path.endswith("v-rank1.jsonl")


def record_and_crash(path: Path) -> None:
    with Recorder(path) as trace:
        trace.round(trace.request([1]), emitted=[2])
        raise ZeroDivisionError


def test_a_crash_leaves_what_came_before(tmp_path: Path) -> None:
    """A block that is left by an exception writes no end: the trace is one that broke off, and every round is there."""
    path = tmp_path / "t.jsonl"
    with pytest.raises(ZeroDivisionError):
        record_and_crash(path)
    with pytest.raises(TruncatedTrace, match="stops without its end"):
        read_all(path)
    assert read_all(path, partial=True) == 1


def test_names_in_a_trace_do_not_act_on_a_terminal(tmp_path: Path) -> None:
    """What a trace says of itself is shown on its own line, with every control and mark of direction spelled out."""
    recorder = Recorder(
        str(tmp_path / "t.jsonl"), decoder="a\x1b[31m\u202eb", environment={"os\nwhole      yes": "x\ny"}
    )
    recorder.close()
    with StringIO() as page:
        print_contents(make_console(page, width=100), contents_of(TraceReader(tmp_path / "t.jsonl")))
        shown = page.getvalue()
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "a\\u001b[31m\\u202eb" in shown
    assert sum(line.startswith("whole") for line in shown.splitlines()) == 1
