"""A failing law is traced to the planted way to sample that decides the same, coin for coin, or to none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest
from grounds import ground
from jaxtyping import Float

from tree_oracle.checks import CHECKS
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.faults.laws.suspects import LAW_SUSPECTS
from tree_oracle.record import CheckResult, Status
from tree_oracle.run import Battery, Budget, Named, matrix
from tree_oracle.run.diagnose_law import LawLineUp
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.law import Declaration, NodeScheme
from tree_oracle.verify.rules import PROPOSALS, ByDepth, without_replacement

ALONE = Budget(cases=0, shrink_runs=0)
INDEPENDENT = Declaration(rule="multi-round", proposal="independent")
Row = Float[np.ndarray, " vocab"]


def result_of(decoder: Any, check: str) -> CheckResult:
    found = ground()
    return Battery(found.subject(decoder), ALONE, found.stock).run(CHECKS[check])


def named(result: CheckResult) -> tuple[list[str], bool]:
    finding = result.findings[0]
    return [cause.partition(":")[0] for cause in finding.causes], finding.certain


class Own:
    """Multi-round sampling in floats, written apart. ``after`` says what is left of the target after a rejection."""

    def __init__(self, after: Callable[[Row, Row, int, bool], Row], mode: Declaration = INDEPENDENT) -> None:
        self._after, self.declared_mode = after, mode

    def accept_sampled(
        self, tree: CandidateTree, target: np.ndarray, draft: np.ndarray, coins: Iterator[float]
    ) -> tuple[tuple[int, ...], int]:
        path, here = list[int](), 0
        while True:
            children = np.flatnonzero(tree.parents == here).tolist()
            left, found = target[here].copy(), None
            for number, child in enumerate(children):
                token = int(tree.tokens[child])
                if next(coins) * draft[here][token] < left[token]:
                    found = child
                    break
                left = self._after(left, draft[here], token, number + 1 == len(children))
            if found is None:
                return tuple(path), int(np.searchsorted(np.cumsum(left), next(coins) * left.sum(), side="right"))
            path.append(found)
            here = found


def residual(left: Row, draft: Row, token: int, last: bool) -> Row:
    """What is due."""
    rest = np.maximum(left - draft, 0)
    return rest / rest.sum() if rest.sum() > 1e-12 else left


def at_the_end(left: Row, draft: Row, token: int, last: bool) -> Row:
    return residual(left, draft, token, last) if last else left


def rejected_zeroed(left: Row, draft: Row, token: int, last: bool) -> Row:
    """No planted fault under draws: the rejected token alone is taken away."""
    rest = np.where(np.arange(len(left)) == token, 0, left)
    return rest / rest.sum() if rest.sum() > 0 else left


SWEPT = [pytest.param(name, marks=pytest.mark.sweep) for name in ("without-replacement", "deterministic")]


@pytest.mark.parametrize("proposal", ["independent", *SWEPT])
def test_a_wrong_rule_that_was_written_apart_is_recognised(proposal: str) -> None:
    """Of one wrong rule under three proposals the one for the declared proposal is named, alone and certain."""
    rules = {
        "independent": "multi-round",
        "without-replacement": "without-replacement",
        "deterministic": "point-mass",
    }
    names = {"deterministic": "top-k-with-raw-ratio"}
    decoder = Own(at_the_end, Declaration(rule=rules[proposal], proposal=proposal))
    result = result_of(decoder, "LAW-01")
    assert result.status is Status.FAILED
    assert named(result) == ([names.get(proposal, f"{proposal}-with-raw-ratio")], True)


def test_the_rule_that_is_due_passes() -> None:
    """The twin: the same code, with the residual taken in time."""
    assert result_of(Own(residual), "LAW-01").status is Status.PASSED
    assert result_of(Own(residual), "LAW-02").status is Status.PASSED


def test_a_right_rule_for_another_proposal_is_recognised() -> None:
    """Siblings without replacement, verified as independent ones: the rule is as declared, and that is the fault."""
    mode = Declaration(rule="multi-round", proposal="without-replacement")
    result = result_of(Own(residual, mode), "LAW-02")
    assert result.status is Status.FAILED
    assert named(result) == (["without-replacement-as-independent"], True)


def test_an_unusual_rule_has_no_cause() -> None:
    """What no planted fault decides is called unknown, with all suspects ruled out."""
    finding = result_of(Own(rejected_zeroed), "LAW-01").findings[0]
    assert (finding.causes, finding.certain) == ((), False)
    assert len(finding.ruled_out) > 10


def test_a_declared_rule_that_is_followed_is_no_fault_of_the_rule() -> None:
    """A mode that is not proven, and that no suspect declares: suspects with the same rule for other proposals are no cause."""
    mode = Declaration(rule="without-replacement", proposal="deterministic")
    scheme = NodeScheme(without_replacement, PROPOSALS["deterministic"], ByDepth((2, 1)))
    result = result_of(SampledDecoder(scheme, mode), "LAW-02")
    assert result.status is Status.FAILED
    assert named(result) == ([], False)
    assert result.findings[0].diagnosed_on > 1


class OwnChance:
    """A planted fault that takes its coins from elsewhere."""

    def __init__(self) -> None:
        self._sampling = LAW_FAULTS["likelier-of-two"].sampling()
        self.declared_mode = self._sampling.declared_mode
        self._chance = np.random.default_rng(3)

    def open_sampled(self, target: Any, draft: Any) -> Any:
        session, chance = self._sampling.open_sampled(target, draft), self._chance

        class Session:
            def step(self, coins: Iterator[float]) -> Any:
                return session.step(iter(chance.random, None))

        return Session()


def test_where_no_coin_is_taken_no_cause_is_looked_for() -> None:
    """A decoder with chance of its own shows samples, which equal nobody's; that none fits would be no finding."""
    result = result_of(lambda _: OwnChance(), "LAW-04")
    assert result.status is Status.FAILED
    assert (result.findings[0].causes, result.findings[0].diagnosed_on) == ((), 0)


