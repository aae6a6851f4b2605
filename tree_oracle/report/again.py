"""What to type to see a result again, from the report alone. Names in a report are somebody else's text, so they are quoted."""

from __future__ import annotations

import json
import shlex

import msgspec

from tree_oracle.record import CaseFile, Finding, Report
from tree_oracle.run.foreign_python import INTERPRETER

MOST_CASE = 20_000  # characters; a page that holds larger inputs is no page


def replay_command(report: Report) -> str:
    """``tree-oracle replay`` with the decoder, unless it is the reference or has no name that a command line can take."""
    return shlex.join(["tree-oracle", "replay", *(_subject(report) or [])])


def replay_line(report: Report, check: str, finding: Finding) -> str:
    """The command that judges the case of a finding again; empty if it has none."""
    return f"{replay_command(report)} {shlex.quote(f'{check}-{finding.replay}')}" if finding.replay else ""


def check_command(report: Report) -> str:
    """The command that runs the same checks again; empty where the decoder was given as an object, which has no name.

    How many cases were generated is not in a report. The digest says whether they were the same.
    """
    subject = _subject(report)
    if subject is None:
        return ""
    place = report.environment
    options = {"--target": report.target, "--device": place.get("device"), "--dtype": place.get("dtype")}
    options |= {"--attention": place.get("attention")} if report.target != "exact" else {}
    words = [*subject, *(word for name, value in options.items() if value for word in (name, value))]
    seed = [] if report.seed is None else ["--seed", str(report.seed)]
    return shlex.join(["tree-oracle", "check", *words, *seed])


def doctor_command(report: Report) -> str:
    """The command that examines the adapter."""
    return shlex.join(["tree-oracle", "doctor", *(_subject(report) or [])])


def _subject(report: Report) -> list[str] | None:
    """The options that name the decoder. Where its interpreter lies is not kept, so that a reader has to fill in."""
    decoder = report.decoder
    if decoder == "reference":
        return []
    if decoder.startswith("fault:"):
        return ["--fault", decoder.removeprefix("fault:")]
    elsewhere = ["--python", "PATH"] if INTERPRETER in report.environment else []
    return [*elsewhere, "--decoder", decoder] if ":" in decoder else None


def case_text(report: Report, check: str, finding: Finding) -> str:
    """The case file of a finding on one line of ASCII; empty if there is no case, or it is too large to stand in a page."""
    if finding.case is None:
        return ""
    file = CaseFile(check=check, target=report.target, decoder=report.decoder, case=finding.case)
    text = json.dumps(msgspec.to_builtins(file), separators=(",", ":"))
    return text if len(text) <= MOST_CASE else ""
