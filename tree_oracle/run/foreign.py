"""Judging a decoder that runs under another Python interpreter, where this package need not be installed.

There it is handed the prompts of the oracle's own cases, and what it answers is recorded; here the trace is judged by
sequential runs of the named target. So everything that its rounds show is judged (``trace_judge``), and what the runner met
besides is laid over it:

    it raised, changed its input, crashed, hung, took too much memory     failed, for the checks that the prompt was for
    an answer that cannot be recorded                                     error, for the same
    another text for the same prompt, asked twice                         failed, for the same
    it refused the prompt                                                 nothing is said of that prompt; where it refused all
                                                                          that a check has, not applicable, with its reason

A process that dies is not started again: what was recorded until then is judged (``foreign_recording``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from tree_oracle.checks import Check, Stage, choose
from tree_oracle.decoder import Seam
from tree_oracle.record import (
    AdapterError,
    Case,
    CheckResult,
    Finding,
    Report,
    Status,
    TieRule,
    Truth,
    UsageError,
    case_id,
    tolerance_file,
)
from tree_oracle.run.child_visit import Caps
from tree_oracle.run.foreign_python import INTERPRETER, find_python
from tree_oracle.run.foreign_recording import Mishap, Recording, record_abroad
from tree_oracle.run.in_process import head_of
from tree_oracle.run.known import KnownFailures, no_known_failures
from tree_oracle.run.plan import Plan
from tree_oracle.run.reasons import Reasons
from tree_oracle.run.stock import Stock, digest_of
from tree_oracle.run.subject import Subject, refuse_small, truth_of
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.target import Target, load_target


def run_abroad(
    plan: Plan,
    python: str,
    *,
    caps: Caps,
    known: KnownFailures | None = None,
    required: int | None = None,
    cases: Sequence[Case] | None = None,
    trace: Path | None = None,
    on_result: Callable[[CheckResult], None] = lambda result: None,
) -> Report:
    """Run what the plan asks for with the decoder under ``python``.

    Args:
        plan: its target is needed, since a decoder elsewhere brings its own.
        python: an interpreter, by path or by command.
        caps: what its process may take.
        known: failures that are expected.
        required: the rung that must be held for exit code 0.
        cases: asked instead of the checks' own.
        trace: where to keep the recording; None keeps none.
        on_result: called with each result.

    Raises:
        UsageError, DecoderError: as for ``record_abroad``; or a plan without a target.
        AdapterError: a tie rule that there is not.
        TraceError: what was recorded cannot be read.
    """
    python = find_python(python)
    target = own_target(plan.target, device=plan.device, dtype=plan.dtype, attention=plan.attention)
    truth, expected = truth_of(target, plan.tolerance), known or no_known_failures()
    checks = choose(ids=plan.checks)
    stock = Stock(Stage(truth), cases=plan.budget.cases, seed=plan.budget.seed)
    wanted, digest = _cases(checks, stock) if cases is None else (tuple(cases), "")
    with TemporaryDirectory() if trace is None else nullcontext(str(trace.parent)) as folder:
        path = Path(folder) / "run.jsonl" if trace is None else trace
        recording = record_abroad(plan.decoder, target.spec, python, wanted, path, caps)
        asked_of = stock if cases is None else None
        report = _judged(recording, checks, truth, target, required, asked_of, kept=trace is not None)
    results = tuple(expected.mark(result) for result in report.results)
    for result in results:
        on_result(result)
    floor = None if plan.tolerance is None else tolerance_file(Path(plan.tolerance))
    asked = {"seed": plan.budget.seed, "cases": plan.budget.cases, "tolerance": floor}
    return msgspec.structs.replace(
        report, results=results, digest=digest, violations=expected.violations(results), **asked
    )


def prompts_of(check: Check, stock: Stock) -> dict[str, tuple[Case, ...]]:
    """By scene, the cases of a check that a text of one prompt answers."""
    scenes = {source.scene.name: source.scene for source in check.sources if source.seam is Seam.GENERATE}
    scenes = {name: scene for name, scene in scenes.items() if not scene.handed} or scenes  # nobody hands a draft there
    return {name: stock.of(scene) for name, scene in scenes.items() if not (scene.processed or scene.batched)}


def _cases(checks: Sequence[Check], stock: Stock) -> tuple[tuple[Case, ...], str]:
    """Every prompt that some check has, or where none has one those that any check has; and the digest of the scenes."""
    found = {name: cases for check in checks for name, cases in prompts_of(check, stock).items()}
    found = found or {name: cases for check in choose() for name, cases in prompts_of(check, stock).items()}
    digests = {source.scene.name: stock.digest(source.scene) for check in choose() for source in check.sources
               if source.scene.name in found}  # fmt: skip
    return tuple({case_id(case): case for cases in found.values() for case in cases}.values()), digest_of(digests)


def _judged(
    recording: Recording,
    checks: Sequence[Check],
    truth: Truth,
    target: Target,
    required: int | None,
    stock: Stock | None,
    *,
    kept: bool,
) -> Report:
    """``stock``: where the checks have their prompts from; None: the cases were chosen by somebody else. ``kept``: whether the
    recording is there afterwards."""
    visit = recording.visit
    head = head_of(Subject(visit.decoder, None, target, truth), "")
    place = {
        **head.environment,
        INTERPRETER: visit.python,
        "isolation": f"an interpreter of its own, {visit.caps.words_for('prompt')}",
    }
    report = judge_trace(
        recording.trace, checks, truth=truth, target=target.spec, partial=recording.end is not None,
        tie_rule=_tie_rule(visit.tie_rule), required=required, cases=recording.cases, kept=kept,
    )  # fmt: skip
    mishaps = sorted(recording.mishaps(), key=lambda mishap: mishap.status is not Status.FAILED)
    results = []
    for check, judged in zip(checks, report.results, strict=True):
        mishap = next(
            (one for one in mishaps if _concerns(check, checks, one)), None
        )  # one is enough: a check stops there
        result = _unless_refused(judged, recording, _own(check, recording, stock))
        results.append(result if mishap is None else _with(result, mishap))
    return msgspec.structs.replace(report, results=tuple(results), environment=report.environment | place)


def _concerns(check: Check, checks: Sequence[Check], mishap: Mishap) -> bool:
    """Whether the check is one that the prompt was for; all are where nobody can tell, or where it was for none of these."""
    return mishap.case is None or _asks(check, mishap.case) or not any(_asks(one, mishap.case) for one in checks)


def _asks(check: Check, case: Case) -> bool:
    """Whether its law needs no more than the text that the case asks for."""
    return not check.reads_rounds and any(s.seam is Seam.GENERATE and s.scene.fits(case) for s in check.sources)


def _own(check: Check, recording: Recording, stock: Stock | None) -> list[Case]:
    """The prompts that the check has of those that were asked."""
    scenes = [source.scene for source in check.sources if source.seam is Seam.GENERATE and not source.scene.handed]
    if stock is None:
        return [case for case in recording.cases if any(scene.fits(case) for scene in scenes)]
    own = prompts_of(check, stock)
    return [case for scene in scenes for case in own.get(scene.name, ())]


def _unless_refused(result: CheckResult, recording: Recording, own: Sequence[Case]) -> CheckResult:
    """The result; where nothing was judged because all of the check's prompts were refused, that is why."""
    refused = {case_id(recording.asked[number]): text for number, text in recording.refusals.items()}
    if result.cases or not own or not all(case_id(case) in refused for case in own):
        return result
    reasons = Reasons((Status.NOT_APPLICABLE, f"refused: {refused[case_id(case)]}") for case in own)
    status = Status.NOT_APPLICABLE
    return msgspec.structs.replace(result, status=status, reason=reasons.of(status, ""))


