"""Known failures: an honest list changes the exit code and nothing else, and a list that is not true fails the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from grounds import SMALL_DECODERS
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, choose
from tree_oracle.cli import main
from tree_oracle.record import CheckResult, Known, Level, Report, Status, UsageError, read_report, size_of
from tree_oracle.run import Budget, KnownFailures, KnownFailuresError, Plan, carry_out, read_known
from tree_oracle.run.known import MAX_BYTES, Entry
from tree_oracle.run.tally import bare_result

IDS = sorted(CHECKS)
ENTRY = {"check": "VISIBLE-03", "reason": "being rewritten", "tracker": "https://example.org/1"}


def toml(*entries: Mapping[str, object]) -> str:
    return "\n".join("[[known]]\n" + "\n".join(f"{k} = {_value(v)}" for k, v in entry.items()) for entry in entries)


def _value(value: object) -> str:
    return msgspec.json.encode(value).decode()


def known_of(path: Path, text: str, decoder: str = "d") -> KnownFailures:
    path.write_text(text, encoding="utf-8")
    return read_known(path, decoder)


def marked(results: list[CheckResult], known: KnownFailures) -> Report:
    found = tuple(map(known.mark, results))
    return Report(decoder="d", target="t", grade="A", results=found, violations=known.violations(found))


results_of_all = st.lists(st.sampled_from(list(Status)), min_size=len(IDS), max_size=len(IDS)).map(
    lambda statuses: [bare_result(CHECKS[check], status) for check, status in zip(IDS, statuses, strict=True)]
)


@given(results=results_of_all, listed=st.sets(st.sampled_from(IDS)))
def test_an_entry_is_true_exactly_if_its_check_failed(results: list[CheckResult], listed: set[str]) -> None:
    """Failures on the list are marked and nothing else is; entries that passed or could not be seen are told, one line each."""
    known = KnownFailures((Entry(check, f"because of {check}", "T-1") for check in listed), "k.toml")
    report = marked(results, known)

    for before, after in zip(results, report.results, strict=True):
        expected = before.check in listed and before.status is Status.FAILED
        assert after.known == (Known(f"because of {before.check}", "T-1") if expected else None)
        assert msgspec.structs.replace(after, known=None) == before
    untrue = {Status.PASSED, Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE}
    told = [result.check for result in results if result.check in listed and result.status in untrue]
    assert sorted(line.split()[1] for line in report.violations) == sorted(told)


@given(results=results_of_all, listed=st.sets(st.sampled_from(IDS)), required=st.none() | st.integers(0, 5))
def test_the_exit_code_is_that_of_the_other_checks(
    results: list[CheckResult], listed: set[str], required: int | None
) -> None:
    """With a true list the exit code is what it would be had the known failures not been run; the rungs held are not."""
    honest = KnownFailures(
        (Entry(r.check, "x", "y") for r in results if r.check in listed and r.status is Status.FAILED), "k.toml"
    )
    report = msgspec.structs.replace(marked(results, honest), required=required)
    others = tuple(result for result in report.results if result.known is None)

    assert report.violations == ()
    assert report.exit_code == msgspec.structs.replace(report, results=others).exit_code
    plain = msgspec.structs.replace(report, results=tuple(results))
    assert (report.held, report.broken, report.counts) == (plain.held, plain.broken, plain.counts)


@given(results=results_of_all, untrue=st.sampled_from(["NO-SUCH-01", "PASSED", "not run"]))
def test_an_untrue_list_fails_the_run(results: list[CheckResult], untrue: str) -> None:
    """One entry that is not true makes the exit code 1, whatever the results are."""
    first, *others = results
    passed = [msgspec.structs.replace(first, status=Status.PASSED, level=Level.MUST), *others]
    entry = Entry(untrue if untrue == "NO-SUCH-01" else first.check, "x", "y")
    report = marked(others if untrue == "not run" else passed, KnownFailures([entry], "k.toml"))

    assert report.exit_code == 1
    (line,) = report.violations
    assert line.startswith(f"k.toml: {entry.check} is a known failure, but ")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (Status.PASSED, "it passed; take its entry out"),
        (Status.NOT_OBSERVABLE, "it is not observable here"),
        (Status.NOT_APPLICABLE, "it is not applicable here"),
        (None, "its check was not run"),
    ],
)
def test_what_is_untrue_is_said(status: Status | None, message: str) -> None:
    """Each way to be untrue has its own words."""
    known = KnownFailures([Entry("VISIBLE-03", "x", "y")], "k.toml")
    results = [] if status is None else [bare_result(CHECKS["VISIBLE-03"], status)]
    assert known.violations(results) == (f"k.toml: VISIBLE-03 is a known failure, but {message}",)


def test_a_check_that_does_not_exist_is_told_its_neighbour() -> None:
    """A typing error in an id is found, with the nearest id."""
    (line,) = KnownFailures([Entry("VISIBEL-03", "x", "y")], "k.toml").violations([])
    assert line == "k.toml: VISIBEL-03 is a known failure, but there is no such check; the nearest is VISIBLE-03"


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(entries=st.lists(st.tuples(st.sampled_from(IDS), words, words, st.none() | st.sampled_from(["d", "e"]))))
def test_a_file_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str, str, str | None]]
) -> None:
    """Entries for this decoder or for all are taken, others left; two for the same check and decoder are refused."""
    path = tmp_path_factory.mktemp("known") / "k.toml"
    raw = [
        {"check": check, "reason": reason, "tracker": tracker} | ({} if decoder is None else {"decoder": decoder})
        for check, reason, tracker, decoder in entries
    ]
    mine = [entry for entry in entries if entry[3] in (None, "d")]
    if len({check for check, *_ in mine}) < len(mine):
        with pytest.raises(KnownFailuresError, match=r"has \d entries for .* of d; expected one"):
            known_of(path, toml(*raw))
        return
    known = known_of(path, toml(*raw))
    assert set(known.checks) == {check for check, *_ in mine}
    for check, reason, tracker, _ in mine:
        assert known.mark(bare_result(CHECKS[check], Status.FAILED)).known == Known(reason, tracker)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("known = 3", "Expected `array`, got `int` - at `$.known`; expected [[known]] entries"),
        ("[[knwon]]", "unknown field `knwon`"),
        ("[[known]", "is not a file of known failures: "),
        (toml(ENTRY | {"reason": " "}), "entry 1 (VISIBLE-03): reason is empty; expected why the failure is expected"),
        (toml(ENTRY, ENTRY | {"tracker": ""}), "entry 2 (VISIBLE-03): tracker is empty; expected where it is followed up"),
        (toml({"check": "A-1", "reason": "x"}), "entry 1 (A-1): Object missing required field `tracker`"),
        (toml({"reason": "x"}), "entry 1 (without a check): Object missing required field `check`"),
        (toml(ENTRY | {"check": 7}), "entry 1 (7): Expected `str`, got `int` - at `$.check`"),
        (toml(ENTRY | {"because": "x"}), "entry 1 (VISIBLE-03): Object contains unknown field `because`"),
        (toml(ENTRY | {"check": ""}), "entry 1 (): check is empty; expected the id of a check, such as HISTORY-01"),
        ("x = '\udcff'", "is not a file of known failures: 'utf-8' codec"),
        ("a = " + "[" * 10_000, "is not a file of known failures: "),
        ("#" * (MAX_BYTES + 1), f"holds more than {MAX_BYTES} bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file, the entry and what was expected."""
    path = tmp_path / "k.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(KnownFailuresError) as caught:
        read_known(path, "d")
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    """A path that leads nowhere is named."""
    with pytest.raises(UsageError, match="cannot read .*nowhere.toml: No such file"):
        read_known(tmp_path / "nowhere.toml", "d")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a decoder that decides ties wrongly, importable from the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "small_known.py").write_text(SMALL_DECODERS, encoding="utf-8")
    return "small_known:Wrong"


