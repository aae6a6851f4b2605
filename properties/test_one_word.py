"""Of one check one word is said: its failures are grouped by cause, and what contradicts a cause is named and kept."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import CASE, CAUSE, LEAK, report, result

from tree_oracle.checks import CHECKS
from tree_oracle.record import Case, CheckResult, Finding, Level, Limits, Status, TreeData, case_id
from tree_oracle.report.advice import advice, first_step
from tree_oracle.report.causes import NO_SUSPECT, by_cause
from tree_oracle.report.html import html_page
from tree_oracle.report.markdown import markdown_summary
from tree_oracle.report.terminal import make_console, print_report, result_text
from tree_oracle.run import keep_case, load_case

NONE = msgspec.structs.replace(LEAK, sentence="token 3 is wrong", causes=(), certain=False)
EITHER = msgspec.structs.replace(LEAK, sentence="token 4 is wrong", causes=("another: it too", CAUSE), certain=False)
CONTRADICTING = Case(prefix=(0, 1), trees=(TreeData((1, 0), (-1, 0)),), limits=Limits(3), note="a short one")


def _told(*findings: Finding) -> str:
    return result_text(result("SEQUENCE-01", Status.FAILED, findings=findings))


def test_what_no_suspect_explains_stands_behind_what_one_does() -> None:
    """The cause is said once, and beside the other failure that nothing shows the same there, in whatever order they come."""
    for findings in ((NONE, LEAK), (LEAK, NONE)):
        text = _told(*findings)
        assert text.count("  cause ") == 1
        assert "unknown" not in text
        assert f"also      {NONE.sentence} (SEQUENCE-01-{NONE.replay}); no suspect shows the same there" in text
    assert "unknown: none of" in _told(NONE)


def test_what_several_suspects_explain_stands_behind_what_one_of_them_does() -> None:
    """Two failures of one check do not read as a certain cause and as a doubtful one."""
    text = _told(EITHER, LEAK)
    assert text.count("  cause ") == 1
    assert "the same is shown by" not in text
    assert EITHER.sentence in text


def test_pages_have_one_heading_for_one_check() -> None:
    """On the page and in the summary the unexplained failure stands under the cause, which is not called certain there."""
    one = report(result("SEQUENCE-01", Status.FAILED, findings=(NONE, LEAK)))
    (cause,) = by_cause(one, Status.FAILED)
    assert (cause.name, cause.certain, cause.alone) == (CAUSE, False, True)
    assert cause.uncertain == "no suspect shows the same on another case of SEQUENCE-01"
    for text in (html_page(one), markdown_summary(one)):
        assert NO_SUSPECT not in text
    other = report(
        result("SEQUENCE-01", Status.FAILED, findings=(NONE,)), result("GREEDY-01", Status.FAILED, findings=(LEAK,))
    )
    assert {cause.name for cause in by_cause(other, Status.FAILED)} == {CAUSE, NO_SUSPECT}


def test_the_case_that_contradicts_a_cause_is_kept(tmp_path: Path) -> None:
    """Its file is found by the id that is printed, for a check that can judge it: the finding's own if that can."""
    for check, judge in (("COMMIT-01", "COMMIT-01"), ("VISIBLE-01", None)):
        found = msgspec.structs.replace(LEAK, certain=False, contradicted_by=CONTRADICTING)
        folder = tmp_path / check
        path = keep_case(result(check, Status.FAILED, findings=(found,)), found, "exact", "mine:Decoder", folder)
        assert path is not None
        assert load_case(LEAK.replay, folder).case == CASE
        file = load_case(case_id(CONTRADICTING), folder)
        assert file.case == CONTRADICTING
        assert judge in (file.check, None)
        assert any(source.scene.fits(file.case) for source in CHECKS[file.check].sources)


FOUND = st.lists(st.sampled_from([LEAK, NONE, EITHER]), min_size=1, max_size=3, unique=True)
FAILURES = st.lists(
    st.tuples(
        st.sampled_from(["VISIBLE-03", "POSITION-01", "HISTORY-01", "COMMIT-01", "GREEDY-01", "SEQUENCE-01"]),
        st.sampled_from([Status.FAILED, Status.UNDECIDED]),
        st.sampled_from(Level),
        FOUND,
    ),
    min_size=1,
    unique_by=lambda one: one[0],
)


@given(FAILURES)
def test_what_is_printed_first_is_what_to_look_at_first(
    failures: list[tuple[str, Status, Level, list[Finding]]],
) -> None:
    """The first explanation of the terminal, the first heading of a page and the command at the end are of one failure."""
    results = [_result(check, status, level, found) for check, status, level, found in failures]
    one = report(*results)
    failed = [result for result in results if result.status is Status.FAILED and result.level is Level.MUST]
    if not failed:
        return
    out = StringIO()
    print_report(make_console(out), one, replay="again")
    (first, *_), last = out.getvalue().strip().splitlines(), first_step(one, "again")
    check = first.partition(" ")[0]
    assert last.startswith(f"again {check}-")
    assert out.getvalue().strip().endswith(last)
    assert out.getvalue().index(f"  again     {last}") < min(
        (place for place in (out.getvalue().find("\n\n"),) if place > 0), default=len(out.getvalue())
    )
    assert by_cause(one, Status.FAILED)[0].told[0].result.check == check


def _result(check: str, status: Status, level: Level, found: list[Finding]) -> CheckResult:
    told = tuple(msgspec.structs.replace(one, status=status, sentence=f"{one.sentence} by {check}") for one in found)
    return result(check, status, level=level, findings=told)


@pytest.mark.parametrize("name", ["mine:Decoder", "a Decoder object"])
def test_the_doctor_is_asked_of_the_decoder_alone(name: str) -> None:
    """Where a decoder has no name that a command line can take, no command is shown that would examine another one."""
    (todo,) = advice(report(result("SEQUENCE-01", Status.ERROR, reason="rows have 3 columns"), decoder=name))
    assert todo.command == ("tree-oracle doctor --decoder mine:Decoder" if ":" in name else "")
    assert ("--decoder module:attribute" in todo.text) == (":" not in name)
