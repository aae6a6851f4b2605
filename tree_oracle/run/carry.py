"""Carrying out a plan: in this process or in children, with a journal, against a list of known failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tree_oracle.checks import choose
from tree_oracle.record import Case, CheckResult, Report, ToleranceFile, tolerance_file
from tree_oracle.run.child_run import run_isolated
from tree_oracle.run.child_visit import Caps
from tree_oracle.run.environment import versions
from tree_oracle.run.journal import Journal
from tree_oracle.run.known import KnownFailures, no_known_failures
from tree_oracle.run.misfits import refuse_misfits
from tree_oracle.run.plan import Plan
from tree_oracle.run.sources import sources_digest
from tree_oracle.run.supervision import Supervision
from tree_oracle.run.tally import Finished, Tally


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C. ``report`` holds what was done, unless there was no target yet."""

    def __init__(self, report: Report | None) -> None:
        super().__init__("interrupted")
        self.report = report


def carry_out(
    plan: Plan,
    *,
    caps: Caps | None = None,
    journal: Path | None = None,
    resume: bool = False,
    known: KnownFailures | None = None,
    required: int | None = None,
    cases: Sequence[Case] | None = None,
    on_result: Callable[[CheckResult], None] = lambda result: None,
) -> Report:
    """Run what the plan asks for.

    Args:
        plan: decoder, target, checks and budget, by name.
        caps: run in child processes that may take no more than this; None runs in this process.
        journal: file that keeps every finished check until the run is over.
        resume: go on with what the journal holds.
        known: failures that are expected.
        required: the rung that must be held for exit code 0.
        cases: judged instead of the checks' own, where they fit.
        on_result: called with each result as soon as it is known, those of the journal first.

    Raises:
        UsageError: a name matches nothing, decoder and target do not fit together, or the journal is of another run.
        FileError: the journal cannot be read.
        AdapterError, DecoderError: the factory does not take a target, or raised.
        Interrupted: Ctrl-C.
    """
    expected = known or no_known_failures()
    plan = msgspec.structs.replace(plan, as_found=expected.checks)
    # By its content too: a report may be measured again under the same name.
    floor = None if plan.tolerance is None else tolerance_file(Path(plan.tolerance))
    kept = None if journal is None else Journal(journal, _identity(plan, caps, floor), resume=resume)
    asked = _Asked(plan, expected, required, floor)

    def finish(finished: Finished) -> None:
        if kept is not None:
            kept.add(finished)
        on_result(expected.mark(finished.result))

    tally = Tally(choose(ids=plan.checks), finish)
    if kept is not None:
        tally.take(kept.finished)
        for earlier in kept.finished:
            on_result(expected.mark(earlier.result))
    try:
        _run(plan, tally, caps, cases)
    except KeyboardInterrupt:
        raise Interrupted(asked.report(tally) if tally.head is not None else None) from None
    if kept is not None:
        kept.close()
    return asked.report(tally)


def _run(plan: Plan, tally: Tally, caps: Caps | None, cases: Sequence[Case] | None) -> None:
    if caps is not None:
        run_isolated(plan, tally, caps, cases=cases)
        return
    from tree_oracle.run.battery import Battery  # resolved here, since they load torch
    from tree_oracle.run.in_process import run_missing
    from tree_oracle.run.lookup import find_decoder
    from tree_oracle.run.power import Power
    from tree_oracle.run.subject import make_subject

    name, found = find_decoder(plan.decoder)
    subject = make_subject(
        found, plan.target, name=name, device=plan.device, dtype=plan.dtype, attention=plan.attention,
        tolerance=plan.tolerance,
    )  # fmt: skip
    refuse_misfits(plan.earlier, cases or (), tally.checks, subject.target)
    supervision = Supervision(as_found=frozenset(plan.as_found))
    battery = Battery(subject, plan.budget, supervision=supervision, broken=tally.broken, earlier=plan.earlier)
    run_missing(battery, tally, cases)
    if plan.power:
        tally.power = Power(subject, battery.stock, supervision).measured()


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the report says of the run beside its results."""

    plan: Plan
    known: KnownFailures
    required: int | None
    floor: ToleranceFile | None

    def report(self, tally: Tally) -> Report:
        report = tally.report(required=self.required, budget=self.plan.budget, tolerance=self.floor)
        results = tuple(self.known.mark(result) for result in report.results)
        return msgspec.structs.replace(report, results=results, violations=self.known.violations(results))


def _identity(plan: Plan, caps: Caps | None, floor: ToleranceFile | None) -> dict[str, object]:
    """All that decides what the results are."""
    told: dict[str, object] = {
        "plan": plan,
        "limits": caps,
        "sources": sources_digest(plan.decoder),
        "versions": versions(),
    }
    if floor is not None:
        told["tolerance"] = floor.sha256
    return told
