"""A report on a terminal. Colour only where there is a terminal; the text is the same without it."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from tree_oracle.record import CheckResult, Finding, Report, Status, Witness
from tree_oracle.report.case_line import case_line
from tree_oracle.report.ladder import GRADES, verdict

WIDTH_WHEN_PIPED = 120
_WHOLE_ROUNDS = {"open", "generate"}

STYLES = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.UNDECIDED: "yellow",
    Status.NOT_OBSERVABLE: "dim",
    Status.NOT_APPLICABLE: "dim",
    Status.ERROR: "bold magenta",
}


def make_console(file: TextIO | None = None, *, width: int | None = None) -> Console:
    """A console that writes plain text of a fixed width when its output is piped."""
    out = file or sys.stdout
    piped = not out.isatty()
    return Console(file=out, width=width or (WIDTH_WHEN_PIPED if piped else None), highlight=False)


def print_result(console: Console, result: CheckResult) -> None:
    """One line per check, as soon as it is known."""
    line = Text.assemble(
        (f"{result.check:<13}", "bold"), (f"{result.status.value:<15}", STYLES[result.status]), _tail(result)
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    console.print(line)


def _tail(result: CheckResult) -> str:
    if result.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE):
        return result.reason
    if result.known is not None:
        return f"{result.cases:>5} cases, a known failure: {result.known.reason} ({result.known.tracker})"
    near = f", {result.near_ties} near ties" if result.near_ties else ""
    why = f", {result.undecided} undecided: {result.reason}" if result.status is Status.UNDECIDED else ""
    return f"{result.cases:>5} cases through {', '.join(result.seams) or 'nothing'}{near}{why}"


def print_report(console: Console, report: Report, *, replay: str = "tree-oracle replay") -> None:
    """Everything after the lines of the single checks: explanations from the lowest rung up, counts, verdict."""
    for results, finding in _grouped(report):
        console.print()
        _print_finding(console, results, finding, replay)
    console.print()
    for line in _facts(report):
        console.print(line, soft_wrap=True, markup=False)
    for violation in report.violations:
        console.print(Text(f"known     {violation}", style="bold red"), soft_wrap=True)
    style = {0: "bold green", 1: "bold red"}.get(report.exit_code, "bold yellow")
    console.print(Text(f"verdict   {verdict(report)} (exit code {report.exit_code})", style=style))


def _facts(report: Report) -> list[str]:
    counts, known = report.counts, [result.check for result in report.results if result.known is not None]
    lines = [f"checks    {', '.join(f'{counts[status]} {status.value}' for status in Status)}"]
    lines += [f"known     expected to fail: {', '.join(known)}"] if known else []
    lines.append(f"witness   {_witness(report)}")
    lines += [*_lengths(report), *_ledger(report)]
    lines.append(f"truth     grade {report.grade}: {GRADES[report.grade]}")
    if report.digest:
        fresh = "the same every time" if report.seed is None else f"fresh, again with --seed {report.seed}"
        lines.append(f"cases     {fresh}, digest {report.digest}")
    isolation = report.environment.get("isolation")
    return [*lines, f"isolation {isolation}"] if isolation else lines


def result_text(result: CheckResult, *, replay: str = "tree-oracle replay", width: int = 100) -> str:
    """One check's result and explanations as plain text."""
    out = StringIO()
    console = make_console(out, width=width)
    print_result(console, result)
    for finding in result.findings:
        _print_finding(console, [result], finding, replay)
    return out.getvalue()


def _witness(report: Report) -> str:
    seen = report.witness
    if seen.rounds:
        return f"{seen.rounds} verify rounds, {seen.drafted} drafted, {seen.accepted} accepted tokens"
    if any(set(result.seams) & _WHOLE_ROUNDS for result in report.results):
        return "none: nothing shows that speculation ran"
    return "not needed: single steps were driven, no rounds"


def _lengths(report: Report) -> list[str]:
    """Acceptance of the decoder's own drafts: the trees that the oracle hands over say nothing about a drafter."""
    own = report.own
    if not own.rounds:
        return []
    rates = [f"{over}/{under}" for over, under in zip(own.reached, own.proposed, strict=True)]
    by_position = f"; by position {' '.join(rates)}" if rates else ""
    length = f"length    {own.emitted / own.rounds:.2f} tokens committed per round on its own drafts{by_position}"
    return [length, *_endings(own)]


def _endings(own: Witness) -> list[str]:
    """Why these rounds ended, and how far what was drafted held what came."""
    ended = sorted(own.ended, key=lambda one: (-one.rounds, one.why))
    lines = [f"ended     {', '.join(f'{one.rounds} {one.why}' for one in ended)}"] if ended else []
    if not own.known:
        return [*lines, "coverage  not shown: no round shows the pool that its tree was packed from"]
    pool, packed = (
        " ".join(f"{over}/{under}" for over, under in zip(part, own.known, strict=False))
        for part in (own.pooled, own.packed)
    )
    return [*lines, f"coverage  by depth, the text was drafted {pool}, and packed {packed}"]


def _ledger(report: Report) -> list[str]:
    """What came about in the rounds that were judged, and by name what should have and did not."""
    reached, missed = report.ledger.reached, report.ledger.missed
    if not reached and not missed:
        return []
    lines = [f"ledger    {len(reached)} of {len(reached) + len(missed)} outcomes came about"]
    return [*lines, f"missed    no round shows: {', '.join(missed)}"] if missed else lines


def _grouped(report: Report) -> list[tuple[list[CheckResult], Finding]]:
    """Findings from the lowest rung up; what is said in the same words is said once, for all its checks."""
    groups: dict[str, tuple[list[CheckResult], Finding]] = {}
    for result in sorted(report.results, key=lambda result: result.rung):
        for finding in result.findings if result.known is None else ():
            results, _ = groups.setdefault(finding.sentence, ([], finding))
            if result not in results:
                results.append(result)
    return list(groups.values())


def _print_finding(console: Console, results: list[CheckResult], finding: Finding, replay: str) -> None:
    first = results[0]
    console.print(Text(f"{first.check} {finding.status.value}: {first.law}", style=STYLES[finding.status]))
    _indented(console, _capital(finding.sentence) + ".")
    if finding.expected:
        _field(console, "expected", finding.expected)
    if finding.seen and finding.seen != finding.sentence:
        _field(console, "seen", finding.seen)
    if finding.case is not None:
        _field(console, "case", case_line(finding))
    for line in finding.drawing.splitlines():
        _indented(console, line, by=4)
    if finding.diagnosed_on:
        _field(console, "cause", _cause(finding))
    if len(results) > 1:
        _field(console, "also", f"the same is said by {', '.join(result.check for result in results[1:])}")
    if finding.replay:
        console.print(Text(f"  again     {replay} {first.check}-{finding.replay}"), soft_wrap=True)


def _cause(finding: Finding) -> str:
    """What would show the same, and how far it was told apart; nothing is called certain that was not."""
    tried = f"{len(finding.causes) + len(finding.ruled_out)} suspects, tried on {finding.diagnosed_on} cases"
    if not finding.causes:
        return f"unknown: none of {tried}, shows the same"
    if finding.certain:
        return f"{finding.causes[0]} (alone of {tried})"
    return f"not certain, the same is shown by {'; or '.join(finding.causes)} (of {tried})"


def _field(console: Console, name: str, value: str) -> None:
    first, *rest = value.splitlines() or [""]
    _indented(console, f"{name:<10}{first}")
    for line in rest:
        _indented(console, line, by=12)


def _indented(console: Console, text: str, by: int = 2) -> None:
    console.print(Padding(Text(text), (0, 0, 0, by), expand=False))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
