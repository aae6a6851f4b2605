"""A report on a terminal. Colour only where there is a terminal; the text is the same without it.

What a decoder or a file says may hold commands for the terminal, so it is made visible (``report.plain``) before it is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from typing import TextIO, cast

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from tree_oracle.record import CheckResult, Finding, Report, Status, counted
from tree_oracle.report.advice import first_step
from tree_oracle.report.again import case_name
from tree_oracle.report.case_line import case_line
from tree_oracle.report.causes import once_each, precedence, unexplained
from tree_oracle.report.ladder import verdict
from tree_oracle.report.piped import Trimmed
from tree_oracle.report.plain import visible
from tree_oracle.report.words import (
    acceptance_words,
    capital,
    cases_words,
    cause_words,
    coverage_words,
    ending_words,
    length_words,
    planted_words,
    power_words,
    truth_words,
    witness_words,
)

UNSEEN = (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
WIDTH_WHEN_PIPED = 120

STYLES = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_OBSERVABLE: "dim",
    Status.NOT_APPLICABLE: "dim",
    Status.ERROR: "bold magenta",
}


def make_console(file: TextIO | None = None, *, width: int | None = None) -> Console:
    """A console that writes plain text of a fixed width, without blanks at the end of a line, when its output is piped."""
    out = file or sys.stdout
    piped = not out.isatty()
    file = cast("TextIO", Trimmed(out)) if piped else out
    return Console(file=file, width=width or (WIDTH_WHEN_PIPED if piped else None), highlight=False)


def print_result(console: Console, result: CheckResult) -> None:
    """One line per check, as soon as it is known."""
    line = Text.assemble(
        (f"{visible(result.check):<13}", "bold"),
        (f"{result.status.value:<15}", STYLES[result.status]),
        visible(_tail(result)),
    )
    console.print(line, soft_wrap=True)


def print_unseen(console: Console, results: Iterable[CheckResult]) -> None:
    """The checks that had nothing to judge: one line for each reason, however many they are."""
    groups: dict[tuple[Status, str], list[CheckResult]] = {}
    for result in results:
        if result.status in UNSEEN:
            groups.setdefault((result.status, result.reason), []).append(result)
    for (status, reason), group in groups.items():
        if len(group) == 1:
            print_result(console, group[0])
            continue
        head = (f"{counted(len(group), 'check'):<13}", "bold"), (f"{status.value:<15}", STYLES[status])
        names = ", ".join(result.check for result in group)
        console.print(Text.assemble(*head, visible(f"{reason}: {names}")), soft_wrap=True)


def _tail(result: CheckResult) -> str:
    if result.status in UNSEEN:
        return result.reason
    if result.known is not None:
        return f"{_cases(result)}, a known failure: {result.known.reason} ({result.known.tracker})"
    near = f", {counted(result.near_ties, 'near tie')}" if result.near_ties else ""
    why = f", {result.undecided} undecided: {result.reason}" if result.status is Status.UNDECIDED else ""
    return f"{_cases(result)} through {', '.join(result.seams) or 'nothing'}{near}{why}"


def _cases(result: CheckResult) -> str:
    return f"{result.cases:>5} {'case' if result.cases == 1 else 'cases'}"


def print_report(console: Console, report: Report, *, replay: str = "tree-oracle replay", first: bool = True) -> None:
    """Everything after the lines of the single checks: explanations from the lowest rung up, counts, verdict; and with
    ``first`` what to do first, where something is to be done."""
    for said in _grouped(report):
        console.print()
        _print_finding(console, said, replay)
    console.print()
    for line in _facts(report):
        console.print(visible(line), soft_wrap=True, markup=False)
    for violation in report.violations:
        console.print(Text(visible(f"known     {violation}"), style="bold red"), soft_wrap=True)
    style = {0: "bold green", 1: "bold red"}.get(report.exit_code, "bold yellow")
    console.print(Text(f"verdict   {verdict(report)} (exit code {report.exit_code})", style=style), soft_wrap=True)
    step = first_step(report, replay) if first else ""
    if step:
        console.print(Text(f"first     {' '.join(visible(step).split())}"), soft_wrap=True)


def _facts(report: Report) -> list[str]:
    counts, known = report.counts, [result.check for result in report.results if result.known is not None]
    lines = [f"checks    {', '.join(f'{counts[status]} {status.value}' for status in Status)}"]
    lines += [f"known     expected to fail: {', '.join(known)}"] if known else []
    lines.append(f"witness   {witness_words(report)}")
    unaccepted = acceptance_words(report)
    lines += [f"warning   {unaccepted}"] if unaccepted else []
    lines += [*_lengths(report), *_ledger(report)]
    lines += [f"floor     {report.environment['floor']}"] if "floor" in report.environment else []
    lines += _power(report)
    lines.append(f"truth     {truth_words(report)}")
    if report.digest:
        lines.append(f"cases     {cases_words(report)}")
    isolation = report.environment.get("isolation")
    return [*lines, f"isolation {isolation}"] if isolation else lines


def _power(report: Report) -> list[str]:
    if report.power is None:
        return []
    return [f"power     {power_words(report)}", *(f"          {planted_words(planted)}" for planted in report.power)]


def result_text(result: CheckResult, *, replay: str = "tree-oracle replay", width: int = 100) -> str:
    """One check's result and explanations as plain text."""
    out = StringIO()
    console = make_console(out, width=width)
    print_result(console, result)
    for finding, others in once_each(result.findings):
        _print_finding(console, _Said(finding, [result], others), replay)
    return out.getvalue()


