"""A target with its truth and its cases, made once, on which the tests of the battery try many decoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tree_oracle.checks import Stage, choose
from tree_oracle.record import Case, CheckResult, Report, Status
from tree_oracle.record.consistent import contradiction
from tree_oracle.run import Budget, Subject, make_subject, run_battery
from tree_oracle.run.stock import Stock
from tree_oracle.target import SequentialTruth, Target, load_target

# A module for tests that name a decoder: few seams make few and quick cases. ``Wrong`` decides ties wrongly.
SMALL_DECODERS = """
from tree_oracle import ReferenceDecoder
from tree_oracle.faults import find_fault


class Right:
    def __init__(self, target, made=ReferenceDecoder):
        self._made = made(target)

    def accept(self, tree, rows):
        return self._made.accept(tree, rows)

    def generate(self, prompts, limits):
        return self._made.generate(prompts, limits)


class Wrong(Right):
    def __init__(self, target):
        super().__init__(target, find_fault("last-maximum-wins").decoder)
"""


class Ground:
    """One target. Its truth runs a copy of the model that no decoder ever sees."""

    def __init__(self, spec: str, cases: int, **options: str) -> None:
        self.spec, self.options, self.cases = spec, options, cases
        self.truth = SequentialTruth(load_target(spec, **options))
        self.stock = Stock(Stage(self.truth), cases=cases)

    @property
    def target(self) -> Target:
        """A target of its own for whoever asks."""
        return load_target(self.spec, **self.options)

    def subject(self, decoder: Any) -> Subject:
        """``decoder``, or what the factory makes of a target, ready to be judged."""
        return make_subject(decoder, self.target, truth=self.truth)

    def report(self, decoder: Any, *ids: str, budget: Budget | None = None) -> Report:
        """The decoder judged by the named checks, or by all; whatever it does, the report does not contradict itself."""
        budget = budget or Budget(cases=self.cases, shrink_runs=0, diagnose=False)
        found = run_battery(self.subject(decoder), choose(ids=ids), budget, stock=self.stock)
        assert not contradiction(found), contradiction(found)
        return found


@cache
def ground(
    spec: str = "exact", *, cases: int = 0, dtype: str = "float32", attention: str = "sdpa", device: str = "cpu"
) -> Ground:
    """The ground of that name: the listed cases, and ``cases`` generated ones for each scene."""
    return Ground(spec, cases, dtype=dtype, attention=attention, device=device)


def listed(found: Ground, step: int, first: int = 0) -> list[Case]:
    """Every ``step``-th case of every scene, from the one numbered ``first`` on."""
    scenes = {source.scene.name: source.scene for check in choose() for source in check.sources}
    return [case for scene in scenes.values() for case in found.stock.of(scene)[first::step]]


def statuses(report: Report) -> dict[str, Status]:
    """The status of each check."""
    return {result.check: result.status for result in report.results}


def result_of(report: Report, check: str) -> CheckResult:
    """What came of one check."""
    return next(result for result in report.results if result.check == check)


def sentences(report: Report) -> list[str]:
    """Every sentence and every reason that the report gives."""
    found = [finding.sentence for result in report.results for finding in result.findings]
    return found + [result.reason for result in report.results if result.reason]


def with_methods(**methods: Callable[..., Any]) -> Any:
    """An object with these functions as its methods and nothing else."""
    return type("Decoder", (), {name: staticmethod(method) for name, method in methods.items()})()


def only_builds(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A factory of the same decoders that lets them show how they build trees and nothing else."""

    def made(target: Any) -> Any:
        whole = make(target)
        decoder = with_methods(build_tree=whole.build_tree)
        decoder.tree_policy = whole.tree_policy
        return decoder

    return made


def all_of(report: Report, wanted: Status | Sequence[Status]) -> bool:
    """Whether every check ended in the wanted status, or in one of them."""
    allowed = (wanted,) if isinstance(wanted, Status) else wanted
    return all(result.status in allowed for result in report.results)
