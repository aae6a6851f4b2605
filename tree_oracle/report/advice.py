"""What to do first, in one or two sentences: the part of a report that is read by somebody in a hurry."""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import Catch, CheckResult, Level, Report, Status, counted
from tree_oracle.report.again import case_name, doctor_command, replay_line
from tree_oracle.report.again_trace import is_of_trace
from tree_oracle.report.causes import Cause, Told, by_cause
from tree_oracle.report.ladder import rung
from tree_oracle.report.words import acceptance_words, capital, planted_words

HEADLINES = {
    0: "Held",
    1: "Failed",
    3: "The adapter is at fault",
    4: "Nothing was decided",
}

NAMELESS = "It is asked by name: tree-oracle doctor --decoder module:attribute."  # of a decoder that was handed over


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and a command that does it, if there is one."""

    text: str
    command: str = ""


def headline(report: Report) -> str:
    """The exit code as a word or two."""
    if report.exit_code == 4 and report.held is not None:
        return "Not enough was seen"
    return HEADLINES[report.exit_code]


def title(report: Report) -> str:
    """What stands above the advice."""
    return "What to do first" if report.exit_code else "What is left to do"


def advice(report: Report) -> list[Advice]:
    """In the order in which it is worth doing."""
    found = [*_failures(report), *_violations(report), *_errors(report), *_missed(report)]
    if not found and report.exit_code == 4:
        found = _undecided(report)
    unaccepted = acceptance_words(report)
    warning = [Advice(f"{capital(unaccepted)}.")] if unaccepted else []
    return [*(found or [_nothing(report)]), *warning]


def first_step(report: Report, replay: str) -> str:
    """One line for the end of a terminal's output: what to type first, or to look at; empty where the run is a pass.

    ``replay``: the command that sees a case again, without the case.
    """
    first = _first(report)
    if not report.exit_code:
        return ""
    if first is not None and first[1].finding.replay:
        return f"{replay} {case_name(first[1].result.check, first[1].finding)}"
    todo = advice(report)[0]
    return todo.command or todo.text


def _first(report: Report) -> tuple[Cause, Told] | None:
    """The failure to start with: the first that is shown."""
    return next(((cause, cause.told[0]) for cause in by_cause(report, Status.FAILED)), None)


def _failures(report: Report) -> list[Advice]:
    found = _first(report)
    if found is None:
        return []
    (first, told), failed = found, by_cause(report, Status.FAILED)
    count = len({one.result.check for cause in failed for one in cause.told})
    due = told.result.level is Level.MUST
    where = f"on the lowest broken rung ({rung(told.result.rung)})" if due else "a should, which decides nothing"
    text = f"Start with {told.result.check}, {where}. {_reach(first, count)}"
    return [Advice(text, replay_line(report, told.result.check, told.finding))]


def _reach(cause: Cause, count: int) -> str:
    share = f"{len(cause.checks)} of {counted(count, 'failing check')}"
    if not cause.named:
        stands = "stands" if len(cause.checks) == 1 else "stand"
        looked = any(told.finding.diagnosed_on for told in cause.told)
        found = "No single part was found that would show the same" if looked else "No cause was looked for"
        return f"{found}; {share} {stands} without a cause."
    name = cause.name.partition(":")[0]
    shows = "alone of all suspects shows the same" if cause.alone else "is one of the suspects that show the same"
    lacks = f"; it is not certain, as {cause.uncertain}" if cause.alone and cause.uncertain else ""
    return f"The fault {name} {shows}, in {share}{lacks}."


def _violations(report: Report) -> list[Advice]:
    if not report.violations:
        return []
    return [Advice("The list of known failures is not true: mend what is said of it below.")]


def _errors(report: Report) -> list[Advice]:
    wrong = _due(report, Status.ERROR)
    if not wrong:
        return []
    text = f"{_names(wrong)}: answers of another shape, dtype or convention. Nothing is said against the decoder there."
    todo = (
        "Look at the recording."
        if is_of_trace(report)
        else "Ask the doctor, which examines the adapter and names the convention that would fit."
    )
    command = doctor_command(report)
    if not command:
        todo += f" {NAMELESS}"
    return [Advice(f"{text} {todo}", command)]


def _missed(report: Report) -> list[Advice]:
    missed = [planted for planted in report.power or () if planted.catch is Catch.MISSED]
    if not missed:
        return []
    text = f"What was planted behind the adapter was not noticed: {'; '.join(map(planted_words, missed))}."
    return [Advice(f"{text} What these checks passed says nothing; look at what the adapter does with answers.")]


def _undecided(report: Report) -> list[Advice]:
    found = []
    if report.ledger.missed:
        found.append(Advice(f"No round shows: {', '.join(report.ledger.missed)}. See the outcomes below."))
    undecided = _due(report, Status.UNDECIDED)
    if undecided:
        found.append(Advice(f"{_names(undecided)}: the evidence lies within the noise, or fits no single explanation."))
    if report.required is not None and (report.held is None or report.held < report.required):
        found.append(Advice(f"{rung(report.required)} was asked for, and {rung(report.held)} is what is held."))
    return found or [Advice("No must check passed: see which parts the adapter would have to show.")]


def _nothing(report: Report) -> Advice:
    unseen = sum(result.status is Status.NOT_OBSERVABLE for result in report.results)
    known = sum(result.known is not None for result in report.results)
    if not unseen and not known:
        return Advice("Nothing to do: every check that applies was judged.")
    said = [f"{counted(known, 'check')} failed as expected"] if known else ["nothing failed"]
    said += [f"{counted(unseen, 'check')} could not be seen, of which nothing is said"] if unseen else []
    return Advice(f"{capital('; '.join(said))}.")


def _due(report: Report, status: Status) -> list[CheckResult]:
    return [r for r in report.results if r.status is status and r.level is Level.MUST and r.known is None]


def _names(results: list[CheckResult]) -> str:
    return ", ".join(result.check for result in results)
