"""JUnit XML: whatever a report holds, the file is well formed, its counts are true, and its outcomes follow the statuses."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner
from grounds import SMALL_DECODERS
from hypothesis import example, given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.cli import main
from tree_oracle.record import CheckResult, Finding, Known, Level, Report, Status, read_report, write_file
from tree_oracle.report import html_page, junit_xml, write_junit

anything = st.text(max_size=20)  # control characters and lone surrogates included
findings = st.builds(
    Finding, status=st.just(Status.FAILED), sentence=anything, expected=anything, seen=anything, drawing=anything
)


@st.composite
def results(draw: st.DrawFn, check: str) -> CheckResult:
    status = draw(st.sampled_from(list(Status)))
    failed = status in (Status.FAILED, Status.ERROR)
    return CheckResult(
        check=check,
        law=CHECKS[check].law,
        level=draw(st.sampled_from(list(Level))),
        rung=CHECKS[check].rung,
        status=status,
        reason=draw(anything),
        findings=tuple(draw(st.lists(findings, min_size=1, max_size=2))) if failed else (),
        known=Known(draw(anything), draw(anything)) if status is Status.FAILED and draw(st.booleans()) else None,
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    checks = draw(st.lists(st.sampled_from(sorted(CHECKS)), unique=True, max_size=5))
    return Report(
        decoder=draw(anything),
        target="exact",
        grade="A",
        results=tuple(draw(results(check)) for check in checks),
        environment=draw(st.dictionaries(anything, anything, max_size=2)),
        seconds={check: draw(st.floats(0, 99)) for check in checks if draw(st.booleans())},
        violations=tuple(draw(st.lists(anything, max_size=2))),
    )


EXPECTED = {
    Status.PASSED: None,
    Status.FAILED: "failure",
    Status.ERROR: "error",
    Status.UNDECIDED: "error",
    Status.NOT_OBSERVABLE: "skipped",
    Status.NOT_APPLICABLE: "skipped",
}


def outcome(result: CheckResult) -> str | None:
    """The table of the module: known failures and what is no ``must`` decide nothing."""
    if result.known is not None or (result.level is not Level.MUST and result.status is not Status.PASSED):
        return "skipped"
    return EXPECTED[result.status]


@given(report=reports())
@example(report=Report(decoder="\x00\ud800]]>&<\x1b[31m", target="t", grade="A", results=(), violations=("\ufffe",)))
def test_any_report_is_well_formed_and_complete(report: Report) -> None:
    """Each check is one test case with the outcome of its status, each violation a failure, and the suite counts them."""
    suites = ET.fromstring(junit_xml(report))
    (suite,) = suites
    cases = suite.findall("testcase")

    assert (suites.tag, suite.tag) == ("testsuites", "testsuite")
    assert [case.get("name") for case in cases[: len(report.results)]] == [result.check for result in report.results]
    tags = [next((child.tag for child in case), None) for case in cases]
    assert tags == [*map(outcome, report.results), *("failure" for _ in report.violations)]
    for element in (suites, suite):
        assert element.get("tests") == str(len(cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert element.get(name) == str(tags.count(tag))
    assert all((case.get("classname") or "").endswith(f".{(case.get('name') or '').partition('-')[0]}")
               for case in cases[: len(report.results)])  # fmt: skip


@given(report=reports())
def test_failures_agree_with_the_exit_code(report: Report) -> None:
    """There is a failure exactly if the run exits with 1."""
    (suite,) = ET.fromstring(junit_xml(report))
    assert (suite.get("failures") != "0") == (report.exit_code == 1)


@given(said=st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc", "Cn", "Co"])))
def test_ordinary_text_arrives_as_it_is(said: str) -> None:
    """Quotes, brackets, ampersands and every script survive in message and text."""
    (case,) = one(Status.FAILED, said).iter("testcase")
    (failure,) = case
    assert failure.get("message") == said
    assert (failure.text or "").split("\nexpected: ")[0] == said


def one(status: Status, said: str, known: Known | None = None) -> ET.Element:
    finding = Finding(status=Status.FAILED, sentence=said, expected="e")
    found = CheckResult(
        check="VISIBLE-03", law="l", level=Level.MUST, rung=1, status=status, findings=(finding,), known=known
    )
    report = Report(decoder="m:d", target="t", grade="A", results=(found,), seconds={"VISIBLE-03": 1.5})
    return ET.fromstring(junit_xml(report))


def test_control_characters_are_spelled_out() -> None:
    """What XML cannot hold is written as its escape, so that it can still be read."""
    failure = next(one(Status.FAILED, "a\x00b\x1b[0m\ud800").iter("failure"))
    assert failure.get("message") == "a\\x00b\\x1b[0m\\ud800"


def test_names_and_times_stand_where_readers_look() -> None:
    """Class name, name, time and type are attributes; a known failure says its reason and tracker."""
    suites = one(Status.FAILED, "s", Known("being mended", "T-7"))
    (case,) = suites.iter("testcase")
    assert case.attrib == {"classname": "m:d.VISIBLE", "name": "VISIBLE-03", "time": "1.500"}
    (skipped,) = case
    assert (skipped.get("message"), skipped.get("type")) == ("known failure: being mended (T-7)", "failed")
    assert suites.get("time") == "1.500"


def test_a_saved_report_is_printed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report FILE` prints what `check` printed, exits with the same code, and writes the same XML."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "small_junit.py").write_text(SMALL_DECODERS, encoding="utf-8")
    (tmp_path / "kept").mkdir()
    command = ["check", "--decoder", "small_junit:Wrong", "--in-process", "--cases", "0"]
    command += ["--check", "GREEDY-03", "--check", "CHAIN-03", "--output", "kept/r.json", "--junit", "kept/a.xml"]
    command += ["--html", "kept/a.html", "--markdown", "kept/a.md"]

    first = CliRunner().invoke(main, command)
    again = CliRunner().invoke(main, ["report", "kept/r.json", "--junit", "b.xml"])

    assert first.exit_code == again.exit_code == 1
    assert again.stdout == first.stdout
    assert (tmp_path / "b.xml").read_bytes() == (tmp_path / "kept" / "a.xml").read_bytes()
    assert ET.parse(tmp_path / "b.xml").getroot().get("failures") == "1"

    assert (tmp_path / "kept" / "a.html").read_text(encoding="utf-8") == html_page(read_report(Path("kept/r.json")))
    assert "GREEDY-03 failed" in (tmp_path / "kept" / "a.md").read_text(encoding="utf-8")

    as_json = CliRunner().invoke(main, ["report", "kept/r.json", "--json"])
    assert as_json.stdout == (tmp_path / "kept" / "r.json").read_text(encoding="utf-8")


def test_a_report_that_is_none_is_refused(tmp_path: Path) -> None:
    """A file of another kind exits with 3 and its reason."""
    (tmp_path / "r.json").write_text("{}", encoding="utf-8")
    done = CliRunner().invoke(main, ["report", str(tmp_path / "r.json")])
    assert done.exit_code == 3
    assert "is not a tree-oracle-report file" in done.stderr


@given(report=reports())
def test_the_file_is_written_whole_or_not_at_all(tmp_path_factory: pytest.TempPathFactory, report: Report) -> None:
    """A reader sees the old file or the new one: writing goes through a second file that takes the place of the first."""
    path = tmp_path_factory.mktemp("junit") / "a.xml"
    path.write_text("old", encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("os.replace", _full)
        with pytest.raises(OSError, match="no space"):
            write_junit(path, report)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(path.parent.iterdir()) == [path]
    write_junit(path, report)
    assert path.read_bytes() == junit_xml(report)


def _full(*_: object) -> None:
    raise OSError("no space")


def test_reports_of_earlier_runs_still_read(tmp_path: Path) -> None:
    """A report without the newer fields is read with their defaults."""
    plain = Report(decoder="d", target="t", grade="A", results=())
    write_file(tmp_path / "r.json", plain)
    content = msgspec.json.decode((tmp_path / "r.json").read_bytes())
    for name in ("seed", "digest", "seconds", "violations"):
        del content[name]
    (tmp_path / "r.json").write_bytes(msgspec.json.encode(content))
    done = CliRunner().invoke(main, ["report", str(tmp_path / "r.json")])
    assert done.exit_code == 4
