"""What is said of a decoder that hands over whole texts: no round that nobody showed, one fault once, the tap as a witness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest
from grounds import ground, result_of
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import choose
from tree_oracle.checks.ends import PROMPT_ENDS
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults import find_fault
from tree_oracle.record import CheckResult, Finding, Limits, Report, Status
from tree_oracle.report import make_console, print_report
from tree_oracle.report.causes import once_each
from tree_oracle.run import Budget, run_battery

ONCE = Budget(cases=0, shrink_runs=0, diagnose=False)


class Flat:
    """A decoder that answers with tokens alone; ``plain``: one by one, without any draft."""

    def __init__(self, inner: Any, *, plain: bool = False) -> None:
        self._inner, self._plain = inner, plain

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """The emitted tokens of every prompt."""
        if self._plain:
            truth = ground("exact", cases=0).truth
            return [list(truth.greedy(tuple(prompt), limits).tokens) for prompt in prompts]
        return [[t for round_ in text for t in round_.emitted] for text in self._inner.generate(prompts, limits)]


def judged(decoder: Any, *checks: str) -> Report:
    """Some prompts, some ends and a batch of prompts."""
    found = ground("exact", cases=0)
    cases = [case for scene in (PROMPTS, PROMPT_ENDS, PROMPT_BATCHES) for case in found.stock.of(scene)[-6:]]
    return run_battery(found.subject(decoder), choose(ids=checks), ONCE, stock=found.stock, cases=cases)


def terminal(report: Report) -> str:
    out = StringIO()
    print_report(make_console(out, width=400), report)
    return out.getvalue()


def test_a_text_without_rounds_is_told_of_no_round() -> None:
    """No sentence and no case line names a round of a text that came as tokens; what the tap saw has its rounds."""
    report = judged(lambda target: Flat(find_fault("keep-first-rows").decoder(target)), "SEQUENCE-01")
    findings = result_of(report, "SEQUENCE-01").findings
    flat, tapped = [f for f in findings if not f.drawing], [f for f in findings if f.drawing]
    assert flat
    assert tapped
    assert [(f.sentence, f.round) for f in flat if f.round is not None or "round" in f.sentence] == []
    assert all(f.round is not None and "round" in f.sentence for f in tapped)


def test_one_fault_is_one_finding() -> None:
    """A check that sees one fault in several ways is explained once, by what was seen of its rounds, and names every case."""
    report = judged(lambda target: Flat(find_fault("keep-first-rows").decoder(target)), "SEQUENCE-01")
    text = terminal(report)
    assert len(result_of(report, "SEQUENCE-01").findings) > 2
    assert len(re.findall("^SEQUENCE-01 failed", text, re.MULTILINE)) == 1
    assert "    [0] " in text
    assert [f.replay for f in result_of(report, "SEQUENCE-01").findings if f.replay not in text] == []


causes = st.sampled_from([(), ("one",), ("two",), ("one", "two"), ("two", "three")])


@given(
    st.lists(
        st.builds(
            Finding,
            status=st.just(Status.FAILED),
            sentence=st.text("ab"),
            causes=causes,
            diagnosed_on=st.sampled_from([0, 3]),
            round=st.none() | st.just(1),
        )
    )
)
def test_nothing_is_lost_where_findings_are_told_once(findings: list[Finding]) -> None:
    """Every finding is told once, first or behind another. Behind one stands what its cause would explain too, and what none
    does; no two that are told apart contradict each other: one cause is never part of another's, nor beside the word "none"."""
    told = once_each(findings)
    every = [one for first, others in told for one in (first, *others)]
    assert sorted(map(id, every)) == sorted(map(id, findings))
    assert all(not other.causes or set(first.causes) <= set(other.causes) for first, others in told for other in others)
    heads = [set(first.causes) for first, _ in told if first.causes]
    assert not any(one < other or (one == other and one is not other) for one in heads for other in heads)
    if heads:
        assert not any(first.diagnosed_on and not first.causes for first, _ in told)


@pytest.mark.parametrize("plain", [False, True], ids=["drafts", "does not"])
def test_the_tap_is_a_witness_for_the_same_text(plain: bool) -> None:
    """A right end of a text without rounds is a pass where the tap saw a draft verified for it, and not observable else."""
    report = judged(lambda target: Flat(ReferenceDecoder(target), plain=plain), "STOP-01", "STOP-02")
    stops: list[CheckResult] = [result_of(report, check) for check in ("STOP-01", "STOP-02")]
    assert {one.status for one in stops} == {Status.NOT_OBSERVABLE if plain else Status.PASSED}
    assert (report.witness.rounds > 0) == (not plain)
    assert [one.reason for one in stops if ("no witness" in one.reason) != plain] == []
