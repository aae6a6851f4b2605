"""A report as JUnit XML, as Jenkins and GitLab read it: one test case per check, counts on the suite.

passed                               a test case with nothing in it
failed                               failure
undecided, error                     error: the run must be looked at, and nothing is said against the decoder
not observable, not applicable       skipped, with the reason
a known failure                      skipped, with reason and tracker
a ``should`` that did not pass       skipped, with what it said, since it decides nothing
an entry of the list that is untrue  a test case of its own, with a failure

A message may hold anything that a decoder printed. XML 1.0 knows no control characters and no lone surrogates, escaped or
not, so they are written as Python writes them, ``\\x1b``.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from tree_oracle.record import CheckResult, Finding, Level, Report, Status
from tree_oracle.record.files import write_bytes

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_OUTCOMES = {
    Status.FAILED: "failure",
    Status.ERROR: "error",
    Status.UNDECIDED: "error",
    Status.NOT_OBSERVABLE: "skipped",
    Status.NOT_APPLICABLE: "skipped",
}


def junit_xml(report: Report) -> bytes:
    """The document, in UTF-8."""
    cases = [_case(report, result) for result in report.results]
    cases += [_violation(report, line) for line in report.violations]
    seconds = f"{sum(report.seconds.values()):.3f}"
    counts = {name: str(sum(case.find(tag) is not None for case in cases)) for name, tag in _COUNTED.items()}
    attributes = {"name": "tree-oracle", "tests": str(len(cases)), **counts, "time": seconds}
    suites = ET.Element("testsuites", attributes)
    suite = ET.SubElement(suites, "testsuite", attributes)
    _properties(suite, report)
    suite.extend(cases)
    ET.indent(suites)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def write_junit(path: Path, report: Report) -> None:
    """Write the whole document or nothing."""
    write_bytes(path, junit_xml(report))


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _properties(suite: ET.Element, report: Report) -> None:
    facts = {"decoder": report.decoder, "target": report.target, "digest": report.digest, **report.environment}
    properties = ET.SubElement(suite, "properties")
    for name, value in sorted(facts.items()):
        ET.SubElement(properties, "property", {"name": _clean(name), "value": _clean(value)})


def _case(report: Report, result: CheckResult) -> ET.Element:
    family = result.check.partition("-")[0]
    case = ET.Element("testcase", {"classname": _clean(f"{report.decoder}.{family}"), "name": _clean(result.check)})
    if result.check in report.seconds:
        case.set("time", f"{report.seconds[result.check]:.3f}")
    if result.status is not Status.PASSED:
        tag, message = _outcome(result)
        said = ET.SubElement(case, tag, {"message": _clean(message), "type": result.status.value})
        said.text = _clean("\n\n".join(map(_explanation, result.findings)) or message)
    return case


def _outcome(result: CheckResult) -> tuple[str, str]:
    said = result.findings[0].sentence if result.findings else result.reason
    if result.known is not None:
        return "skipped", f"known failure: {result.known.reason} ({result.known.tracker})"
    if result.level is not Level.MUST:
        return "skipped", f"{result.level.value}: {said}"
    return _OUTCOMES[result.status], said


def _explanation(finding: Finding) -> str:
    parts = {"expected": finding.expected, "seen": finding.seen, "causes": "; or ".join(finding.causes)}
    parts["not certain"] = finding.uncertain
    lines = [finding.sentence, *(f"{name}: {value}" for name, value in parts.items() if value)]
    lines += [text for text in (finding.drawing, finding.before) if text]
    lines += [f"case: {finding.replay}"] if finding.replay else []
    return "\n".join(lines)


def _violation(report: Report, line: str) -> ET.Element:
    case = ET.Element(
        "testcase", {"classname": _clean(f"{report.decoder}.known"), "name": _clean(line), "time": "0.000"}
    )
    ET.SubElement(case, "failure", {"message": _clean(line), "type": "known failures"}).text = _clean(line)
    return case


def _clean(text: str) -> str:
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
