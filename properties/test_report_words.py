"""What a report says, it says alike in every form, with counts that agree and in right grammar."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import CHECKS, HOLDING, report, reports, result, storable

from tree_oracle.checks import CHECKS as ALL
from tree_oracle.cli import main
from tree_oracle.decoder import Seam
from tree_oracle.faults import PLANTED
from tree_oracle.record import Ended, Finding, Level, Report, Status, Witness, counted
from tree_oracle.report import (
    html_page,
    junit_xml,
    make_console,
    markdown_summary,
    print_checks,
    print_examined,
    print_report,
    print_unseen,
)
from tree_oracle.report.advice import advice
from tree_oracle.report.certificate import make_certificate
from tree_oracle.report.ladder import verdict
from tree_oracle.report.plain import visible
from tree_oracle.run import Examined

NOUNS = "token|case|check|node|tree|request|row|suspect|judgement|round|near tie|argument|entry|failing check"


def terminal(found: Report) -> str:
    out = StringIO()
    print_report(make_console(out, width=400), found)
    return out.getvalue()


def forms(found: Report) -> dict[str, str]:
    """The report as each reader gets it."""
    certificate = make_certificate(found)
    told = {"terminal": terminal(found), "html": html_page(found), "markdown": markdown_summary(found)}
    plain = {name: text.replace("&#39;", "'").replace("\\", "") for name, text in told.items()}
    return plain | {"certificate": " ".join(certificate.may_not_say)}


witnesses = st.builds(Witness, st.integers(1, 9), st.integers(0, 40), st.integers(0, 2), st.integers(0, 9))


@given(witnesses, witnesses)
def test_a_run_without_an_accepted_token_says_so_in_every_form(seen: Witness, own: Witness) -> None:
    """Where tokens were drafted and none was accepted, of all or of the decoder's own, each form of the report warns of it."""
    found = msgspec.structs.replace(HOLDING, witness=seen, own=own)
    for whose, words in (
        (seen, f"one of {seen.drafted} drafted tokens"),
        (own, f"one of the decoder's own {own.drafted}"),
    ):
        if whose.drafted and not whose.accepted:
            assert {name for name, text in forms(found).items() if words not in text} == set()
            break
    else:
        assert not any("was accepted: what follows" in text for text in forms(found).values())


@given(reports(storable))
def test_one_of_a_kind_is_singular(found: Report) -> None:
    """No count of one is followed by a plural in what we say of a report."""
    bare = msgspec.structs.replace(
        found, results=tuple(result(r.check, r.status, level=r.level, cases=r.cases) for r in found.results)
    )
    for name, text in (forms(bare) | {"sentence": make_certificate(bare).sentence}).items():
        assert re.findall(rf"(?<![\w.])1 (?:{NOUNS})s\b", text) == [], name


@given(
    st.lists(
        st.tuples(st.sampled_from(list(Status)), st.sampled_from(list(Level))),
        min_size=len(CHECKS),
        max_size=len(CHECKS),
    )
)
def test_a_certificate_counts_one_way(drawn: list[tuple[Status, Level]]) -> None:
    """How many checks failed is the same number in the sentence and in the counts, and the sentence says how many decide."""
    results = [result(check, status, level=level) for check, (status, level) in zip(CHECKS, drawn, strict=True)]
    made = make_certificate(report(*results))
    failed = [one for one in results if one.status is Status.FAILED]
    must = [one for one in failed if one.level is Level.MUST]
    assert made.result.counts["failed"] == len(failed)
    if must:
        assert f"failed {len(failed)} of {len(results)} checks" in made.sentence
        assert (f", {len(must)} of them must checks;" in made.sentence) == (len(must) < len(failed))


@given(reports(storable))
def test_what_was_not_seen_is_one_line_for_each_reason(found: Report) -> None:
    """Every check that had nothing to judge is named once, in as many lines as there are reasons."""
    out = StringIO()
    reasons = ("needs the method open", "rounds do not show end")
    results = [result(r.check, r.status, reason=reasons[len(r.reason) % 2]) for r in found.results]
    print_unseen(make_console(out, width=400), results)
    unseen = [one for one in results if one.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)]
    said = out.getvalue()
    assert len([line for line in said.split("\n") if line]) == len({(one.status, one.reason) for one in unseen})
    assert [
        one.check for one in unseen if said.count(one.check) != 1 + sum(one.check in r.reason for r in unseen)
    ] == []


@given(reports(storable))
def test_a_verdict_does_not_contradict_its_exit_code(found: Report) -> None:
    """Where the exit code is 1, something is broken or the list of known failures is said to be untrue."""
    if found.exit_code == 1:
        assert ("nothing broken" not in verdict(found)) or ("the list of known failures is not true" in verdict(found))


@given(reports(storable))
def test_a_verdict_by_recorded_rows_says_so(found: Report) -> None:
    """Where nothing but the record itself was held against it, the verdict carries that grade; elsewhere it does not."""
    assert verdict(found).endswith("by truth of grade D alone") == (found.grade == "D")


@pytest.mark.parametrize("seam", list(Seam))
def test_a_line_of_the_doctor_has_its_columns_apart(seam: Seam) -> None:
    """However long the name of a method is, a blank stands behind it."""
    out = StringIO()
    print_examined(make_console(out), Examined(seam=seam.value, what="answers", good=True, sentence="well"))
    assert out.getvalue().split() == ["ok", seam.value, "well"]


