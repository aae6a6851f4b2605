"""What a run comes to: statuses combine, reports count, exit codes follow, and what is written down is what was seen."""

from __future__ import annotations

from hashlib import sha256
from itertools import permutations

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from tree_oracle.record import (
    AdapterError,
    Array,
    Case,
    CheckResult,
    FileError,
    Level,
    Limits,
    Report,
    Status,
    TreeData,
    case_id,
    worst,
)

AGAINST = (Status.FAILED, Status.ERROR, Status.UNDECIDED)
SILENT = (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
statuses = st.sampled_from(list(Status))


@st.composite
def results(draw: st.DrawFn) -> tuple[CheckResult, ...]:
    """Results of up to eight checks on rungs 0 to 5, of both levels and every status."""
    triples = draw(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(list(Level)), statuses), max_size=8))
    return tuple(
        CheckResult(check=f"X-{i}", law="", rung=rung, level=level, status=status)
        for i, (rung, level, status) in enumerate(triples)
    )


def report(found: tuple[CheckResult, ...], required: int | None = None) -> Report:
    return Report(decoder="d", target="t", grade="A", results=found, required=required)


def musts(found: tuple[CheckResult, ...], up_to: int = 5) -> list[Status]:
    return [r.status for r in found if r.level is Level.MUST and r.rung <= up_to]


def holds(found: tuple[CheckResult, ...], rung: int) -> bool:
    """A rung is held if a check of it passed and nothing on it or below it speaks against it."""
    here = {r.status for r in found if r.level is Level.MUST and r.rung == rung}
    return Status.PASSED in here and not set(musts(found, rung)) & set(AGAINST)


@given(st.lists(statuses, max_size=6))
def test_one_status_stands_for_many_cases(found: list[Status]) -> None:
    """A failure outweighs an error, an error doubt, and doubt a pass; a pass outweighs only silence."""
    ranked = [*AGAINST, Status.PASSED, *SILENT]
    strongest = next((status for status in ranked if status in found), Status.NOT_APPLICABLE)
    assert worst(found) is strongest


@given(st.lists(statuses, max_size=4), st.integers(1, 1000))
def test_order_and_number_of_cases_do_not_matter(found: list[Status], times: int) -> None:
    """Neither the order of cases nor a thousand repetitions of one changes what stands for them."""
    assert {worst(order) for order in permutations(found)} == {worst(found)}
    assert worst(found + found[:1] * times) is worst(found)


@given(results())
def test_all_six_statuses_are_counted(found: tuple[CheckResult, ...]) -> None:
    """Every status has a count, zeros included, and every check is counted once."""
    counts = report(found).counts
    assert list(counts) == list(Status)
    assert sum(counts.values()) == len(found)
    assert all(counts[status] == [r.status for r in found].count(status) for status in Status)


@given(results())
def test_the_rungs_held_and_broken_are_those_of_the_definition(found: tuple[CheckResult, ...]) -> None:
    """Strongest held is the highest rung held by definition, weakest broken the lowest on which a must check failed."""
    held = [rung for rung in range(6) if holds(found, rung)]
    broken = [r.rung for r in found if r.level is Level.MUST and r.status is Status.FAILED]
    assert report(found).held == (held[-1] if held else None)
    assert report(found).broken == min(broken, default=None)


@given(results(), st.none() | st.integers(0, 5))
def test_the_exit_code_is_a_function_of_the_results(found: tuple[CheckResult, ...], required: int | None) -> None:
    """1: a must check failed. 3: one is in error. 0: the rung asked for, or the highest that was seen, is held. Else 4."""
    seen = [r.rung for r in found if r.level is Level.MUST and r.status not in SILENT]
    asked = required if required is not None else max(seen, default=0)
    if Status.FAILED in musts(found):
        expected = 1
    elif Status.ERROR in musts(found):
        expected = 3
    else:
        expected = 0 if any(holds(found, rung) for rung in range(asked, 6)) else 4
    assert report(found, required).exit_code == expected


@given(results(), st.none() | st.integers(0, 5))
def test_no_evidence_is_not_a_pass(found: tuple[CheckResult, ...], required: int | None) -> None:
    """Exit code 0 needs a must check that passed, and silence never turns another exit code into 0."""
    code = report(found, required).exit_code
    assert code != 0 or Status.PASSED in musts(found)
    silent = [
        CheckResult(check="Y", law="", rung=rung, level=Level.MUST, status=s) for rung in range(6) for s in SILENT
    ]
    assert report((*found, *silent), required).exit_code == code
    assert report(tuple(silent), required).exit_code == 4
    assert report((), required).exit_code == 4


