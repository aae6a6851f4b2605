"""What came of one check over the requests of a trace: it counts outcomes, and is over at its first failure."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_oracle.checks import Check
from tree_oracle.record import CheckResult, Finding, Grade, Status, worst
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.reasons import Reasons
from tree_oracle.run.tally import bare_result

_SEAM = "trace"


@dataclass(slots=True)
class Ledger:
    """What came of one check so far."""

    check: Check
    outcomes: dict[Status, int] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=Reasons)
    skipped: str = ""  # why the first request that has nothing for this check has nothing
    near_ties: int = 0
    failed_at: int | None = None
    finding: Finding | None = None
    grade: Grade | None = None  # of what it was held against; None: nothing was judged

    @property
    def over(self) -> bool:
        """Whether nothing more needs to be judged."""
        return self.failed_at is not None

    def add(self, outcome: Outcome, grade: Grade) -> None:
        status = outcome.status
        self.outcomes[status] = self.outcomes.get(status, 0) + 1
        self.reasons.add(status, outcome.reason)
        self.near_ties += outcome.near_ties
        self.grade = grade
        if status in (Status.FAILED, Status.ERROR):
            self.failed_at = self.judged

    @property
    def judged(self) -> int:
        """Cases that counted."""
        beside = (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)
        return sum(count for status, count in self.outcomes.items() if status not in beside)

    def skip(self, reason: str) -> None:
        """The request has nothing for this check."""
        self.skipped = self.skipped or reason

    def result(self, usual: Grade) -> CheckResult:
        status = worst(self.outcomes) if self.outcomes else Status.NOT_OBSERVABLE
        return bare_result(
            self.check,
            status,
            cases=self.judged,
            undecided=self.outcomes.get(Status.UNDECIDED, 0),
            near_ties=self.near_ties,
            failed_at=self.failed_at,
            seams=(_SEAM,) if self.judged else (),
            reason=self.reasons.of(status, self.skipped or "the trace holds no request"),
            findings=() if self.finding is None else (self.finding,),
            grade=(self.grade or usual).value,
        )
