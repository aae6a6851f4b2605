"""Running checks against one decoder, in this process, into a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tree_oracle.checks import Check
from tree_oracle.record import Case, CheckResult, Earlier, Report
from tree_oracle.run.battery import Battery
from tree_oracle.run.budget import USUAL, Budget
from tree_oracle.run.environment import environment
from tree_oracle.run.kernels_seen import kernels_seen
from tree_oracle.run.power import Power
from tree_oracle.run.sources import decoder_file
from tree_oracle.run.stock import Stock
from tree_oracle.run.subject import Subject
from tree_oracle.run.tally import Head, Tally

IN_PROCESS = "none: this process, which cannot stop a hang"

Listener = Callable[[CheckResult], None]


def run_battery(
    subject: Subject,
    checks: Sequence[Check],
    budget: Budget = USUAL,
    *,
    required: int | None = None,
    cases: Sequence[Case] | None = None,
    earlier: Sequence[Earlier] = (),
    stock: Stock | None = None,
    power: bool = False,
    on_result: Listener = lambda result: None,
) -> Report:
    """Judge ``subject`` by every check, in order.

    Args:
        subject: what is judged.
        checks: the checks, in the order to run them.
        budget: how much is tried.
        required: the rung that must be held for exit code 0.
        cases: judged instead of the checks' own, where they fit.
        earlier: requests that the decoder answers before each of them.
        stock: cases that were made for the same target before.
        power: whether wrong answers are planted behind the adapter as well.
        on_result: called with each result as soon as it is known.
    """
    battery = Battery(subject, budget, stock, earlier=earlier)
    tally = Tally(checks, lambda finished: on_result(finished.result))
    run_missing(battery, tally, cases)
    if power:
        tally.power = Power(subject, battery.stock).measured()
    return tally.report(required=required, budget=budget, tolerance=subject.tolerance)


def run_missing(battery: Battery, tally: Tally, cases: Sequence[Case] | None = None) -> None:
    """Do what the tally misses."""
    tally.head = head_of(battery.subject, IN_PROCESS)
    for check in tally.missing:
        tally.add(battery.finish(check, cases))


def head_of(subject: Subject, isolation: str) -> Head:
    """What the report says of the run as a whole."""
    place = environment(subject.target) | decoder_file(subject.factory or subject.decoder) | {"isolation": isolation}
    place |= kernels_seen(getattr(subject.truth, "target", None))  # only a truth that runs a model has one
    return Head(subject.name, subject.target.spec, subject.truth.grade.value, place)
