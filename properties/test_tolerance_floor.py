"""A floor from a tolerance report: of this very target, or refused by name; what the report does not know, the checks do not."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle import ReferenceDecoder, check_decoder, conformance
from tree_oracle.checks import choose
from tree_oracle.cli import main
from tree_oracle.faults.rounding import find_number_fault
from tree_oracle.numerics import (
    Found,
    Sweep,
    ToleranceReport,
    Verdict,
    WrongFloor,
    floor_from,
    read_tolerance,
    run_sweep,
)
from tree_oracle.numerics.weights import weights_of
from tree_oracle.record import Case, Noise, Report, Status, TreeData, UsageError, write_file
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.run.environment import place
from tree_oracle.target import Target, load_target
from tree_oracle.target.sequential_noise import measure_noise

pytestmark = pytest.mark.sweep

SPEC = "tiny:llama"
SWEEP = Sweep(
    targets=(SPEC,), device="cpu", dtypes=("float32",), kernels=("sdpa",), widths=(12,), batches=(1,), prefixes=(9,), rows=24
)  # fmt: skip


@cache
def measured() -> ToleranceReport:
    """One cell, measured once."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return run_sweep(SWEEP, Path(folder) / "here.json", place("cpu"))


@cache
def target() -> Target:
    return load_target(SPEC)


def kept(folder: Path, report: ToleranceReport) -> Path:
    write_file(folder / "here.json", report)
    return folder / "here.json"


def changed(**cell: Any) -> ToleranceReport:
    """The report with other facts of its cell."""
    (found,) = measured().cells
    own = {name: cell.pop(name) for name in list(cell) if name not in found.cell.__struct_fields__}
    new = msgspec.structs.replace(found, cell=msgspec.structs.replace(found.cell, **cell), **own)
    return msgspec.structs.replace(measured(), cells=(new,))


def test_a_report_gives_its_figures_and_says_where_they_are_from(tmp_path: Path) -> None:
    """Error, floor, effect and number of controls are those of the cell; file, size, code and weights are named."""
    path, (found,) = kept(tmp_path, measured()), measured().cells
    assert found.figures is not None
    rule, noise = found.figures.tolerance, floor_from(path, target())
    assert (noise.sequential, noise.control, noise.samples) == (rule.sequential, rule.floor, rule.controls)
    assert noise.allowed == found.allowed
    assert noise.wrong_history == min(effect.smallest for effect in found.figures.effects.values())
    assert noise.has_power
    assert not noise.powerless
    for said in ("here.json", "width 12 batch 1 prefix 9", found.weights[:12]):
        assert said in noise.origin
    assert str(tmp_path) not in noise.origin


REFUSED: dict[str, tuple[Callable[[], ToleranceReport], str]] = {
    "weights": (lambda: changed(weights="0" * 64), "another target: weights 000000000000 there, [0-9a-f]{12} of tiny:llama"),
    "older": (lambda: changed(weights=""), "of an older release"),
    "dtype": (lambda: changed(dtype="bfloat16"), "dtype bfloat16 there, float32"),
    "kernel": (lambda: changed(kernel="eager"), "kernel eager there, sdpa"),
    "cache": (lambda: changed(cache="fp8"), "cache fp8 there, dynamic of tiny:llama here"),
    "device": (lambda: environment(kind="cuda"), "another device: kind 'cuda' there, 'cpu' here"),
    "processor": (lambda: environment(capability="MMX"), "capability 'MMX' there"),
    "nowhere": (lambda: msgspec.structs.replace(measured(), environment={}), "kind 'not said' there"),
    "fault": (
        lambda: msgspec.structs.replace(measured(), sweep=msgspec.structs.replace(SWEEP, fault="row-shared-scale")),
        "a planted fault, row-shared-scale",
    ),
    "unmeasured": (
        lambda: changed(verdict=Verdict.UNMEASURED, weights="", figures=None, reason="out of memory"),
        "measured nothing of tiny:llama here: out of memory",
    ),
    "no control": (lambda: figures(controls=0), "controls 0; expected how many rows were measured, at least 1"),
    "fewer than none": (lambda: figures(controls=-1), "controls -1"),
    "a negative error": (lambda: figures(sequential=-1.0), "sequential -1.0; expected 0 or more logits"),
    "an endless error": (lambda: figures(sequential=1e308), "sequential 1e\\+308; expected 0 or more"),
    "another rule": (lambda: figures(allowed=1e3), "allowed 1000.0; expected 2 x"),
    "cut": (lambda: msgspec.structs.replace(measured(), complete=False), "is not whole: its sweep was cut"),
    "empty": (lambda: msgspec.structs.replace(measured(), cells=()), "dtype none there"),
}  # fmt: skip


