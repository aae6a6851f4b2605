"""A judge that raises costs its own check, in words that blame the harness, and never the report of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from grounds import ground, result_of, statuses, with_methods

from tree_oracle import ReferenceDecoder
from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.batches import BATCHES
from tree_oracle.checks.scenes import TREES
from tree_oracle.record import Finding, Limits, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

LITTLE = Budget(cases=0, shrink_runs=5, diagnose=False)


def at_once(view: View) -> Iterator[Finding]:
    """A judge with a slip that its first line meets."""
    raise IndexError("index 7 is out of bounds")


def after_findings(view: View) -> Iterator[Finding]:
    """A judge with a slip behind its findings: half of what it says is as bad as nothing."""
    yield from CHECKS["VISIBLE-03"].judge(view)
    yield Finding(status=Status.FAILED, sentence="made up")
    raise ZeroDivisionError("a division\nby zero")


@pytest.mark.parametrize("judge", [at_once, after_findings])
def test_a_judge_that_raises_is_an_error_of_the_harness(judge: Callable[[View], Iterator[Finding]]) -> None:
    """The check is in error and says where its judge raised, the other check passes, and the exit code is 3."""
    checks = [replace(CHECKS["VISIBLE-03"], judge=judge), CHECKS["POSITION-01"]]
    cases = ground().stock.of(TREES)[:6]
    report = run_battery(ground().subject(ReferenceDecoder), checks, LITTLE, cases=cases, stock=ground().stock)

    assert statuses(report) == {"VISIBLE-03": Status.ERROR, "POSITION-01": Status.PASSED}
    (finding,) = result_of(report, "VISIBLE-03").findings
    assert finding.sentence.startswith("the harness is at fault, not the decoder: the judge of VISIBLE-03 raised ")
    assert "test_broken_judge.py:" in finding.sentence
    assert "\n" not in finding.sentence
    assert finding.replay
    assert report.exit_code == 3


def empty_caches(target: Target) -> Any:
    """The reference, whose session shows caches of no rows, with all of their heads and their whole width."""

    def opened(prompts: Any, limits: Limits) -> Any:
        session = ReferenceDecoder(target).open(prompts, limits)

        def step(trees: Any) -> list[Round]:
            return session.step(trees)

        def cache() -> list[Any]:
            return [
                [(part.keys.numpy()[:, :0], part.values.numpy()[:, :0]) for part in rows] for rows in session.cache()
            ]

        return with_methods(step=step, cache=cache, admit=session.admit, drop=session.drop)

    return with_methods(open=opened)


def test_caches_without_rows_are_a_finding() -> None:
    """Heads x 0 x width is an answer like any other, and wrong: BATCH-03 says how many rows were seen and expected."""
    cases = ground().stock.of(BATCHES)[:3]
    report = run_battery(ground().subject(empty_caches), [CHECKS["BATCH-03"]], LITTLE, cases=cases)
    (result,) = report.results
    assert result.status is Status.FAILED
    assert "0 rows" in result.findings[0].sentence + result.findings[0].seen