def test_the_list_names_each_method_once() -> None:
    """A check that has two scenes for a method is seen through that method, said once."""
    out = StringIO()
    print_checks(make_console(out, width=400), ALL.values())
    for line in out.getvalue().splitlines()[1:]:
        seams = re.split(r" {2,}|(?<=L\d) +", line)[3].split(", ")
        assert len(seams) == len(set(seams)), line


@pytest.mark.parametrize("name", ["sibling-leek", "VISIBEL-03", "visible", "keep-first-row"])
def test_an_unknown_name_is_told_what_is_near(name: str) -> None:
    """A name that is neither a check nor a fault is told the nearest of both."""
    done = CliRunner().invoke(main, ["explain", name])
    (near,) = re.findall(r"; the nearest: (.*)$", done.stderr.strip())
    assert done.exit_code == 2
    assert set(near.split(", ")) <= {*ALL, *PLANTED}
    right = {
        "sibling-leek": "sibling-leak",
        "VISIBEL-03": "VISIBLE-03",
        "visible": "VISIBLE-0",
        "keep-first-row": "keep-first-rows",
    }
    assert right[name] in near


def test_a_name_that_is_near_to_nothing_is_told_where_all_are() -> None:
    """No check is named that has nothing to do with what was asked."""
    done = CliRunner().invoke(main, ["explain", "NOPE"])
    assert "`tree-oracle list` and `tree-oracle faults` have them all" in done.stderr


@given(st.integers(0, 99))
def test_counts_are_words(number: int) -> None:
    """A noun is plural unless there is exactly one."""
    assert counted(number, "token") == (f"{number} token" if number == 1 else f"{number} tokens")


@given(st.lists(st.sampled_from(["named", "certain", "not looked into", "no suspect"]), min_size=1, max_size=4))
def test_what_to_do_first_has_a_cause_if_any_has(causes: list[str]) -> None:
    """Of the failures of the lowest rung the advice names one whose cause is certain, else named, else the first."""
    shown: dict[str, dict[str, Any]] = {
        "named": {"causes": ("one: x", "two: y"), "diagnosed_on": 3},
        "certain": {"causes": ("one: x",), "certain": True, "diagnosed_on": 3},
        "not looked into": {},
        "no suspect": {"diagnosed_on": 3},
    }
    checks = ("HISTORY-01", "COMMIT-01", "COMMIT-02", "COMMIT-03")
    failures = [
        result(check, Status.FAILED, findings=(Finding(status=Status.FAILED, sentence=check, **shown[kind]),))
        for check, kind in zip(checks, causes, strict=False)
    ]
    above = result(
        "GREEDY-01", Status.FAILED, findings=(Finding(status=Status.FAILED, sentence="x", **shown["certain"]),)
    )
    first = advice(report(*failures, above))[0].text
    best = next((kind for kind in ("certain", "named") if kind in causes), causes[0])
    due = checks[causes.index(best)]
    if best in ("certain", "named"):
        assert first.startswith(f"Start with {due}, on the lowest broken rung (L2 histories). The fault one")
    else:
        assert first.startswith("Start with ")
        assert "GREEDY-01" not in first


@given(st.integers(1, 2), st.sampled_from(["", "one case only was seen"]))
def test_every_form_says_what_a_cause_lacks_to_be_certain(count: int, lacks: str) -> None:
    """A cause that is alone and not certain says why, in terminal, page, summary and JUnit; nothing else is said to be alone."""
    finding = Finding(
        status=Status.FAILED,
        sentence="x",
        causes=("one: y", "two: z")[:count],
        diagnosed_on=3,
        certain=not lacks and count == 1,
        uncertain=lacks,
    )
    found = report(result("HISTORY-01", Status.FAILED, findings=(finding,)))
    told = {**forms(found), "junit": junit_xml(found).decode()}
    del told["certificate"]
    assert [name for name, text in told.items() if (lacks or "not certain:") in text] == (list(told) if lacks else [])
    assert ("alone of all suspects shows the same" in told["markdown"]) == (count == 1)


@given(reports())
def test_the_terminal_ends_with_what_to_do_first(found: Report) -> None:
    """A run that is no pass ends with one line more: what sees the failure to start with again, else what is advised."""
    last = terminal(found).splitlines()[-1]
    if found.exit_code == 0:
        assert last.startswith("verdict   ")
        return
    assert last.startswith("first     ")
    due = advice(found)[0]
    if found.exit_code == 1 and due.text.startswith("Start with "):
        check = due.text.removeprefix("Start with ").partition(",")[0]
        named = last.removeprefix("first     tree-oracle replay ").lstrip("'")
        assert named.startswith(f"{check}-") or "Start with" in last
    else:
        assert " ".join(visible(due.command or due.text).split()) in last


@given(st.lists(st.integers(1, 9), max_size=3), st.integers(1, 9))
def test_every_form_says_why_rounds_ended_and_what_was_covered(ended: list[int], known: int) -> None:
    """The reasons for which own rounds ended, and the coverage of the candidates, stand in terminal, page and summary alike."""
    own = Witness(
        8, 24, 10, 18, (6,), (8,), (known,), (known,), (0,), tuple(Ended(f"reason {i}", n) for i, n in enumerate(ended))
    )
    for shown, words in (
        (own, f"packed 0/{known}"),
        (msgspec.structs.replace(own, known=()), "not shown: no round shows the pool"),
    ):
        told = forms(msgspec.structs.replace(HOLDING, own=shown))
        for name in ("terminal", "html", "markdown"):
            assert words in told[name]
            assert all(f"{one.rounds} {one.why}" in told[name] for one in shown.ended)
