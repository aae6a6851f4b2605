"""Reports made by hand or drawn, for tests of what is written about them. Nothing here runs a decoder."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from tree_oracle.record import (
    Case,
    Catch,
    CheckResult,
    Finding,
    Known,
    Ledger,
    Level,
    Planted,
    Report,
    Status,
    TreeData,
    Witness,
    case_id,
)

CASE = Case(prefix=(0,), trees=(TreeData((0, 0, 1), (-1, 0, 0)),))
CAUSE = "sibling-leak: a node also sees the sibling stored before it"

# Text that a decoder may print: markup of every kind, invisible and turning characters, endings of every container.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</pre></style></svg></title><!-- -->",
    "{{ 7 * 7 }} {% raw %}",
    "```\n# heading\n<b>bold</b>",
    "| a | b |\n[link](http://example.org) @someone #12 www.example.org",
    "\x00\x1b[31mred\x1b[0m\u202eturned\u200b\ud800",
    "&lt;escaped&gt; & bare",
    "--><script>",
)
anything = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20))
storable = anything.map(lambda text: text.encode(errors="replace").decode())  # JSON holds no lone surrogates

LEAK = Finding(
    status=Status.FAILED,
    sentence="node 2 sees node 1, its sibling",
    expected="sees nodes [0, 2]",
    seen="sees nodes [0, 1, 2]",
    round=0,
    node=2,
    drawing="[0] 0\n|-- [1] 0\n`-- [2] 1  <--",
    causes=(CAUSE,),
    certain=True,
    ruled_out=("flat-causal-mask", "parents-only"),
    diagnosed_on=23,
    case=CASE,
    replay=case_id(CASE),
)


def result(check: str, status: Status = Status.PASSED, **more: Any) -> CheckResult:
    """A result of a check; the rung is that of the check's family."""
    family = check.partition("-")[0]
    rung = {"POSITION": 1, "VISIBLE": 1, "HISTORY": 2, "COMMIT": 2, "GREEDY": 3, "SEQUENCE": 3, "LAW": 4}[family]
    usual: dict[str, Any] = {"law": f"The law of {check}.", "level": Level.MUST, "rung": rung, "cases": 10}
    usual["seams"] = () if status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE) else ("open",)
    return CheckResult(check=check, status=status, **(usual | more))


def report(*results: CheckResult, **more: Any) -> Report:
    """A report of these results."""
    usual: dict[str, Any] = {
        "decoder": "mine:Decoder",
        "target": "exact",
        "grade": "A",
        "witness": Witness(20, 60, 30, 50, (14, 9), (20, 20)),
        "own": Witness(8, 24, 10, 18, (6, 4), (8, 8)),
        "ledger": Ledger(("later child accepted", "tie on the path")),
        "environment": {"device": "cpu", "dtype": "float32", "python": "3.12.0", "tree-oracle": "1.2.3"},
        "digest": "ab" * 32,
        "seconds": {one.check: 0.5 for one in results},
    }
    return Report(results=results, **(usual | more))


FAILING = report(
    result("POSITION-01"),
    result("VISIBLE-03", Status.FAILED, findings=(LEAK,), failed_at=3),
    result(
        "HISTORY-01",
        Status.FAILED,
        findings=(
            msgspec.structs.replace(LEAK, sentence="the row of node 2 is not its law", expected="argmax 3", seen="argmax 4"),
            Finding(status=Status.FAILED, sentence="the answer changed when it was asked again", seen="two answers"),
        ),
    ),
    result("COMMIT-01", Status.NOT_OBSERVABLE, reason="rounds do not show cache", cases=0),
    result("COMMIT-02", Status.FAILED, findings=(LEAK,), known=Known("is being mended", "T-7")),
    result("GREEDY-01", Status.UNDECIDED, reason="within the noise", undecided=2),
    result("SEQUENCE-01", Status.ERROR, reason="rows have 3 columns; expected 64"),
    result("LAW-01", Status.NOT_APPLICABLE, reason="no declared mode", cases=0),
    ledger=Ledger(("later child accepted",), ("tie on the path",)),
)  # fmt: skip
HOLDING = report(*(result(check) for check in ("POSITION-01", "VISIBLE-03", "HISTORY-01", "GREEDY-01", "SEQUENCE-01")))