def figures(**rule: float) -> ToleranceReport:
    (found,) = measured().cells
    assert found.figures is not None
    own = msgspec.structs.replace(found.figures.tolerance, **rule)
    return changed(figures=msgspec.structs.replace(found.figures, tolerance=own))


def environment(**facts: str) -> ToleranceReport:
    return msgspec.structs.replace(measured(), environment=measured().environment | facts)


@pytest.mark.parametrize("what", REFUSED)
def test_a_report_of_something_else_is_refused_by_what_differs(tmp_path: Path, what: str) -> None:
    """Weights, dtype, kernel and place each have to be those of the target; the message names both sides."""
    made, message = REFUSED[what]
    with pytest.raises(WrongFloor, match=message):
        floor_from(kept(tmp_path, made()), target())


def test_the_digest_is_of_the_numbers() -> None:
    """The same target has one digest; another seed, dtype or a single changed weight has another, another name has not."""
    one = weights_of(target())
    assert one == weights_of(load_target(SPEC))
    moved = load_target(SPEC)
    next(moved.model.parameters()).data.view(-1)[0] += 1
    others = [load_target(f"{SPEC}:seed=1"), target().in_dtype("float64"), moved]
    assert len({one, *map(weights_of, others)}) == 4


CELLS = st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(0, 9), st.integers(1, 99))


@given(cells=st.lists(CELLS, min_size=1, max_size=4), bad=st.sampled_from([None, "overlap", "infeasible"]))
def test_cells_of_several_sizes_are_taken_together(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[float, float, float, int]], bad: str | None
) -> None:
    """The largest error and change, the smallest effect, all controls; one cell without a number leaves none."""
    (found,) = measured().cells
    assert found.figures is not None
    made: list[Found] = []
    for at, (sequential, floor, effect, controls) in enumerate(cells):
        rule = msgspec.structs.replace(
            found.figures.tolerance, sequential=sequential, floor=floor, controls=controls, allowed=2 * sequential + floor
        )  # fmt: skip
        effects = {"token": msgspec.structs.replace(found.figures.effects["token"], smallest=effect)}
        figures = msgspec.structs.replace(found.figures, tolerance=rule, effects=effects)
        size = msgspec.structs.replace(found.cell, width=9 + at)
        made.append(msgspec.structs.replace(found, cell=size, figures=figures, verdict=Verdict.USABLE))
    if bad is not None:
        made[-1] = msgspec.structs.replace(made[-1], verdict=Verdict(bad), reason="as it is")
    report = msgspec.structs.replace(measured(), cells=tuple(made))
    noise = floor_from(kept(tmp_path_factory.mktemp("cells"), report), target())
    columns = list(zip(*cells, strict=True))
    assert (noise.sequential, noise.control) == (max(columns[0]), max(columns[1]))
    assert (noise.wrong_history, noise.samples) == (min(columns[2]), sum(columns[3]))
    assert bool(noise.unusable) is (bad is not None)
    if bad is not None:
        assert noise.powerless == f"the tolerance report has no number for {made[-1].cell.name}: {bad}: as it is"


CASES = [
    Case(prefix=(1, 2, 3), trees=(TreeData((3, 4, 5, 6), (-1, 0, 0, 1)),)),
    Case(prefix=(9,), trees=(TreeData((9, 8, 7), (-1, 0, 1)),)),
]


def judged(path: Path, *checks: str) -> Report:
    subject = make_subject(ReferenceDecoder, target(), tolerance=path)
    return run_battery(subject, choose(ids=checks), Budget(cases=0, shrink_runs=0), cases=CASES)


