"""A report as Markdown for a pull request: the verdict, the counts, one failure for each cause, and the rest folded away.

GitHub refuses a comment of more than 65,536 characters, so causes are told until there is no more room, and it is said how
many are left. The HTML page and the JSON report have everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tree_oracle.record import Report, Status
from tree_oracle.record.files import write_bytes
from tree_oracle.report.advice import advice, headline, title
from tree_oracle.report.again import check_command, replay_line
from tree_oracle.report.case_line import case_line
from tree_oracle.report.causes import Cause, Told, by_cause
from tree_oracle.report.ladder import steps, verdict
from tree_oracle.report.markdown_text import block, cell, folded, prose, span
from tree_oracle.report.words import (
    MARK,
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

MOST = 60_000  # characters of all causes together
MOST_NAMED = 50  # further findings, or reasons, that are listed by name

_TITLES = {Status.FAILED: "failed", Status.ERROR: "adapter at fault", Status.UNDECIDED: "undecided"}


def markdown_summary(report: Report) -> str:
    """The whole text. The same report gives the same text."""
    parts = [
        MARK,
        f"### {headline(report)}: {span(report.decoder)} on {span(report.target)}",
        prose(f"{capital(verdict(report))} (exit code {report.exit_code})."),
        _counts(report),
        *_advice(report),
        *_causes(report),
        *(f"- {prose(line)}" for line in report.violations[:MOST_NAMED]),
        *_folded(report),
    ]
    return "\n\n".join(parts) + "\n"


def write_markdown(path: Path, report: Report) -> None:
    """Write the whole text or nothing."""
    write_bytes(path, markdown_summary(report).encode())


def _counts(report: Report) -> str:
    return _table(tuple(status.value for status in Status), [tuple(str(count) for count in report.counts.values())])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _advice(report: Report) -> list[str]:
    found = []
    for number, step in enumerate(advice(report)):
        found.append(f"{'' if number else f'**{title(report)}.** '}{prose(step.text)}")
        found += [block(step.command, "console")] if step.command else []
    return found


def _causes(report: Report) -> list[str]:
    causes = [(status, cause) for status in _TITLES for cause in by_cause(report, status)]
    told: list[str] = []
    for status, cause in causes:
        text = _cause(report, status, cause)
        if sum(map(len, told)) + len(text) > MOST:
            break
        told.append(text)
    left = len(causes) - len(told)
    return [*told, f"{left} more causes are in the report."] if left else told


def _cause(report: Report, status: Status, cause: Cause) -> str:
    first, *others = cause.told
    name = span(cause.name) if cause.named else cause.name
    parts = [f"#### {name}", f"{len(cause.checks)} {_TITLES[status]}: {', '.join(map(span, cause.checks))}"]
    parts.append(block(_told(report, first)))
    if others:
        named = [f"- {span(other.result.check)} {span(other.finding.sentence)}" for other in others[:MOST_NAMED]]
        parts.append(folded(f"{len(others)} more of this cause", "\n".join(named)))
    return "\n\n".join(parts)


def _told(report: Report, told: Told) -> str:
    finding = told.finding
    fields = {
        "expected": finding.expected,
        "seen": finding.seen if finding.seen != finding.sentence else "",
        "case": case_line(finding) if finding.case is not None else "",
        "cause": cause_words(finding) if finding.diagnosed_on else "",
        "again": replay_line(report, told.result.check, finding),
    }
    lines = [f"{told.result.check} {finding.status.value}: {capital(finding.sentence)}", ""]
    lines += [f"{name:<10}{value}" for name, value in fields.items() if value]
    return "\n".join([*lines, *(line for text in (finding.drawing, finding.before) if text for line in ("", text))])


def _folded(report: Report) -> list[str]:
    ladder = _table(("rung", "state", "checks"), ((s.name, s.words, str(len(s.checks) or "")) for s in steps(report)))
    found = [folded("Ladder", ladder)]
    unseen = [r for r in report.results if r.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)]
    if unseen:
        rows = ((cell(r.check), r.status.value, cell(r.reason)) for r in unseen[:MOST_NAMED])
        found.append(folded(f"Not seen, and why: {len(unseen)}", _table(("check", "result", "why"), rows)))
    known = [result for result in report.results if result.known is not None]
    if known:
        rows = ((cell(r.check), cell(r.known.reason), cell(r.known.tracker)) for r in known[:MOST_NAMED] if r.known)
        found.append(folded(f"Known failures: {len(known)}", _table(("check", "why", "tracker"), rows)))
    return [*found, folded("Outcomes, figures, truth and place", _facts(report))]


def _facts(report: Report) -> str:
    reached, missed = report.ledger.reached, report.ledger.missed
    facts = [
        ("outcomes", f"{len(reached)} of {len(reached) + len(missed)} came about" if reached or missed else ""),
        ("missed", ", ".join(missed)),
        ("witness", witness_words(report)),
        ("length", length_words(report)),
        ("ended", ending_words(report)),
        ("coverage", coverage_words(report)),
        ("largest judged", report.extent.words if report.extent is not None else ""),
        ("power", power_words(report)),
        *(("planted", planted_words(planted)) for planted in report.power or ()),
        ("truth", truth_words(report)),
        ("cases", cases_words(report)),
        *sorted(report.environment.items()),
        ("again", check_command(report)),
    ]
    return _table(("fact", ""), ((cell(name), cell(value)) for name, value in facts if value))
