"""Showing that the battery tells right from wrong: the reference passes, every fault is caught, every twin passes.

For each planted fault the named check is run on up to 50 cases, and the number of the first case that failed is reported; for
each twin every check is run that can see what it replaces, and must pass or have nothing to say of it. Nothing here is hard
coded: a check that cannot fail shows as a fault that was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tree_oracle.checks import CHECKS, Check, Source, Stage, choose
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.decoder.showing import replaced
from tree_oracle.faults import PLANTED, Fault, Planted, find_fault
from tree_oracle.record import CheckResult, Level, Status
from tree_oracle.run.battery import Battery
from tree_oracle.run.budget import Budget
from tree_oracle.run.in_process import run_battery
from tree_oracle.run.stock import Stock
from tree_oracle.run.subject import Subject, make_subject
from tree_oracle.target import SequentialTruth, load_target

CATCH_WITHIN = 50
_SILENT = (Status.NOT_APPLICABLE, Status.NOT_OBSERVABLE)


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the proof."""

    name: str
    what: str  # "reference", "fault" or "twin"
    target: str
    check: str = ""  # the check that must catch it
    cases: int
    caught_at: int | None = None
    good: bool
    statement: str


def prove(
    *,
    cases: Sequence[tuple[str, int]] = (("exact", 1000), ("tiny:qwen3", 200)),
    names: Sequence[str] = (),
    twins: bool = True,
) -> Iterator[Proof]:
    """Run the whole proof, line by line.

    Args:
        cases: target and number of generated cases per check for the reference decoder.
        names: faults to try; all of them if empty.
        twins: whether their twins are run too.

    Raises:
        UsageError: no fault of that name.
    """
    for target, count in cases:
        yield _clean(Ground(target, count), "reference", "reference", ReferenceDecoder, choose())
    grounds = Grounds(cases=CATCH_WITHIN)
    for fault in [find_fault(name) for name in names] if names else PLANTED.values():
        yield _caught(grounds.of(fault.target), fault)
        if not twins:
            continue
        yield _clean(grounds.of(fault.target), fault.name, "twin", fault.harmless, seeing(fault))


def seeing(fault: Planted) -> list[Check]:
    """The checks that can see a fault, or its twin."""
    return [check for check in choose() if any(_may_see(source, fault) for source in check.sources)]


def _may_see(source: Source, fault: Planted) -> bool:
    """Whether the part is run: the histories of paths are kept only where something is asked of them."""
    asked = source.scene.processed or source.scene.minimum
    of_paths = isinstance(fault, Fault) and replaced(fault.twin) == ("path",)
    return source.seam in fault.seams and (asked or not of_paths)


class Ground:
    """A target, its truth and the cases: the same for every decoder that is tried on it."""

    def __init__(self, target: str, cases: int) -> None:
        self.target, self.budget = target, Budget(cases=cases, shrink_runs=50, diagnose=False)
        self.truth = SequentialTruth(load_target(target))
        self.stock = Stock(Stage(self.truth), cases=cases)

    def subject(self, name: str, factory: Callable[..., object]) -> Subject:
        return make_subject(factory, self.target, name=name, truth=self.truth)


class Grounds:
    """One ground per target, made when it is first asked for."""

    def __init__(self, *, cases: int) -> None:
        self._cases, self._made = cases, dict[str, Ground]()

    def of(self, target: str) -> Ground:
        """The ground of a target by its specification."""
        if target not in self._made:
            self._made[target] = Ground(target, self._cases)
        return self._made[target]


def _says_nothing(result: CheckResult, what: str) -> bool:
    """Whether a result is nothing against whoever it is of: a should that has too few control rows is none."""
    twin = what == "twin" and result.status in _SILENT
    return twin or (result.level is Level.SHOULD and result.status is Status.UNDECIDED)


def _clean(ground: Ground, name: str, what: str, factory: Callable[..., object], checks: Sequence[Check]) -> Proof:
    report = run_battery(ground.subject(name, factory), checks, ground.budget, stock=ground.stock)
    silent = [r for r in report.results if _says_nothing(r, what)]
    against = [r for r in report.results if r.status is not Status.PASSED and r not in silent]
    judged = sum(result.cases for result in report.results)
    said = f"{judged} cases judged by {len(report.results) - len(silent)} checks, 0 failures"
    if silent:
        said += f"; {', '.join(r.check for r in silent)} can say nothing of it"
    return Proof(
        name=name,
        what=what,
        target=ground.target,
        cases=judged,
        good=not against and judged > 0,
        statement=_against(against[0]) if against else said,
    )


def _against(result: CheckResult) -> str:
    sentence = result.findings[0].sentence if result.findings else result.reason
    return f"{result.check} {result.status}: {sentence}"


def _caught(ground: Ground, fault: Planted) -> Proof:
    battery = Battery(ground.subject(fault.name, fault.decoder), ground.budget, ground.stock)
    result = battery.run(CHECKS[fault.check])
    at = result.failed_at if result.status is Status.FAILED else None
    return Proof(
        name=fault.name,
        what="fault",
        target=ground.target,
        check=fault.check,
        cases=result.cases,
        caught_at=at,
        good=at is not None and at <= CATCH_WITHIN,
        statement=result.findings[0].sentence if result.findings else f"missed: {result.status}",
    )