def test_the_checks_judge_by_the_floor_of_the_report(tmp_path: Path) -> None:
    """With it the reference passes, and the report of the run says from how many control rows and where; a floor of 0 fails it."""
    report = judged(kept(tmp_path, measured()), "NUMERIC-01")
    assert [result.status for result in report.results] == [Status.PASSED], str(report)
    assert "; measured in here.json at width 12" in report.environment["floor"]
    (found,) = measured().cells
    assert found.figures is not None
    rule = msgspec.structs.replace(found.figures.tolerance, sequential=0.0, floor=0.0, allowed=0.0)
    none = changed(figures=msgspec.structs.replace(found.figures, tolerance=rule))
    (numeric,) = judged(kept(tmp_path, none), "NUMERIC-01").results
    assert numeric.status is Status.UNDECIDED
    assert numeric.reason.startswith("infeasible: the plain pass itself is off by")


def test_a_cell_without_a_number_decides_nothing(tmp_path: Path) -> None:
    """Where the report says that noise and faults overlap, rows that agree are no evidence, and the reason is the report's."""
    report = judged(kept(tmp_path, changed(verdict=Verdict.OVERLAP, reason="they overlap")), "NUMERIC-01", "HISTORY-01")
    for result in report.results:
        assert result.status is Status.UNDECIDED
        assert (
            "no number for tiny:llama cpu float32 sdpa width 12 batch 1 prefix 9: overlap: they overlap"
            in result.reason
        )


@pytest.mark.parametrize("verdict", [Verdict.USABLE, Verdict.NOT_ROUNDING], ids=["of an older release", "of this one"])
def test_a_fault_makes_no_room_for_itself(tmp_path: Path, verdict: Verdict) -> None:
    """A report in which a sign shows leaves the checks no floor, and the reason names the sign."""
    path = kept(tmp_path, changed(verdict=verdict, signs=("width",), reason="0.04 logits"))
    noise = floor_from(path, target())
    assert not noise.has_power
    assert f"sdpa width 12 batch 1 prefix 9: {verdict.value} [width]: 0.04 logits" in noise.powerless
    assert read_tolerance(path).cells[0].allowed is None


DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"


@pytest.mark.parametrize("model", ["gemma3", *(["llama", "mixtral"] if DEEP else [])])
@pytest.mark.parametrize("name", ["half-precision-state", *(["width-dependent-rounding"] if DEEP else [])])
def test_a_fault_makes_no_room_on_the_spot(model: str, name: str) -> None:
    """Without a report too: the floor of a faulty target is unusable and says so, and its twin's is not."""
    right, fault = load_target(f"tiny:{model}"), find_number_fault(name)
    reference = right.in_dtype("float64")
    planted, twin = (measure_noise(one, reference) for one in (fault.planted(right), fault.harmless(right)))
    assert not planted.has_power
    assert "that is not rounding, and a floor from it would make room for the fault" in planted.powerless
    assert not twin.unusable


def test_every_door_takes_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line and pytest hand it on; a report of another target is an error of usage at each, and so is no path."""
    monkeypatch.chdir(tmp_path)
    path = kept(tmp_path, measured())
    run = ["check", "--target", SPEC, "--check", "NUMERIC-02", "--cases", "0", "--tolerance", str(path)]
    shown = CliRunner().invoke(main, run)
    assert "measured in here.json" in shown.output.replace("\n", " ")
    assert "not width-invariant" in shown.output.replace("\n", " ")
    refused = CliRunner().invoke(main, [*run, "--dtype", "bfloat16"])
    assert refused.exit_code == 2, refused.output
    assert "here.json is of another target" in refused.output
    refused = CliRunner().invoke(main, [*run[:-1], "nowhere.json"])
    assert (refused.exit_code, "tolerance 'nowhere.json' is no file" in refused.output) == (2, True)
    monkeypatch.setattr(conformance.DEFAULTS, "target", SPEC)
    monkeypatch.setattr(conformance.DEFAULTS, "tolerance", path)
    assert (
        "here.json" in conformance.TestedDecoder(ReferenceDecoder, None, cases=0).battery.subject.truth.noise().origin
    )
    own = conformance.TestedDecoder(ReferenceDecoder, load_target(SPEC), cases=0).battery.subject.truth.noise()
    assert own.origin == Noise().origin == "measured on the spot"  # the option is about the target that options name
    with pytest.raises(UsageError, match="tolerance is 3; expected the path of a tolerance report"):
        check_decoder(ReferenceDecoder, tolerance=3)  # type: ignore[arg-type]
