"""The line of a report that says what the case is: whoever sees the report alone knows what was asked."""

from __future__ import annotations

import re

import msgspec
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.faults import FAULTS
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.record import Case, CheckResult, Finding, Limits, Processors, RequestData, Status, TreeData
from tree_oracle.report import result_text
from tree_oracle.report.case_line import case_line
from tree_oracle.run import Budget


def failing(factory: object, check: str, *, diagnose: bool = False) -> CheckResult:
    report = ground().report(factory, check, budget=Budget(cases=0, shrink_runs=0, diagnose=diagnose))
    (result,) = report.results
    assert result.findings
    return result


def test_a_move_is_shown_by_what_is_moved() -> None:
    """Slots, accepted nodes and the request's pages are those of the case, and a prefix that has no part in it is left out."""
    result = failing(FAULTS["pool-values-not-moved"].decoder, "MOVE-01")
    case, text = result.findings[0].case, result_text(result, width=400)
    assert case is not None
    assert case.move is not None
    line = next(line for line in text.splitlines() if line.strip().startswith("case"))
    for shown in (
        f"slots {list(case.move.slots)}",
        f"accepted {list(case.move.accepted)}",
        f"pages {list(case.move.pages)}",
    ):
        assert shown in line
    assert "prefix" not in line


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["top-k-with-ratio", "all-noise-kept"])
def test_a_sampled_case_is_shown_by_its_laws_and_its_cause_is_named(name: str) -> None:
    """The weights of both laws are shown, and the line about causes names the planted way to sample."""
    fault = LAW_FAULTS[name]
    result = failing(fault.decoder, fault.check, diagnose=True)
    case, text = result.findings[0].case, result_text(result, width=400)
    assert case is not None
    assert case.law is not None
    assert f"target {':'.join(map(str, case.law.target))}, draft {':'.join(map(str, case.law.draft))}" in text
    assert re.search(rf"^  cause .*\b{name}\b", text, re.M)


def test_a_batch_is_shown_by_its_requests() -> None:
    """The number of requests and the nodes of each stand in the line."""
    result = failing(FAULTS["all-accept-what-the-shortest-accepts"].decoder, "BATCH-02")
    case, text = result.findings[0].case, result_text(result, width=400)
    assert case is not None
    sizes = " + ".join(str(sum(len(tree.tokens) for tree in request.trees)) for request in case.batch)
    assert f"{len(case.batch)} requests with {sizes} nodes" in text


tokens = st.integers(0, 60)
limits = st.builds(
    Limits,
    max_new_tokens=st.integers(0, 90),
    eos_ids=st.lists(tokens, max_size=3).map(tuple),
    max_length=st.none() | st.integers(1, 90),
    stop=st.lists(st.lists(tokens, min_size=1, max_size=3).map(tuple), max_size=2).map(tuple),
    min_new=st.integers(0, 5),
)
TREE = TreeData((3, 4), (-1, 0))
SHAPES = {
    "a text": Case(prefix=(3,)),
    "driven trees": Case(prefix=(3,), trees=(TREE, TREE)),
    "a batch": Case(prefix=(), batch=(RequestData(prompt=(3,), trees=(TREE,)),) * 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_processors_are_stated(shape: str) -> None:
    """Whatever is done to the rows of a case, of one request or of several, stands in its line."""
    case = msgspec.structs.replace(SHAPES[shape], processors=Processors(repetition=1.5))
    line = case_line(Finding(status=Status.FAILED, sentence="x", case=case, round=0))
    assert "processed by repetition" in line


@given(limits, st.sampled_from(sorted(SHAPES)))
def test_every_limit_of_a_case_is_stated(asked: Limits, shape: str) -> None:
    """Whether a case is a text, driven trees or a batch, its line states each of its limits and none that it has not."""
    case = msgspec.structs.replace(SHAPES[shape], limits=asked)
    line = case_line(Finding(status=Status.FAILED, sentence="x", case=case, round=0))
    assert f"at most {asked.max_new_tokens} token" in line
    stated = {
        "in a context of": asked.max_length is not None,
        f"in a context of {asked.max_length}": asked.max_length is not None,
        f"end tokens {list(asked.eos_ids)}": bool(asked.eos_ids),
        "no end token": not asked.eos_ids,
        "stop sequences": bool(asked.stop),
        f"at least {asked.min_new} before an end token": asked.min_new > 0,
    }
    assert {words: words in line for words in stated} == stated
    assert all(str(list(sequence)) in line for sequence in asked.stop)
