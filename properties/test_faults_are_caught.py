"""The battery tells right from wrong: every planted fault is caught by the check that must catch it, every twin passes.

Twins are tried on a share of the listed cases, another share for every twin; ``tree-oracle faults --prove`` uses them all.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from grounds import Ground, ground, listed, sentences, statuses

from tree_oracle.checks import CHECKS, choose
from tree_oracle.checks.wide import WIDE
from tree_oracle.faults import FAULTS, find_fault
from tree_oracle.record import Case, Level, Status, UsageError
from tree_oracle.run import Budget, prove, run_battery
from tree_oracle.run.proof import seeing

CATCH_WITHIN = 50
QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
SHARE = 120
# In the profile ci every third twin; which, is a matter of chance only.
TWINS = list(FAULTS)[:: 1 if os.environ.get("TREE_ORACLE_PROFILE") == "deep" else 3]


def of_check(found: Ground, check: str) -> list[Case]:
    """The first cases of the check's own scenes, where a share may hold none that the check has something to say about."""
    return [case for source in CHECKS[check].sources for case in found.stock.of(source.scene)[:2]]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_by_the_check_that_must_catch_it(name: str) -> None:
    """The named check fails within 50 listed cases, with a sentence, what was expected, and a case to see it again."""
    fault, check = FAULTS[name], CHECKS[FAULTS[name].check]
    found = ground(fault.target)
    for source in check.sources:  # up to the first that shows it; the matrix tries every seam
        alone = [replace(check, sources=(source,))]
        report = run_battery(found.subject(fault.decoder), alone, QUICK, stock=found.stock)
        (result,) = report.results
        if result.status is Status.FAILED:
            break
    assert result.status is Status.FAILED
    assert result.failed_at is not None
    assert result.failed_at <= CATCH_WITHIN
    finding = result.findings[0]
    assert finding.sentence
    assert finding.expected
    assert finding.seen
    assert isinstance(finding.case, Case)
    assert finding.replay
    assert report.exit_code != 0


@pytest.mark.parametrize("name", TWINS)
def test_a_harmless_twin_passes_every_check(name: str) -> None:
    """The same detour through the code without the fault is held against nobody, by any check that can see the part."""
    fault, number = FAULTS[name], list(FAULTS).index(name)
    found = ground(fault.target)
    cases = [*listed(found, SHARE, number % SHARE), *of_check(found, fault.check)]
    report = run_battery(found.subject(fault.harmless), seeing(fault), QUICK, cases=cases, stock=found.stock)
    fine = {Status.PASSED, Status.NOT_APPLICABLE}
    # So few cases may show nothing to a check that should be passed; one that must be passed is never left without any.
    # A commit that had nothing to move is the exception: whether one had is up to the few texts; none of these tells a cache.
    due = [
        result
        for result in report.results
        if result.status is not Status.NOT_OBSERVABLE
        or (
            result.level is Level.MUST
            and not result.reason.startswith("rounds do not show cache")
            and not result.reason.endswith(("had to be moved", "node was kept"))
        )
    ]
    assert {result.status for result in due} <= fine, sentences(report)
    assert statuses(report)[fault.check] is Status.PASSED
    assert report.exit_code == 0


def test_an_encoding_that_cannot_hold_a_tree_is_refused_by_every_writer() -> None:
    """A word of 64 bits holds no tree of 65 nodes: fault and twin refuse it, and blame falls on neither."""
    fault = FAULTS["shift-of-32-bits"]
    wide = [case for case in ground().stock.of(WIDE) if len(case.trees[0].tokens) > 64]
    assert wide
    report = run_battery(ground().subject(fault.harmless), choose(ids=["VISIBLE-03"]), QUICK, cases=wide[:2])
    assert set(statuses(report).values()) == {Status.NOT_APPLICABLE}


def test_the_proof_says_what_the_battery_says() -> None:
    """``prove`` reports a fault as caught, with its check and the number of the case."""
    caught = next(prove(cases=(), names=["orphan-kept"]))
    assert (caught.what, caught.check, caught.good) == ("fault", "CONSTRUCT-04", True)
    assert caught.caught_at is not None
    assert caught.caught_at <= CATCH_WITHIN
    assert "the tree holds" in caught.statement


def test_an_unknown_fault_is_refused() -> None:
    """A name that means nothing is answered with the nearest one, and nothing is proven without being asked for."""
    with pytest.raises(UsageError, match="no planted fault 'sibling-leek'; the nearest is 'sibling-leak'"):
        find_fault("sibling-leek")
    with pytest.raises(UsageError, match="no planted fault 'nothing'"):
        list(prove(cases=(), names=["nothing"]))