@st.composite
def findings(draw: st.DrawFn, text: st.SearchStrategy[str] = anything) -> Finding:
    """Findings whose every text is somebody else's."""
    drawing = draw(st.one_of(text, st.just(LEAK.drawing)))
    case = msgspec.structs.replace(CASE, note=draw(text)) if draw(st.booleans()) else None
    return Finding(
        status=Status.FAILED,
        sentence=draw(text),
        expected=draw(text),
        seen=draw(st.one_of(text, st.just(LEAK.seen))),
        node=draw(st.none() | st.integers(0, 3)),
        drawing=drawing,
        before=draw(text),
        causes=tuple(draw(st.lists(text, max_size=2))),
        ruled_out=tuple(draw(st.lists(text, max_size=2))),
        diagnosed_on=draw(st.integers(0, 2)),
        case=case,
        replay=draw(text) if case is not None else "",
    )


@st.composite
def results(draw: st.DrawFn, check: str, text: st.SearchStrategy[str] = anything) -> CheckResult:
    """Results of every status."""
    status = draw(st.sampled_from(Status))
    silent = status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
    found = [] if status is Status.PASSED or silent else draw(st.lists(findings(text), max_size=2))
    known = Known(draw(text), draw(text)) if status is Status.FAILED and draw(st.booleans()) else None
    return result(
        check, status, law=draw(text), level=draw(st.sampled_from(Level)), reason=draw(text), findings=tuple(found),
        known=known, cases=0 if silent else draw(st.integers(status is Status.PASSED, 3)),
    )  # fmt: skip


CHECKS = ("POSITION-01", "VISIBLE-03", "HISTORY-01", "COMMIT-01", "GREEDY-01", "SEQUENCE-01", "LAW-04")


@st.composite
def reports(draw: st.DrawFn, text: st.SearchStrategy[str] = anything) -> Report:
    """Reports whose every text is somebody else's."""
    reached, missed = (tuple(draw(st.lists(text, max_size=2))) for _ in range(2))
    checks = draw(st.lists(st.sampled_from(CHECKS), unique=True, max_size=4))
    return report(
        *(draw(results(check, text)) for check in checks),
        decoder=draw(text),
        target=draw(st.one_of(text, st.just("exact"))),
        grade=draw(st.sampled_from("ABCDE")),
        environment=draw(st.dictionaries(text, text, max_size=2)),
        required=draw(st.none() | st.integers(0, 5)),
        seed=draw(st.none() | st.integers(0, 9)),
        digest=draw(st.sampled_from(["", "ab" * 32])),
        ledger=Ledger(reached, tuple(outcome for outcome in missed if outcome not in reached)),
        violations=tuple(draw(st.lists(text, max_size=2))),
        power=draw(st.none() | several_planted(text)),
    )


def planted(text: st.SearchStrategy[str] = anything) -> st.SearchStrategy[Planted]:
    """Answers that were planted behind an adapter; what was not planted has a reason, and nothing else has."""
    told = st.sampled_from((Catch.CAUGHT, Catch.MISSED)).map(lambda catch: (catch, ""))
    left = text.filter(bool).map(lambda reason: (Catch.NOT_PLANTED, reason))
    return st.builds(
        lambda seam, wrong, check, came: Planted(seam=seam, wrong=wrong, check=check, catch=came[0], reason=came[1]),
        text,
        text,
        st.sampled_from(CHECKS),
        told | left,
    )


def several_planted(text: st.SearchStrategy[str] = anything, most: int = 2) -> st.SearchStrategy[tuple[Planted, ...]]:
    """What was planted in one run: one answer at least, and none twice."""
    each = st.lists(planted(text), min_size=1, max_size=most, unique_by=lambda planted: (planted.seam, planted.wrong))
    return each.map(tuple)
