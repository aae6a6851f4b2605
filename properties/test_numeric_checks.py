"""NUMERIC: the rule is what it says, it is tried before it judges, and every fault of arithmetic is seen by one of the checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS, View
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.widths import WIDTHS
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.faults.rounding import NUMBER_FAULTS, NumberFault
from tree_oracle.record import Array, Case, CheckResult, Grade, Level, Noise, Report, Round, Status
from tree_oracle.report.ladder import steps
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.target import load_target

pytestmark = pytest.mark.sweep

VOCAB = 5


class Made:
    """A truth whose rows are all zero and whose errors are said."""

    exact, vocab_size, grade = False, VOCAB, Grade.SAME_ENGINE

    def __init__(self, noise: Noise, own: float = 0.0) -> None:
        self._noise, self._own = noise, own

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        return np.zeros((len(histories), VOCAB))

    def noise(self) -> Noise:
        return self._noise

    def error(self, history: Sequence[int]) -> float:
        return self._own


def judged(check: str, truth: Any, *rows: np.ndarray, parents: Sequence[tuple[int, ...]] = ()) -> Status:
    """The status of one case: a round for each array of rows, over chains unless parents are given."""
    rounds = [
        Round(emitted=(), prefix=(1,), tokens=tuple(range(len(found))), rows=Array.of(found),
              parents=parents[at] if parents else tuple(range(-1, len(found) - 1)))
        for at, found in enumerate(rows)
    ]  # fmt: skip
    try:
        found = list(CHECKS[check].judge(View(Case(prefix=(1,)), tuple(rounds), truth)))
    except NothingToJudge as nothing:
        return nothing.status
    return found[0].status if found else Status.PASSED


def off_by(gaps: Sequence[float]) -> np.ndarray:
    """Rows that are off by so much: one entry of each lies below the others."""
    rows = np.zeros((len(gaps), VOCAB))
    rows[:, 2] = [-gap for gap in gaps]
    return rows


@given(
    gaps=st.lists(st.sampled_from([0.0, 1.0, 2.5, 2.6, 3.0, 7.0]), min_size=1, max_size=4),
    own=st.sampled_from([0.0, 1.0, 1.2, 2.5, 2.6]),
    wrong=st.sampled_from([2.0, 2.5, 9.0]),
    samples=st.sampled_from([0, 1, 72]),
    unusable=st.sampled_from(["", "the cell overlaps"]),
)
def test_the_rule_judges_only_where_it_can(
    gaps: list[float], own: float, wrong: float, samples: int, unusable: str
) -> None:
    """Rows above 2 x plain error + floor, and above that of their own history, fail, if the rule is feasible, has power and is not
    exceeded by chance; where no row is above it nothing is left to chance."""
    noise = Noise(sequential=1.0, control=0.5, wrong_history=wrong, samples=samples, unusable=unusable)
    seen = judged("NUMERIC-01", Made(noise, own), off_by(gaps))
    by_chance = max(gaps) > 2.5 and len(gaps) / (samples + 1) > 1
    if unusable or wrong <= 2.5 or not samples or by_chance or own > 2.5:
        assert seen is Status.UNDECIDED
    else:
        assert seen is (Status.FAILED if max(gaps) > max(2.5, 2 * own + 0.5) else Status.PASSED)


@given(gap=st.sampled_from([0.0, 2.0**-40, 0.5, 1.0]), shift=st.sampled_from([0.0, 8.0, -0.5]))
def test_on_an_exact_target_nothing_may_be_off(gap: float, shift: float) -> None:
    """There the least difference fails, and a constant added to all logits of a row is none."""
    truth = Made(Noise())
    truth.exact = True
    assert judged("NUMERIC-01", truth, off_by([0.0, gap]) + shift) is (Status.FAILED if gap else Status.PASSED)


@given(
    moved=st.sampled_from([0.0, 2.0**-20, 4.9, 5.1, 30.0]),
    control=st.sampled_from([0.0, 0.5]),
    exact=st.booleans(),
)
def test_bits_are_asked_where_the_target_itself_keeps_them(moved: float, control: float, exact: bool) -> None:
    """A row that moves with its company fails, unless plain rows do so too and it moves by no more than two of them may."""
    noise = Noise(sequential=1.25 - control / 2, control=control, wrong_history=9.0, samples=72)  # allows 2.5 logits
    truth = Made(noise)
    truth.exact = exact
    rows = off_by([0.0, 0.0, 0.0])
    other = off_by([0.0, moved])
    seen = judged("NUMERIC-02", truth, rows, other)
    if exact or not control:
        assert seen is (Status.FAILED if moved else Status.PASSED)
    else:
        assert seen is (Status.FAILED if moved > 5 else Status.NOT_APPLICABLE)


def test_nodes_of_no_common_history_say_nothing() -> None:
    """Two passes without a node in both are not called equal."""
    truth = Made(Noise())
    truth.exact = True
    assert judged("NUMERIC-02", truth, off_by([0.0])) is Status.NOT_APPLICABLE


@pytest.mark.parametrize("spec", ["exact", "exact:vocab=77"])
def test_every_case_keeps_one_branch_and_changes_its_company(spec: str) -> None:
    """A case is a tree, a branch of it alone, and the tree with another token everywhere else; siblings are always distinct."""
    found = ground(spec)
    cases = found.stock.of(WIDTHS)
    sizes = {len(case.trees[0].tokens) for case in cases}
    assert min(sizes) < 8 < 16 < sorted(sizes)[-2] < 32 < max(sizes)
    for case in cases:
        whole, alone, others = case.trees
        assert WIDTHS.fits(case)
        assert others.parents == whole.parents
        assert alone.parents == tuple(range(-1, len(alone.tokens) - 1))
        kept = [v for v in range(len(whole.tokens)) if others.tokens[v] == whole.tokens[v]]
        assert tuple(whole.tokens[v] for v in kept) == alone.tokens
        assert all(whole.parents[after] == before for before, after in zip(kept, kept[1:], strict=False))
        for tree in case.trees:
            assert len(set(zip(tree.parents, tree.tokens, strict=True))) == len(tree.tokens)


CAUGHT = {
    "width-dependent-rounding": "NUMERIC-01",
    "row-shared-scale": "NUMERIC-02",
    "half-precision-state": "NUMERIC-01",
}


@pytest.mark.parametrize("fault", [one for one in NUMBER_FAULTS if one.name in CAUGHT], ids=lambda one: one.name)
def test_a_fault_of_the_targets_arithmetic_shows_in_a_decoder(fault: NumberFault) -> None:
    """On a float32 target a decoder whose model rounds wrongly fails; one that rounds as much as its own target does not."""
    check, found = CHECKS[CAUGHT[fault.name]], ground("tiny:llama")
    cases = found.stock.of(WIDTHS)[2:]
    if check.id == "NUMERIC-01":
        cases = tuple(Case(prefix=case.prefix, trees=case.trees[:1]) for case in cases)
    budget = Budget(cases=0, shrink_runs=0, diagnose=False)

    def result_of(planted: Any, subject: Any) -> CheckResult:
        (result,) = run_battery(subject, [check], budget, cases=cases).results
        return result

    wrong = found.subject(lambda target: ReferenceDecoder(fault.planted(target)))
    failed = result_of(fault, wrong)
    assert failed.status is Status.FAILED, failed.reason
    assert failed.findings[0].expected
    twin = result_of(fault, make_subject(ReferenceDecoder, fault.harmless(load_target("tiny:llama"))))
    assert twin.status is not Status.FAILED, twin.findings


def laddered(bitwise: Status, grade: str, required: int | None = None) -> Report:
    def result(check: str, level: Level, rung: int, status: Status) -> CheckResult:
        return CheckResult(check=check, law="", level=level, rung=rung, status=status)

    results = (
        result("GREEDY-01", Level.MUST, 3, Status.PASSED),
        result("WORK-01", Level.SHOULD, 4, Status.PASSED),
        result("NUMERIC-02", Level.SHOULD, 5, bitwise),
    )
    return Report(decoder="d", target="t", grade=grade, results=results, required=required)


@pytest.mark.parametrize("grade", ["A", "C"])
@pytest.mark.parametrize("bitwise", [Status.PASSED, Status.FAILED, Status.UNDECIDED, Status.NOT_APPLICABLE])
def test_the_last_rung_is_held_by_a_should_and_asked_of_nobody(bitwise: Status, grade: str) -> None:
    """L5 is held where its check passed on a model that rounds; without it the exit code is the same, unless it is required."""
    plain, asked = laddered(bitwise, grade), laddered(bitwise, grade, required=5)
    holds = bitwise is Status.PASSED and grade != "A"
    assert plain.held == (5 if holds else 3)
    assert (plain.exit_code, asked.exit_code, plain.broken) == (0, 0 if holds else 4, None)
    (last,) = [step for step in steps(plain) if step.number == 5]
    assert (last.state == "held") is holds
    if grade == "A":
        assert "nothing rounds on the exact model" in last.words
    alone = msgspec.structs.replace(plain, results=plain.results[1:])
    assert alone.exit_code == 4  # no must check passed