def _lengths(report: Report) -> list[str]:
    said = (("length", length_words(report)), ("ended", ending_words(report)), ("coverage", coverage_words(report)))
    return [f"{name:<10}{words}" for name, words in said if words]


def _ledger(report: Report) -> list[str]:
    """What came about in the rounds that were judged, and by name what should have and did not."""
    reached, missed = report.ledger.reached, report.ledger.missed
    if not reached and not missed:
        return []
    lines = [f"ledger    {len(reached)} of {len(reached) + len(missed)} outcomes came about"]
    return [*lines, f"missed    no round shows: {', '.join(missed)}"] if missed else lines


@dataclass(slots=True)
class _Said:
    """One explanation, the checks that give it, and what else the first of them says of the same fault."""

    finding: Finding
    results: list[CheckResult]
    others: list[Finding]


def _grouped(report: Report) -> list[_Said]:
    """Findings as they are to be read; what is said in the same words is said once, for all its checks."""
    groups: dict[str, _Said] = {}
    every = [
        (result, *told) for result in report.results if result.known is None for told in once_each(result.findings)
    ]
    for result, finding, others in sorted(every, key=lambda one: precedence(one[0], one[1])):
        said = groups.setdefault(finding.sentence, _Said(finding, [], others))
        if result not in said.results:
            said.results.append(result)
    return list(groups.values())


def _print_finding(console: Console, said: _Said, replay: str) -> None:
    finding, results = said.finding, said.results
    first = results[0]
    console.print(Text(visible(f"{first.check} {finding.status.value}: {first.law}"), style=STYLES[finding.status]))
    _indented(console, capital(finding.sentence) + ".")
    if finding.expected:
        _field(console, "expected", finding.expected)
    if finding.seen and finding.seen != finding.sentence:
        _field(console, "seen", finding.seen)
    if finding.case is not None:
        _field(console, "case", case_line(finding))
    for line in finding.drawing.splitlines():
        _indented(console, line, by=4)
    if finding.before:
        _field(console, "before", finding.before)
    if finding.diagnosed_on:
        _field(console, "cause", cause_words(finding))
    if len(results) > 1:
        _field(console, "also", f"the same is said by {', '.join(result.check for result in results[1:])}")
    for other in {one.sentence: one for one in said.others if one.sentence != finding.sentence}.values():
        alone = "; no suspect shows the same there" if unexplained(other) and finding.causes else ""
        _field(console, "also", f"{other.sentence}{other.replay and f' ({first.check}-{other.replay})'}{alone}")
    if finding.replay:
        console.print(Text(visible(f"  again     {replay} {case_name(first.check, finding)}")), soft_wrap=True)


def _field(console: Console, name: str, value: str) -> None:
    first, *rest = value.splitlines() or [""]
    _indented(console, f"{name:<10}{first}")
    for line in rest:
        _indented(console, line, by=12)


def _indented(console: Console, text: str, by: int = 2) -> None:
    console.print(Padding(Text(visible(text)), (0, 0, 0, by), expand=False))
