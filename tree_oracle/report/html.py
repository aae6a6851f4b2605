"""A report as one HTML file that needs nothing else: no network, no script, no font, no picture beside it.

Everything that came from a decoder or a file passes one gate on its way into the page (``shown``: nothing invisible, nothing
endless) and is then escaped by jinja2. A content security policy in the page forbids to load or run anything, in case both
should ever fail. Light and dark follow the reader's system by a media query; no statement is made by colour alone.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tree_oracle.record import CheckResult, Report, Status
from tree_oracle.record.files import write_bytes
from tree_oracle.report.advice import advice, headline, title
from tree_oracle.report.again import case_text, check_command, replay_command, replay_line
from tree_oracle.report.case_line import case_line
from tree_oracle.report.causes import by_cause
from tree_oracle.report.drawn import GAP, HEIGHT, picture
from tree_oracle.report.ladder import rung, steps, verdict
from tree_oracle.report.plain import shown
from tree_oracle.report.words import (
    MARK,
    by_position,
    capital,
    cases_words,
    cause_words,
    coverage_words,
    ending_words,
    power_words,
    truth_words,
    witness_words,
)


def html_page(report: Report) -> str:
    """The whole page. The same report gives the same text."""
    return page_environment().get_template("report.html").render(**_facts(report))


def write_html(path: Path, report: Report) -> None:
    """Write the whole page or nothing."""
    write_bytes(path, html_page(report).encode())


@cache
def page_environment() -> Environment:
    """The templates, with the gate that everything shown passes."""
    environment = Environment(
        loader=PackageLoader("tree_oracle.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"capital": capital, "rung": rung}
    environment.globals |= {
        "case_line": case_line,
        "case_text": case_text,
        "cause_words": cause_words,
        "picture": picture,
        "replay_line": replay_line,
        "GAP": GAP,
        "HEIGHT": HEIGHT,
    }
    return environment


def _finalize(value: Any) -> Any:
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _facts(report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "headline": headline(report),
        "title": title(report),
        "verdict": verdict(report),
        "advice": advice(report),
        "steps": steps(report),
        "counts": report.counts,
        "sections": _sections(report),
        "known": by_cause(report, Status.FAILED, known=True),
        "unseen": _unseen(report),
        "positions": by_position(report),
        "mark": Markup(MARK),
        "witness": witness_words(report),
        "ended": ending_words(report),
        "coverage": coverage_words(report),
        "largest": report.extent.words if report.extent is not None else "",
        "power": power_words(report),
        "truth": truth_words(report),
        "cases": cases_words(report),
        "again": check_command(report),
        "replay": replay_command(report),
        "seconds": sum(report.seconds.values()),
    }


_AGAINST = (
    (Status.FAILED, "Failures by cause"),
    (Status.ERROR, "Faults of the adapter"),
    (Status.UNDECIDED, "Undecided"),
)


def _sections(report: Report) -> list[dict[str, Any]]:
    """What is not a pass, the gravest first."""
    found = [{"status": status, "title": title, "causes": by_cause(report, status)} for status, title in _AGAINST]
    return [section for section in found if section["causes"]]


def _unseen(report: Report) -> list[tuple[Status, str, list[CheckResult]]]:
    """What was not judged, by its reason."""
    found: dict[tuple[Status, str], list[CheckResult]] = defaultdict(list)
    for result in report.results:
        if result.status in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE):
            found[result.status, result.reason].append(result)
    return [(status, reason, results) for (status, reason), results in sorted(found.items(), key=_first_status)]


def _first_status(item: tuple[tuple[Status, str], list[CheckResult]]) -> int:
    return list(Status).index(item[0][0])
