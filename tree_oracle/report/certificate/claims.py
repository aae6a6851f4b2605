"""The words of a certificate. Every one follows from the report; where the report does not show a thing, that is said.

Rules: *lossless* is said only if the exit code is 0, the truth is of grade A or B, accepted drafts were witnessed, every
``must`` check of greedy choice and law (rungs 3 and 4) in the whole catalogue passed or found nothing of its kind, and whole
texts were judged, their tokens (SEQUENCE-01) and their joint law (LAW-04). *Proven* is never said: a report holds cases, and
cases are held, not proven. One case is judged by several checks, so what is counted is judgements.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_oracle.checks import CHECKS
from tree_oracle.record import Catch, Level, Report, Status, counted
from tree_oracle.record.installed import FILES, package_digest
from tree_oracle.report.again_trace import is_of_trace
from tree_oracle.report.ladder import Step, rung, steps
from tree_oracle.report.words import acceptance_words, planted_words, power_words, witnessed
from tree_oracle.run.environment import DECODER_FILE, WEIGHTS
from tree_oracle.run.tally import FLOOR, OWN_WORD

_LOSSLESS_GRADES = ("A", "B")
_GREEDY, _LAW = 3, 4
_WHOLE_TEXTS = ("SEQUENCE-01", "LAW-04")
_ACCOUNTED, _OF_CLAIMS = "WITNESS-02", "WITNESS"  # counters need not be stated; a false one costs the exit code

_NO_RATE = "so no bound per token or per prompt follows from their number"
_CHOSEN = "none: cases are listed, or searched by Hypothesis, which does not draw them independently"
_RECORDED = "none: nothing says how the requests of the recording were chosen"
_ON_THE_REFERENCE = "that every check can fail is shown on the reference decoder, by `tree-oracle faults --prove`"


def sentence(report: Report) -> str:
    """The one sentence that may be quoted."""
    failed = [result for result in report.results if result.status is Status.FAILED]
    must = sum(result.level is Level.MUST for result in failed)
    what, asked = f"{report.decoder} on {report.target}", counted(len(report.results), "check")
    if must:
        beside = f", {must} of them must checks" if must < len(failed) else ""
        return f"{what} failed {len(failed)} of {asked}{beside}; weakest rung broken: {rung(report.broken)}."
    if report.held is None:
        return f"Of {what} nothing may be said: no rung of the ladder is held."
    passed = [result for result in report.results if result.status is Status.PASSED]
    judged = counted(sum(result.cases for result in passed), "judgement")
    end = " Lossless on these cases: greedy choice and law both held." if lossless(report) else ""
    return (
        f"{what} held {rung(report.held)} on the cases judged, against truth of grade {report.grade}: "
        f"{len(passed)} of {asked} passed, in {judged}, and no must check failed.{end}"
    )


def lossless(report: Report) -> bool:
    """Whether the word may be used."""
    statuses = {result.check: result.status for result in report.results}
    due = [check for check in CHECKS.values() if check.rung in (_GREEDY, _LAW) and check.level is Level.MUST]
    asked = [check.id for check in due if check.family != _OF_CLAIMS]
    fine = (Status.PASSED, Status.NOT_APPLICABLE)
    return (
        report.exit_code == 0
        and report.grade in _LOSSLESS_GRADES
        and report.witness.accepted > 0
        and report.held is not None
        and report.held >= _LAW
        and all(statuses.get(check) in fine for check in asked)
        and all(statuses.get(check) is Status.PASSED for check in _WHOLE_TEXTS)
    )


def _held(report: Report, check: str) -> bool:
    return any(result.check == check and result.status is Status.PASSED for result in report.results)


def may_say(report: Report) -> Iterator[str]:
    """What follows from the report, weakest first."""
    for step in steps(report):
        if step.state == "held":
            yield f"{step.name} held in {counted(_cases(report, step), 'judgement')}, by {', '.join(step.checks)}"
        if step.state == "broken":
            yield f"{step.name} is broken, by {', '.join(step.checks)}"
    if witnessed(report):
        yield f"speculation ran: {counted(report.witness.rounds, 'verify round')} were witnessed"
        if _held(report, _ACCOUNTED):
            yield f"the target was seen to run in every round that {_ACCOUNTED} judged"
    if lossless(report):
        yield "lossless, on these cases"


def may_not_say(report: Report) -> Iterator[str]:
    """What must not be read into it."""
    yield "proven: everything here is held on the cases that were judged, and on no others"
    if not lossless(report):
        yield "lossless, exact or equivalent: that needs whole texts and laws to be held, against truth of grade A or B"
    for step in steps(report):
        if step.state not in ("held", "broken"):
            yield f"{step.name}: {step.words}"
    yield from _unseen(report)
    if report.target == "exact":
        yield "that it is right with a trained model: the exact model is small and made for tests"
    if report.extent is not None and report.extent.words:
        yield f"anything beyond the largest that was judged in texts and sessions: {report.extent.words}"
    yield "that it is right on another target, device, number format, kernel or version than these"
    yield "anything about speed, or about the quality of a draft"


def _unseen(report: Report) -> Iterator[str]:
    """What the rounds do not show."""
    if not witnessed(report):
        yield "that speculation ran: no verify round was witnessed"
    elif not _held(report, _ACCOUNTED):
        yield f"that every token comes of a pass that was seen: {_ACCOUNTED} was not passed"
    if told := report.environment.get(OWN_WORD):
        yield f"that speculation ran in every request: it is stated {told}"
    yield from _unnoticed(report)
    unaccepted = acceptance_words(report)
    if unaccepted:
        yield f"that accepted tokens are handled right: {unaccepted}"
    if not report.own.rounds:
        yield "anything about the decoder's own drafts: every tree was handed to it"


def _unnoticed(report: Report) -> Iterator[str]:
    """What would not be seen through the adapter, or is not known to be."""
    if report.power is None:
        yield "that a wrong answer would be noticed through this adapter: power was not measured"
    if report.power is not None:
        noticing = {_family(planted.check) for planted in report.power if planted.catch is Catch.CAUGHT}
        passed = {_family(result.check) for result in report.results if result.status is Status.PASSED}
        others = sorted(passed - noticing)
        if others:
            yield f"that a wrong answer would be noticed through this adapter by {', '.join(others)}: none was planted for them"
    for planted in report.power or ():
        if planted.catch is Catch.MISSED:
            yield f"anything that {planted.check} passed on {planted.seam}: {planted.wrong} was planted there, and not noticed"


def _family(check: str) -> str:
    return check.partition("-")[0]


def not_covered(report: Report) -> Iterator[str]:
    """What is silent, and why."""
    for result in report.results:
        if result.status not in (Status.PASSED, Status.FAILED):
            yield f"{result.check}: {result.status.value}: {result.reason or 'no reason was kept'}"
    for check in CHECKS:
        if all(result.check != check for result in report.results):
            yield f"{check}: not run"
    for name in report.ledger.missed:
        yield f"outcome that never came about: {name}"
    if report.environment.get(FILES) != package_digest():
        yield "checks of the installation that judged: it is another than the one that made this, whose list of checks this is"
    unknown = [
        what
        for what, key in (("weights", WEIGHTS), ("file of the decoder", DECODER_FILE))
        if key not in report.environment
    ]
    missing = " and the ".join(["commit", *unknown])
    yield f"of what was judged, the {missing}: not in the report, and what is stated was not checked"


def power(report: Report) -> str:
    """What is known of whether a fault would be noticed."""
    if report.power is None:
        return f"not measured: nothing wrong was planted through this adapter; {_ON_THE_REFERENCE}"
    each = "; ".join(planted_words(planted) for planted in report.power)
    return f"{power_words(report)}. {each}. Faults inside the decoder were not planted; {_ON_THE_REFERENCE}"


def rates(report: Report) -> str:
    """What bound there is on how often it is wrong."""
    return f"{_RECORDED if is_of_trace(report) else _CHOSEN}, {_NO_RATE}"


def floor(report: Report) -> str:
    """What is known of the noise floor."""
    if report.target == "exact":
        return "none needed: rows of the exact model are compared bit for bit"
    told = report.environment.get(FLOOR, "no row was held against it")
    return f"measured from rows without any tree: {told}"


CANNOT_SEE = {
    "A": "what only a trained model, its kernels or its number format bring out",
    "B": "faults that the independent implementation has as well",
    "C": "faults that the engine has without speculation too",
    "D": "faults that the recorded rows have too",
}


def _cases(report: Report, step: Step) -> int:
    return sum(result.cases for result in report.results if result.check in step.checks)
