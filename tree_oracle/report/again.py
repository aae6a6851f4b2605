"""What to type to see a result again, from the report alone.

Names in a report are somebody else's text, so they are quoted.
"""

from __future__ import annotations

import json
import shlex

import msgspec

from tree_oracle.checks import CHECKS
from tree_oracle.record import Asked, CaseFile, Finding, Report
from tree_oracle.report.again_trace import is_of_trace, show_command, trace_command
from tree_oracle.run.budget import USUAL
from tree_oracle.run.cases import case_file
from tree_oracle.run.foreign_python import INTERPRETER

MOST_CASE = 20_000  # characters; a page that holds larger inputs is no page


def replay_command(report: Report) -> str:
    """``tree-oracle replay`` with the decoder, unless it is the reference or has no name that a command line can take.

    What failed in a trace is seen again in the trace alone.
    """
    if is_of_trace(report):
        return check_command(report)
    return shlex.join(["tree-oracle", "replay", *(_subject(report) or [])])


def replay_line(report: Report, check: str, finding: Finding) -> str:
    """The command that judges the case of a finding again; empty if it has none."""
    return f"{replay_command(report)} {case_name(check, finding)}" if finding.replay else ""


def case_name(check: str, finding: Finding) -> str:
    """The name of the case that shows a finding, as a shell takes it; whoever wrote the report may have named it anything."""
    return shlex.quote(f"{check}-{finding.replay}")


def check_command(report: Report) -> str:
    """The command that runs the same checks again; empty where the decoder was given as an object, which has no name.

    How many cases were generated is not in a report of an older release. The digest says whether they were the same.
    """
    if is_of_trace(report):
        return trace_command(report, _chosen(report.asked.checks))
    found = _check(_subject(report), report.target, report.asked)
    return f"{found} --power" if found and report.power is not None else found


def found_by(file: CaseFile) -> str:
    """The command of the run in which a case was kept, as far as it is known; empty where no line can show its names."""
    if not (file.decoder + file.target).isprintable():  # it is printed as one line
        return ""
    return _check(_named(file.decoder), file.target, file.asked or Asked())


def _check(subject: list[str] | None, target: str, asked: Asked) -> str:
    if subject is None:
        return ""
    options = {"--target": target, "--device": asked.device, "--dtype": asked.dtype}
    options |= {"--attention": asked.attention} if target != "exact" else {}
    options |= {"--cases": "" if asked.cases in (None, USUAL.cases) else str(asked.cases)}
    options |= {"--seed": "" if asked.seed is None else str(asked.seed)}
    options |= {"--tolerance": "" if asked.tolerance is None else asked.tolerance.path}
    words = [word for name, value in options.items() if value for word in (name, value)]
    return shlex.join(["tree-oracle", "check", *subject, *_chosen(asked.checks), *words])


def _chosen(checks: tuple[str, ...]) -> list[str]:
    """The options that choose these checks, whole families by their name; none for all of them, or where they are not known."""
    left, words = set(checks), list[str]()
    if not left or left >= set(CHECKS):
        return []
    for family in dict.fromkeys(CHECKS[name].family for name in checks if name in CHECKS):
        members = {check.id for check in CHECKS.values() if check.family == family}
        if members <= left:
            left -= members
            words += ["--family", family]
    return [*words, *(word for name in checks if name in left for word in ("--check", name))]


def doctor_command(report: Report) -> str:
    """The command that examines the adapter, or shows what was recorded; empty where the decoder was given as an object."""
    if is_of_trace(report):
        return show_command(report)
    subject = _subject(report)
    return "" if subject is None else shlex.join(["tree-oracle", "doctor", *subject])


def _subject(report: Report) -> list[str] | None:
    """The options that name the decoder. Where its interpreter lies is not kept, so that a reader has to fill in."""
    named, elsewhere = _named(report.decoder), INTERPRETER in report.environment
    return ["--python", "PATH", *named] if elsewhere and named else named


def _named(decoder: str) -> list[str] | None:
    if decoder == "reference":
        return []
    if decoder.startswith("fault:"):
        return ["--fault", decoder.removeprefix("fault:")]
    return ["--decoder", decoder] if ":" in decoder else None


def case_text(report: Report, check: str, finding: Finding) -> str:
    """The case file of a finding on one line of ASCII; empty if there is no case, or it is too large to stand in a page."""
    file = case_file(check, finding, report.target, report.decoder, report.asked)
    if file is None:
        return ""
    text = json.dumps(msgspec.to_builtins(file), separators=(",", ":"))
    return text if len(text) <= MOST_CASE else ""
