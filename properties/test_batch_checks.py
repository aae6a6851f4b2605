"""The checks of batches: they say whose row it was, shrink to few requests, and let every right session pass."""

from __future__ import annotations

from typing import Any

import pytest
from grounds import all_of, ground, result_of, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.batches import BATCHES
from tree_oracle.decoder import BatchParts, Parts, ReferenceDecoder
from tree_oracle.decoder.session import ReferenceSession
from tree_oracle.faults import FAULTS, Fault
from tree_oracle.faults.batch_faults import BATCH_FAULTS
from tree_oracle.faults.batch_rule_faults import BATCH_RULE_FAULTS
from tree_oracle.record import Case, Finding, Limits, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

IDS = ("BATCH-01", "BATCH-02", "BATCH-03", "SESSION-01")
SLOW = max(2, settings().max_examples // 4)  # every session is computed anew from its prompts by four checks


def finding_of(name: str, check: str) -> Finding:
    (finding,) = result_of(ground().report(FAULTS[name].decoder, check), check).findings
    return finding


@settings(max_examples=SLOW)
@given(st.data())
def test_any_session_of_the_reference_passes(data: st.DataObject) -> None:
    """Whoever is admitted, dropped and resumed, with whatever trees and cap, no check holds anything against it."""
    found = ground()
    case = data.draw(BATCHES.generated(found.stock.stage))
    checks = tuple(CHECKS[name] for name in IDS)
    report = run_battery(
        found.subject(ReferenceDecoder), checks, Budget(shrink_runs=0), cases=[case], stock=found.stock
    )
    assert {result.status for result in report.results} <= {Status.PASSED, Status.NOT_APPLICABLE}, str(report)


def test_requests_run_one_by_one_pass_as_well() -> None:
    """A session that has no batch at all is judged by the same checks and passes."""

    def apart(target: Target) -> Any:
        return with_methods(open=lambda prompts, limits: ReferenceSession(target, Parts(), prompts, limits))

    assert all_of(ground().report(apart, *IDS), Status.PASSED)


def test_a_real_architecture_passes() -> None:
    """On a tiny model with windows a padded batch is within the noise of the plain pass."""
    found = ground("tiny:gemma3")
    cases = found.stock.of(BATCHES)[::8]
    checks = tuple(CHECKS[name] for name in IDS)
    report = run_battery(found.subject(ReferenceDecoder), checks, Budget(shrink_runs=0), cases=cases, stock=found.stock)
    assert all_of(report, Status.PASSED), str(report)


@pytest.mark.parametrize("fault", BATCH_FAULTS + BATCH_RULE_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_and_its_twin_replace_the_same_part_of_the_batch(fault: Fault) -> None:
    """A planted fault is one wrong part of the batched round, its twin a detour through the same part."""

    def replaced(parts: BatchParts) -> set[str]:
        return {name for name in BatchParts.__slots__ if getattr(parts, name) is not getattr(BatchParts(), name)}

    assert len(replaced(fault.parts.batch)) == 1
    assert replaced(fault.parts.batch) == replaced(fault.twin.batch)


NAMED = {
    "rows-left-in-sorted-order": ("BATCH-01", "it is the row of node 0 of request 2"),
    "equal-shares-of-ragged-rows": ("BATCH-01", "it is the row of node 6 of request 0"),
    "all-accept-what-the-shortest-accepts": ("BATCH-02", "it accepts as many nodes as request 1"),
    "accept-counts-of-the-row-before": ("BATCH-03", "it grew by as many rows as that of request 1 or 2"),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_request_that_was_mixed_up_is_named(name: str) -> None:
    """Where what was seen is right for another request of the same step, the finding says for which."""
    check, words = NAMED[name]
    sentence = finding_of(name, check).sentence
    assert sentence.startswith("request ")
    assert words in sentence


@pytest.mark.skipif(settings().max_examples < 1000, reason="takes 10 s: deep profile only")
def test_a_failure_shrinks_to_few_requests_and_small_trees() -> None:
    """Rows in the wrong order are shown on two requests, one round each, of a tree of two nodes and a root alone."""
    found, check = ground(), CHECKS["BATCH-01"]
    subject = found.subject(FAULTS["rows-left-in-sorted-order"].decoder)
    report = run_battery(subject, (check,), Budget(cases=0, shrink_runs=300, diagnose=False), stock=found.stock)
    (finding,) = report.results[0].findings
    assert finding.case is not None
    requests = finding.case.batch
    assert len(requests) == 2
    assert sorted(len(tree.tokens) for request in requests for tree in request.trees) == [1, 2]


def test_a_wrong_text_names_its_request() -> None:
    """A request with a wrong token in a later round is named, and the round among those of the whole session."""

    def wrong(target: Target) -> Any:
        def opened(prompts: Any, limits: Limits) -> Any:
            session = ReferenceDecoder(target).open(prompts, limits)

            def step(trees: Any) -> list[dict[str, Any]]:
                rounds = session.step(trees)
                texts = [list(round_.emitted) for round_ in rounds]
                if len(texts) > 1 and len(rounds[1].prefix or ()) > len(prompts[1]):
                    texts[1][-1] = (texts[1][-1] + 1) % target.vocab_size
                ends = [round_.end for round_ in rounds]
                accepted = [round_.accepted for round_ in rounds]
                return [
                    {"emitted": text, "end": end, "accepted": path}
                    for text, end, path in zip(texts, ends, accepted, strict=True)
                ]

            return with_methods(step=step, admit=session.admit, drop=session.drop)

        return with_methods(open=opened)

    found, check = ground(), CHECKS["SESSION-01"]
    cases: list[Case] = [
        case for case in found.stock.of(BATCHES) if case.note == "unequal trees, prefixes and acceptance"
    ]
    report = run_battery(found.subject(wrong), (check,), Budget(shrink_runs=0, diagnose=False), cases=cases)
    (finding,) = report.results[0].findings
    assert finding.sentence.startswith("request 1 of 3, in its round 1: token ")
    assert finding.round == 4  # three requests a step: the second request's second round