@given(results(), st.sampled_from(AGAINST), st.integers(0, 5))
def test_only_must_checks_decide(found: tuple[CheckResult, ...], status: Status, rung: int) -> None:
    """A should check changes neither the exit code nor a rung; a must check against the decoder forbids exit code 0."""
    code, held = report(found).exit_code, report(found).held
    extra = CheckResult(check="Y", law="", rung=rung, level=Level.SHOULD, status=status)
    assert (report((*found, extra)).exit_code, report((*found, extra)).held) == (code, held)
    assert report((*found, msgspec.structs.replace(extra, level=Level.MUST))).exit_code != 0


DTYPES = ("bool", "int32", "int64", "float32", "float64")


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Arrays of any recordable dtype made of any bits: NaNs with payloads, negative zeros, subnormals."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    size = int(np.prod(shape)) * dtype.itemsize
    data = draw(st.binary(min_size=size, max_size=size))
    if dtype == np.bool_:
        data = bytes(byte & 1 for byte in data)
    return np.frombuffer(data, dtype).reshape(shape)


@given(arrays())
def test_an_array_keeps_every_bit(values: np.ndarray) -> None:
    """Through the record and through JSON an array keeps dtype, shape and bits, whatever a NaN carries."""
    kept = msgspec.json.decode(msgspec.json.encode(Array.of(values)), type=Array)
    assert kept == Array.of(values)
    again = kept.numpy()
    assert (again.dtype, again.shape, again.tobytes()) == (values.dtype, values.shape, values.tobytes())
    assert not again.flags.writeable


@given(arrays())
def test_storage_does_not_matter_to_an_array(values: np.ndarray) -> None:
    """Transposed, strided and big-endian arrays are recorded as the values they hold."""
    expected = values.T.copy().tobytes()
    assert Array.of(values.T).data == expected
    assert Array.of(values.T.astype(values.dtype.newbyteorder(">"))).data == expected
    if values.ndim:
        assert Array.of(values[::-1]).data == values[::-1].copy().tobytes()


def test_an_array_that_is_none_is_refused() -> None:
    """Other dtypes are refused on the way in, and a shape that does not fit its bytes on the way out."""
    for dtype in ("float16", "int8", "uint64", "complex64", "U1", "O"):
        with pytest.raises(AdapterError, match="cannot be recorded; expected one of bool, int32"):
            Array.of(np.zeros(2, dtype))
    for broken, message in (
        (Array("float32", (3,), bytes(8)), r"shape \(3,\) and dtype float32 cannot have 8 bytes"),
        (Array("float32", (-1, -2), bytes(8)), "cannot have 8 bytes"),
        (Array("object", (1,), bytes(8)), "dtype 'object' is not one of bool"),
    ):
        with pytest.raises(FileError, match=message):
            broken.numpy()


small = st.integers(0, 3)


@st.composite
def some_cases(draw: st.DrawFn) -> Case:
    tree = st.lists(small, max_size=2).map(lambda t: TreeData((0, *t), (-1, *range(len(t)))))
    limits = st.builds(Limits, small, st.lists(small, max_size=1).map(tuple), st.none() | small)
    return Case(
        prefix=tuple(draw(st.lists(small, min_size=1, max_size=3))),
        trees=tuple(draw(st.lists(tree, max_size=2))),
        limits=draw(st.none() | limits),
        rows=draw(st.none() | small.map(lambda n: Array.of(np.full(2, n)))),
        note=draw(st.sampled_from(["", "a note"])),
    )


@given(some_cases(), some_cases())
def test_a_case_is_known_by_its_input(one: Case, other: Case) -> None:
    """The id is independent of the note and differs wherever anything else does."""
    assert case_id(msgspec.structs.replace(one, note="another")) == case_id(one)
    assume(msgspec.structs.replace(one, note="") != msgspec.structs.replace(other, note=""))
    assert case_id(one) != case_id(other)


def test_a_case_has_the_same_id_everywhere() -> None:
    """The id is the hash of a text that is written down here: a report from elsewhere names the same input."""
    case = Case(prefix=(1, 2), trees=(TreeData((2, 5), (-1, 0)),), limits=Limits(4, (9,)), note="any")
    text = '{"prefix":[1,2],"trees":[{"tokens":[2,5],"parents":[-1,0]}],"limits":{"max_new_tokens":4,"eos_ids":[9]}}'
    assert case_id(case) == sha256(text.encode()).hexdigest()[:12] == "0888d72df6c7"