def test_every_law_fault_is_one_suspect_or_part_of_one() -> None:
    """No fault is left out or told twice; those that act alike have one name for both."""
    assert sorted(chain.from_iterable([f.name for f in s.faults] for s in LAW_SUSPECTS)) == sorted(LAW_FAULTS)
    together = {suspect.name for suspect in LAW_SUSPECTS if len(suspect.faults) > 1}
    assert together == {"top-k-with-ratio = top-k-with-ratio-on-equal-laws"}


def test_one_failing_case_makes_nothing_certain() -> None:
    """A law that fails on one case alone is traced, and what is missing is said."""
    found = ground()
    battery = Battery(found.subject(Own(at_the_end)), ALONE, found.stock)
    (source,) = CHECKS["LAW-01"].sources
    failing = next(c for c in found.stock.of(source.scene) if battery.judge(CHECKS["LAW-01"], source, c).findings)
    seen = battery.driver.rounds
    told = LawLineUp(INDEPENDENT).diagnose(
        source.seam, failing, [], lambda case: seen(source.seam, case), lambda case: case == failing
    )
    assert "independent-with-raw-ratio" in [suspect.name for suspect in told.fits]
    assert not told.certain
    assert "on one case only" in told.uncertain or "tells the" in told.uncertain


def test_the_matrix_names_a_law_fault() -> None:
    """Through each of the two seams that show it the planted fault is named alone, and is not driven through others."""
    cells = [cell for cell in matrix(["top-k-with-ratio-on-equal-laws"]) if cell.check]
    assert {cell.seam for cell in cells} == {"accept_sampled", "open_sampled"}
    assert {cell.named for cell in cells} == {Named.ALONE}
    assert all(cell.good for cell in cells)


@pytest.mark.sweep
def test_the_matrix_names_every_law_fault() -> None:
    """Each is seen, and named first wherever it is; nothing else is called certain."""
    cells = [cell for cell in matrix(list(LAW_FAULTS)) if cell.check]
    assert {cell.fault for cell in cells} == set(LAW_FAULTS)
    assert [cell for cell in cells if cell.named not in (Named.ALONE, Named.FIRST)] == []
    assert all(cell.good for cell in cells)
