"""Comparing two reports: every check is of one kind, both ways round, and no gain is claimed between runs that differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from report_grounds import FAILING, HOLDING, LEAK, report, reports, result, storable
from syrupy.assertion import SnapshotAssertion

from tree_oracle.cli import main
from tree_oracle.record import FileError, Ledger, Level, Report, Status, ToleranceFile, Witness, to_json, write_file
from tree_oracle.record.installed import FILES
from tree_oracle.report.compare import Comparison, Kind, compare

BAD = {Status.FAILED, Status.ERROR}
MIRROR = {
    Kind.FIXED: Kind.BROKEN,
    Kind.BROKEN: Kind.FIXED,
    Kind.LOST: Kind.GAINED,
    Kind.GAINED: Kind.LOST,
    Kind.NEWLY_FAILING: Kind.HIDDEN,
    Kind.HIDDEN: Kind.NEWLY_FAILING,
}


def names(found: Comparison, kind: Kind) -> set[str]:
    return {change.check for change in found.of(kind)}


@given(report=reports())
def test_a_report_differs_in_nothing_from_itself(report: Report) -> None:
    """Compared with itself nothing changed and nothing is worse, whatever failed in it."""
    found = compare(report, report)
    assert {change.before for change in found.changes} == {change.after for change in found.changes}
    assert (found.figures, found.outcomes_lost, found.worse) == ((), (), False)
    assert found.same is bool(report.digest)  # without a digest nobody knows that the cases are the same


@given(before=reports(), after=reports())
def test_swapping_the_reports_swaps_the_kinds(before: Report, after: Report) -> None:
    """What is fixed one way is broken the other way, and so are lost and gained; each check is of exactly one kind."""
    there, back = compare(before, after), compare(after, before)
    for kind in Kind:
        assert names(there, kind) == names(back, MIRROR.get(kind, kind))
    assert {*there.outcomes_lost, *there.outcomes_strayed} == set(back.outcomes_gained)
    assert not set(there.outcomes_lost) & set(there.outcomes_strayed)
    checks = [change.check for change in there.changes]
    assert sorted(checks) == sorted({one.check for one in (*before.results, *after.results)})


@given(before=reports(), after=reports())
def test_a_loss_is_never_a_mend(before: Report, after: Report) -> None:
    """Only a check that failed and now passes is fixed; one that passed and is now blank is lost, and worse if it is a must."""
    old, new = ({one.check: one for one in found.results} for found in (before, after))
    found = compare(before, after)
    for check in names(found, Kind.FIXED):
        assert old[check].status in BAD
        assert new[check].status is Status.PASSED
    passed = {check for check, one in old.items() if one.status is Status.PASSED}
    seen = {check for check, one in new.items() if one.status in BAD | {Status.PASSED}}
    assert names(found, Kind.LOST) == passed - seen
    must = {change.check for change in found.changes if change.level is Level.MUST}
    worse = names(found, Kind.BROKEN) | names(found, Kind.NEWLY_FAILING) | names(found, Kind.LOST)
    assert found.exit_code == (1 if worse & must or found.outcomes_lost else 0)


def faster(**more: Any) -> Report:
    """The same run with better acceptance, and with other differences."""
    own = Witness(8, 24, 14, 22, (8, 6), (8, 8))
    return msgspec.structs.replace(HOLDING, **({"own": own} | more))


def test_figures_of_equal_work_are_set_side_by_side() -> None:
    """Acceptance is compared where the same cases were judged in the same place by the same code."""
    found = compare(HOLDING, faster())
    assert found.obstacles == ()
    assert [(figure.name, figure.before, figure.after) for figure in found.figures] == [
        ("tokens per round", "2.250 (18/8)", "2.750 (22/8)"),
        ("accepted at position 1", "75.0 % (6/8)", "100.0 % (8/8)"),
        ("accepted at position 2", "50.0 % (4/8)", "75.0 % (6/8)"),
    ]


@pytest.mark.parametrize(("more", "obstacle"), [
    ({"target": "tiny:qwen3"}, "target: exact before, tiny:qwen3 after"),
    ({"digest": "cd" * 32}, f"cases (digest): {'ab' * 32} before, {'cd' * 32} after"),
    ({"seed": 7}, "seed: not said before, 7 after"),
    ({"tolerance": ToleranceFile("t.json", "cd" * 32)}, f"tolerance report (digest): none before, {'cd' * 32} after"),
    ({"grade": "C"}, "grade of truth: A before, C after"),
    ({"environment": HOLDING.environment | {"dtype": "bfloat16"}}, "dtype: float32 before, bfloat16 after"),
    ({"environment": HOLDING.environment | {"device": "cuda:0"}}, "device: cpu before, cuda:0 after"),
    ({"environment": HOLDING.environment | {"attention": "eager"}}, "attention: not said before, eager after"),
    ({"environment": HOLDING.environment | {FILES: "00"}}, "tree-oracle files: not said before, 00 after"),
    ({"results": HOLDING.results[1:]}, "work of POSITION-01: 10 cases through open before, nothing after"),
    ({"results": (result("POSITION-01", cases=3), *HOLDING.results[1:])},
     "work of POSITION-01: 10 cases through open before, 3 cases through open after"),
    ({"results": (result("POSITION-01", seams=("tap",)), *HOLDING.results[1:])},
     "work of POSITION-01: 10 cases through open before, 10 cases through tap after"),
], ids=["target", "cases", "seed", "floor", "grade", "dtype", "device", "attention", "code", "a check", "fewer cases", "a seam"])  # fmt: skip
def test_no_gain_is_claimed_between_runs_that_differ(more: dict[str, Any], obstacle: str) -> None:
    """A better figure of another run is not shown, and the difference that forbids it is named with both values."""
    found = compare(HOLDING, faster(**more))
    assert found.figures == ()
    assert found.obstacles == (obstacle,)


def test_runs_without_a_digest_are_not_compared() -> None:
    """That two reports both keep silent about their cases does not make the cases equal."""
    silent = msgspec.structs.replace(HOLDING, digest="")
    assert compare(silent, faster(digest="")).obstacles == ("cases (digest): in neither report",)


def test_an_outcome_that_is_lost_is_worse() -> None:
    """An outcome that came about before and does not now is named, although every check passes."""
    found = compare(HOLDING, msgspec.structs.replace(HOLDING, ledger=Ledger(("tie on the path",))))
    assert (found.outcomes_lost, found.exit_code) == (("later child accepted",), 1)


def test_an_outcome_of_a_run_that_failed_is_no_loss() -> None:
    """A wrong text may come to rounds that the right one does not, unless the mended run was bound to come to them and did not."""
    near = "near tie between siblings"
    broken = msgspec.structs.replace(FAILING, ledger=Ledger(("later child accepted", near)))
    mended = msgspec.structs.replace(HOLDING, ledger=Ledger(("later child accepted",)))
    found = compare(broken, mended)
    assert (found.outcomes_lost, found.outcomes_strayed) == ((), (near,))
    due = msgspec.structs.replace(mended, ledger=Ledger(("later child accepted",), (near,)))
    assert (compare(broken, due).outcomes_lost, compare(broken, due).exit_code) == ((near,), 1)


def test_a_should_that_breaks_is_told_and_decides_nothing() -> None:
    """A check that is no must stands among the broken ones, and the exit code stays 0."""
    before = report(result("GREEDY-01", level=Level.SHOULD))
    after = report(result("GREEDY-01", Status.FAILED, level=Level.SHOULD, findings=(LEAK,)))
    found = compare(before, after)
    assert names(found, Kind.BROKEN) == {"GREEDY-01"}
    assert found.exit_code == 0


def test_a_check_that_stands_twice_is_refused() -> None:
    """Two results of one check contradict each other, and neither is dropped in silence."""
    with pytest.raises(FileError, match="holds 'GREEDY-01' twice; expected it once"):
        compare(HOLDING, report(result("GREEDY-01"), result("GREEDY-01", Status.FAILED)))


def run(folder: Path, before: Report, after: Report, *options: str) -> Any:
    for name, found in (("a", before), ("b", after)):
        write_file(folder / f"{name}.json", found)
    return CliRunner().invoke(main, ["compare", str(folder / "a.json"), str(folder / "b.json"), *options])


@pytest.mark.parametrize(("before", "after", "code"), [
    (HOLDING, FAILING, 1), (FAILING, HOLDING, 0), (FAILING, FAILING, 0), (HOLDING, faster(), 0),
], ids=["worse", "mended", "the same", "faster"])  # fmt: skip
def test_the_whole_output_is_as_it_was(
    before: Report, after: Report, code: int, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """The command prints what changed, what got worse first, and exits with 1 if anything did."""
    done = run(tmp_path, before, after)
    assert done.exit_code == code
    assert done.output == snapshot


@given(before=reports(storable), after=reports(storable))
def test_json_holds_the_whole_comparison(
    tmp_path_factory: pytest.TempPathFactory, before: Report, after: Report
) -> None:
    """What ``--json`` prints is the comparison, and text says the same exit code without a control character."""
    folder = tmp_path_factory.mktemp("compared")
    done = run(folder, before, after, "--json")
    assert msgspec.json.decode(done.output, type=Comparison) == compare(before, after)
    plain = run(folder, before, after)
    assert plain.exit_code == done.exit_code
    assert all(c.isprintable() or c == "\n" for c in plain.output if ord(c) < 0xA0)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80\x05K\x01.", to_json(HOLDING)[:-9]])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: bytes) -> None:
    """Exit code 3 and one line that names the file."""
    write_file(tmp_path / "a.json", HOLDING)
    (tmp_path / "b.json").write_bytes(content)
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    assert done.exit_code == 3
    assert "b.json is not a tree-oracle-report file" in done.stderr