def test_a_known_failure_is_neither_shrunk_nor_diagnosed(small: str) -> None:
    """The same fault is explained by its first case when it is known, and by its smallest when it is not."""
    plan = Plan(decoder=small, checks=("GREEDY-03",), budget=Budget(cases=0, shrink_runs=60))
    known = KnownFailures([Entry("GREEDY-03", "x", "y")], "k.toml")
    listed, unlisted = (carry_out(plan, known=expected).results[0] for expected in (known, None))

    assert (listed.known, unlisted.known) == (Known("x", "y"), None)
    assert listed.failed_at == unlisted.failed_at
    first, smallest = (result.findings[0].case for result in (listed, unlisted))
    assert first is not None
    assert smallest is not None
    assert first.note
    assert size_of(smallest) < size_of(first)
    assert listed.findings[0].diagnosed_on == 0 < unlisted.findings[0].diagnosed_on


def test_the_command_line_reads_the_list(small: str, tmp_path: Path) -> None:
    """A listed failure exits with 0 and is shown with reason and tracker; a stale entry exits with 1 and its line."""
    (tmp_path / "tree-oracle.toml").write_text(toml(ENTRY | {"check": "GREEDY-03"}), encoding="utf-8")
    (tmp_path / "stale.toml").write_text(toml(ENTRY | {"check": "CHAIN-03"}), encoding="utf-8")
    command = ["check", "--decoder", small, "--in-process", "--cases", "0", "--output", "r.json"]
    command += ["--check", "GREEDY-03", "--check", "CHAIN-03"]

    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "a known failure: being rewritten (https://example.org/1)" in done.output
    assert "known     expected to fail: GREEDY-03" in done.output
    assert "weakest broken: L3" in done.output
    assert "GREEDY-03 failed:" not in done.output  # it is not explained again
    assert read_report(tmp_path / "r.json").exit_code == 0

    done = CliRunner().invoke(main, [*command, "--known", "stale.toml"])
    assert done.exit_code == 1
    assert "known     stale.toml: CHAIN-03 is a known failure, but it passed; take its entry out" in done.output
    assert "GREEDY-03 failed:" in done.output

    done = CliRunner().invoke(main, [*command, "--known", "none.toml"])
    assert (done.exit_code, "cannot read none.toml" in done.stderr) == (2, True)


def test_every_check_of_the_battery_can_be_listed() -> None:
    """Ids as the catalogue prints them are what the list takes."""
    assert [check.id for check in choose(ids=IDS)] == [check.id for check in choose()]
