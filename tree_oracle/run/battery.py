"""One decoder, judged check by check in this process, and what was seen of it meanwhile.

Rule: a failure is made smaller only where no lower rung of the ladder is broken. What fails above one usually follows from it
and is shown as found: to shrink it too would take most of the time and say little.

A hang cannot be stopped from inside the process: ``child_run`` runs the same battery in one that can be killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from tree_oracle.checks import Check, Source, Stage
from tree_oracle.decoder import Seam
from tree_oracle.record import (
    Case,
    CheckResult,
    DecoderError,
    Earlier,
    Finding,
    Recurs,
    Round,
    Status,
    case_id,
    worst,
)
from tree_oracle.run.astray import Astray
from tree_oracle.run.budget import Budget
from tree_oracle.run.conventions import fitting_convention
from tree_oracle.run.diagnose import LineUp
from tree_oracle.run.diagnose_law import LawLineUp
from tree_oracle.run.diagnosis import Diagnosis
from tree_oracle.run.edges import edges_of
from tree_oracle.run.evidence import Evidence
from tree_oracle.run.explain import explained
from tree_oracle.run.explore import Exploration
from tree_oracle.run.noted import Noted
from tree_oracle.run.outcome import Outcome, by_rounds_alone, outcome_of
from tree_oracle.run.reasons import Reasons
from tree_oracle.run.recurs import Recurrence
from tree_oracle.run.renewal import Renewal, driver_of
from tree_oracle.run.root_conventions import roots_shown_otherwise
from tree_oracle.run.stock import Stock, elsewhere
from tree_oracle.run.subject import Subject
from tree_oracle.run.supervision import NOBODY, Supervision
from tree_oracle.run.tally import Finished, bare_result, lowest_broken


class Battery:
    """One decoder and what was seen of it."""

    def __init__(
        self,
        subject: Subject,
        budget: Budget,
        stock: Stock | None = None,
        supervision: Supervision = NOBODY,
        *,
        broken: int | None = None,
        earlier: Sequence[Earlier] = (),
    ) -> None:
        self.subject, self.budget, self.supervision = subject, budget, supervision
        self.broken = broken  # the lowest rung on which a check has failed so far
        self.stock = stock or Stock(Stage(subject.truth), cases=budget.cases, seed=budget.seed)
        self.driver = driver_of(subject, subject.decoder, subject.watched, subject.target.model)
        self._earlier = tuple(earlier)  # what the decoder answers before each case that is given to ``finish``
        self._renewal = Renewal(subject, supervision)
        self._text_hint: str | None = None  # which convention its texts follow; None: nobody asked yet
        self._line_up, self._law_line_up = LineUp(subject.target, subject.truth), LawLineUp(subject.declared_mode)
        self._noted = Noted(subject.truth, edges_of(subject.target))
        astray = Astray(self._renewal.maker(), subject.truth.vocab_size)
        self._evidence = Evidence(
            self._rounds, self.driver.passes, self._noted.witness, astray, supervision, tapped=Seam.TAP in subject.seams
        )

    def finish(self, check: Check, cases: Sequence[Case] | None = None) -> Finished:
        """The result of one check, and what else was learned by it. Witnesses may be told more than once."""
        began = time.monotonic()
        self._noted.begin()
        scenes = self.scenes(check) if cases is None else {}
        result = self.run(check, cases, shrink=self.broken is None or check.rung <= self.broken)
        self.broken = lowest_broken([result], self.broken)
        return self._noted.finished(result, scenes, time.monotonic() - began)

    def scenes(self, check: Check) -> dict[str, str]:
        """The digest of every scene that the check uses with this decoder."""
        return {source.scene.name: self.stock.digest(source.scene) for source in self._offered(check)}

    def run(self, check: Check, cases: Sequence[Case] | None = None, *, shrink: bool = True) -> CheckResult:
        """The result of one check over all of its sources that the decoder offers.

        ``cases`` are judged instead of the check's own, where they fit a source. ``shrink``: make a failure smaller.
        """
        offered = self._offered(check)
        if not offered:
            wanted = " or ".join(sorted({source.seam.method for source in check.sources}))
            return bare_result(check, Status.NOT_OBSERVABLE, reason=f"needs the method {wanted}")
        given = self._given(cases)
        explored = [(source, self._explore(check, source, given(source), shrink=shrink)) for source in offered]
        return self._combine(check, explored)

    @staticmethod
    def _given(cases: Sequence[Case] | None) -> Callable[[Source], list[Case] | None]:
        """Which of the cases each source judges, in this order: none that another one judges through the same seam."""
        taken = set[tuple[Seam, str]]()

        def given(source: Source) -> list[Case] | None:
            if cases is None:
                return None
            own = [case for case in cases if source.scene.fits(case) and (source.seam, case_id(case)) not in taken]
            taken.update((source.seam, case_id(case)) for case in own)
            return own

        return given

    def judge(self, check: Check, source: Source, case: Case) -> Outcome:
        """Drive and judge one case."""
        outcome = self._outcome(check, source, case)
        self._noted.note(check, source, case, outcome, self._evidence.passes(source, case, outcome.rounds))
        return outcome

    def _outcome(self, check: Check, source: Source, case: Case) -> Outcome:
        drive, subject = partial(self._rounds, source), self.subject
        generates, tapped = source.seam is Seam.GENERATE, source.seam is Seam.TAP
        return outcome_of(
            check, case, subject.truth, drive, *subject.declared,
            unwitnessed=partial(self._evidence.unwitnessed, source) if generates or tapped else by_rounds_alone,
            recovered=tapped,
            told_by_text=generates and self._death(source, case) is None,
            offered=subject.seams,
        )  # fmt: skip

    def _offered(self, check: Check) -> list[Source]:
        return [source for source in check.sources if source.seam in self.subject.seams]

    def _rounds(self, source: Source, case: Case) -> tuple[Round, ...]:
        death = self._death(source, case)
        if death is not None:
            raise DecoderError(death)
        with self.supervision.watch(source, case):
            return self.driver.rounds(source.seam, case)

    def _death(self, source: Source, case: Case) -> str | None:
        """How driving this case killed a process before, if it did."""
        return self.supervision.deadly.get((source.seam.value, case_id(case)))

    def _looked_into(self, check: Check, source: Source, exploration: Exploration) -> bool:
        """Whether a failure is shrunk and diagnosed: not if it is known, or if each attempt would cost a process."""
        if exploration.worst_case is None or check.id in self.supervision.as_found:
            return False
        return self._death(source, exploration.worst_case[0]) is None

    def _explore(self, check: Check, source: Source, cases: Sequence[Case] | None, *, shrink: bool) -> Exploration:
        exploration = Exploration(lambda case: self.judge(check, source, case))
        if cases is not None:
            self._renewal.ask(source, self.driver, self._earlier)
            exploration.run(cases)
            return exploration
        exploration.run(self.stock.of(source.scene))
        if not self._looked_into(check, source, exploration):
            return exploration
        self.supervision.on_failure(self._combine(check, [(source, exploration)], quick=True))
        if shrink:
            strategy = source.scene.generated(self.stock.stage)
            known = self.stock.of(source.scene)
            exploration.shrink(strategy, runs=self.budget.shrink_runs, seed=self.budget.seed, known=known)
        exploration.recurrence = self._recurrence(check, source, exploration, self.budget.shrink_runs if shrink else 0)
        return exploration

    def _recurrence(self, check: Check, source: Source, found: Exploration, runs: int) -> Recurrence | None:
        if not self.budget.diagnose or found.worst_case is None:
            return None
        case = found.worst_case[0]
        return self._renewal.recurrence(check, source, case, self.driver.before(source.seam, case), runs)

    def _combine(self, check: Check, explored: list[tuple[Source, Exploration]], *, quick: bool = False) -> CheckResult:
        outcomes = [outcome for _, one in explored for outcome in one.outcomes]
        judged = [outcome for outcome in outcomes if outcome.status in _COUNTED]
        status = worst(outcome.status for outcome in outcomes)
        reasons = Reasons((outcome.status, outcome.reason) for outcome in outcomes)
        failures = [
            self._finding(check, source, one, diagnose_it=not quick and self._looked_into(check, source, one))
            for source, one in explored
            if one.worst_case is not None
        ]
        return bare_result(
            check,
            status,
            cases=len(judged),
            undecided=sum(outcome.status is Status.UNDECIDED for outcome in judged),
            near_ties=sum(outcome.near_ties for outcome in judged),
            failed_at=min((one.failed_at for _, one in explored if one.failed_at is not None), default=None),
            seams=tuple(dict.fromkeys(source.seam.value for source, one in explored if _saw(one.outcomes))),
            reason=reasons.of(status, "no case fits this check"),
            findings=tuple(failures),
        )

    def _finding(self, check: Check, source: Source, exploration: Exploration, *, diagnose_it: bool) -> Finding:
        assert exploration.worst_case is not None
        case, outcome = exploration.worst_case
        diagnosis, again = None, exploration.recurrence
        # Else the suspects, whom nobody asked before, would be tried on other terms.
        by_its_case = not self._earlier and (again is None or again.recurs is Recurs.ALONE)
        if diagnose_it and self.budget.diagnose and by_its_case and outcome.status is Status.FAILED:
            diagnosis = self._diagnosed(check, source, case)
        found = explained(outcome.findings[0], case, outcome.rounds, diagnosis, again)
        return self._with_convention(check, source, case, found) if diagnose_it and self.budget.diagnose else found

    def _with_convention(self, check: Check, source: Source, case: Case, found: Finding) -> Finding:
        """The finding, and which other usual convention such texts, or the roots of their trees, follow if they follow one."""
        if source.seam.method != Seam.GENERATE:
            return found
        if found.status is Status.ERROR:  # there is no round to look at
            if self._text_hint is None:  # the same for every check
                with self.supervision.watch(source, case):
                    self._text_hint = fitting_convention(self.subject, Seam.GENERATE)
            return msgspec.structs.replace(found, sentence=found.sentence + self._text_hint)
        if source.seam is not Seam.GENERATE or "tokens" not in check.needs:
            return found
        said = roots_shown_otherwise(partial(self._rounds, source), (case, *self.stock.of(source.scene)))
        added = f"{found.sentence}; if the decoder is right, the adapter tells it otherwise: {said}"
        return msgspec.structs.replace(found, sentence=added) if said else found

    def _diagnosed(self, check: Check, source: Source, case: Case) -> Diagnosis:
        seam, others, seen = source.seam, self.stock.of(source.scene), partial(self._rounds, source)
        more = elsewhere(self.stock, source)
        if not source.scene.chancy:
            return self._line_up.diagnose(seam, case, others, seen, more)

        def fails(one: Case) -> bool:
            return self._outcome(check, source, one).status is Status.FAILED

        return self._law_line_up.diagnose(seam, case, others, seen, fails, more)


_COUNTED = (Status.PASSED, Status.FAILED, Status.UNDECIDED, Status.ERROR)


def _saw(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.status in _COUNTED for outcome in outcomes)
