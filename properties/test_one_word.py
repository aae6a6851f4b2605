"""Of one check one word is said: its failures are grouped by cause, and what contradicts a cause is named and kept."""

from __future__ import annotations

from pathlib import Path

import msgspec
from report_grounds import CASE, CAUSE, LEAK, report, result

from tree_oracle.checks import CHECKS
from tree_oracle.record import Case, Finding, Limits, Status, TreeData, case_id
from tree_oracle.report.causes import NO_SUSPECT, by_cause
from tree_oracle.report.html import html_page
from tree_oracle.report.markdown import markdown_summary
from tree_oracle.report.terminal import result_text
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