def _with(result: CheckResult, mishap: Mishap) -> CheckResult:
    """The result with the mishap, which decides it unless a failure stands there already."""
    finding = Finding(status=mishap.status, sentence=mishap.sentence, expected=mishap.expected, seen=mishap.seen)
    if mishap.case is not None:
        finding = msgspec.structs.replace(finding, case=mishap.case, replay=case_id(mishap.case))
    if result.status in (Status.FAILED, Status.ERROR):
        return msgspec.structs.replace(result, findings=(*result.findings, finding))
    return msgspec.structs.replace(
        result, status=mishap.status, reason=mishap.sentence, findings=(finding,), seams=(Seam.GENERATE.value,),
        cases=result.cases + 1, failed_at=result.cases + 1,
    )  # fmt: skip


def _tie_rule(declared: str | None) -> TieRule:
    try:
        return TieRule.SMALLEST if declared is None else TieRule(declared)
    except ValueError as error:
        raise AdapterError(f"tie_rule is {declared!r}; expected one of {', '.join(TieRule)}") from error


def own_target(spec: str | None, *, device: str = "cpu", dtype: str = "float32", attention: str = "sdpa") -> Target:
    """The target as it is run here.

    Raises:
        UsageError: none is named, or it is too small for the cases.
    """
    if spec is None:
        raise UsageError(
            "--python needs --target: the decoder brings its own model there, and its plain runs are made here"
        )
    found = load_target(spec, device=device, dtype=dtype, attention=attention)
    refuse_small(found)
    return found
