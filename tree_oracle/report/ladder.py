"""The rungs of the ladder, in words. A rung is held when its checks passed and every lower one is held or not observable."""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import CheckResult, Grade, Report, Status

RUNGS = {
    0: "adapter sane",
    1: "structure",
    2: "histories",
    3: "greedy equal",
    4: "law equal",
    5: "bitwise width-invariant",
}

GRADES = {
    "A": "the exact model",
    "B": "an independent implementation of the same weights",
    "C": "the same engine with speculation off; blind to faults that both arms share",
    "D": "rows that came with the record; blind to faults that both arms share",
}


def rung(number: int | None) -> str:
    """``L2 histories``, or ``none``."""
    return "none" if number is None else f"L{number} {RUNGS.get(number, 'of another release')}"


def verdict(report: Report) -> str:
    """The result in one line."""
    held, broken = rung(report.held), report.broken
    end = f"weakest broken: {rung(broken)}" if broken is not None else "nothing broken"
    end += ", but the list of known failures is not true" if broken is None and report.violations else ""
    end += ", by truth of grade D alone" if report.grade == Grade.RECORDED else ""
    return f"strongest held: {held}; {end}"


@dataclass(frozen=True, slots=True)
class Step:
    """One rung as a run found it."""

    number: int
    state: str  # held, broken, error, undecided, above (passed, but a lower rung is not held), unseen or none
    words: str
    checks: tuple[str, ...]  # the checks behind the words: ``must``, but on the last rung

    @property
    def name(self) -> str:
        """``L2 histories``."""
        return rung(self.number)


_AGAINST = (
    (Status.FAILED, "broken", "broken"),
    (Status.ERROR, "error", "the adapter is at fault"),
    (Status.UNDECIDED, "undecided", "undecided"),
)


def steps(report: Report) -> list[Step]:
    """The rungs from the lowest up, those without a check included; the adapter is examined by the doctor, not here."""
    return [_step(report, number) for number in sorted(RUNGS.keys() - {0} | {result.rung for result in report.results})]


def _why_not(report: Report, number: int, due: list[CheckResult]) -> str:
    if due:
        return "not seen"
    run = any(result.rung == number for result in report.results)
    return "no word on it, since nothing rounds on the exact model" if run else "no check was run"


def _step(report: Report, number: int) -> Step:
    due = [result for result in report.rungs if result.rung == number]
    for status, state, words in _AGAINST:
        checks = tuple(result.check for result in due if result.status is status)
        if checks:
            return Step(number, state, words, checks)
    passed = tuple(result.check for result in due if result.status is Status.PASSED)
    if not passed:
        return Step(number, "unseen" if due else "none", _why_not(report, number, due), ())
    if report.held is not None and number <= report.held:
        return Step(number, "held", "held", passed)
    return Step(number, "above", "passed, but a lower rung is not held", passed)
