"""What a run has come to so far: finished checks, from any process and any earlier attempt, and the report that they make.

Rule: a check that was not finished is ``undecided`` in the report, so that half a run never looks like a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_

import msgspec

from tree_oracle.checks import OUTCOMES, Check
from tree_oracle.decoder import Seam
from tree_oracle.record import (
    CheckResult,
    Extent,
    Ledger,
    Level,
    Noise,
    Report,
    Status,
    ToleranceFile,
    Witness,
    counted,
)
from tree_oracle.run.budget import Budget
from tree_oracle.run.stock import digest_of

FLOOR, OWN_WORD = "floor", "witness"  # in the environment of a report
_CASE = " "  # between the seam and the id of the case
_HANDED = " on handed drafts"  # behind the seam


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a report says of the run as a whole."""

    decoder: str
    target: str
    grade: str
    environment: dict[str, str]


class Finished(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One check that was done, and what else was learned by it."""

    result: CheckResult
    witnessed: dict[str, Witness] = {}  # by seam and case, since several checks judge the same rounds
    scenes: dict[str, str] = {}  # digest of each scene that was used
    seconds: float = 0.0
    reached: frozenset[str] = frozenset()  # outcomes that came about
    due: frozenset[str] = frozenset()  # outcomes that had to, in scenes that were judged to the end
    extent: Extent = Extent()  # the largest that was judged
    rows: int = 0  # that were held against a floor
    floor: Noise | None = None  # that floor; None: no row was held against one
    own_word: frozenset[str] = frozenset()  # by seam and case, where nothing but the decoder says that it speculated


class Tally:
    """Finished checks, in any order."""

    def __init__(
        self, checks: Sequence[Check], on_finished: Callable[[Finished], None] = lambda finished: None
    ) -> None:
        self.checks, self._on_finished = tuple(checks), on_finished
        self.head: Head | None = None  # known as soon as there is a target
        self._finished: dict[str, Finished] = {}

    @property
    def missing(self) -> list[Check]:
        """The checks that are still to be done, in order."""
        return [check for check in self.checks if check.id not in self._finished]

    @property
    def broken(self) -> int | None:
        """The lowest rung on which a check has failed so far."""
        return lowest_broken(finished.result for finished in self._finished.values())

    def take(self, earlier: Iterable[Finished]) -> None:
        """Count checks that were finished before, and tell nobody."""
        self._finished |= {finished.result.check: finished for finished in earlier}

    def add(self, finished: Finished) -> None:
        """Count a check that was finished now."""
        self._finished[finished.result.check] = finished
        self._on_finished(finished)

    def report(
        self, *, required: int | None = None, budget: Budget | None = None, tolerance: ToleranceFile | None = None
    ) -> Report:
        """The report. The head must be known."""
        assert self.head is not None
        done = list(self._finished.values())
        return Report(
            decoder=self.head.decoder,
            target=self.head.target,
            grade=self.head.grade,
            results=tuple(self._result(check) for check in self.checks),
            witness=_sum(done),
            own=_own(done),
            ledger=_ledger(done),
            extent=reduce(or_, (finished.extent for finished in done), Extent()),
            environment=self.head.environment | _floor(done) | _own_word(done),
            required=required,
            seed=None if budget is None else budget.seed,
            cases=None if budget is None else budget.cases,
            tolerance=tolerance,
            digest=digest_of({name: digest for finished in done for name, digest in finished.scenes.items()}),
            seconds={finished.result.check: finished.seconds for finished in done},
        )

    def _result(self, check: Check) -> CheckResult:
        assert self.head is not None
        if check.id in self._finished:
            return msgspec.structs.replace(self._finished[check.id].result, grade=self.head.grade)
        return bare_result(check, Status.UNDECIDED, reason="interrupted before it was done", grade=self.head.grade)


def bare_result(check: Check, status: Status, **more: object) -> CheckResult:
    """A result of ``check`` with these fields."""
    return CheckResult(
        check=check.id, law=check.law, level=check.level, rung=check.rung, status=status, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def lowest_broken(results: Iterable[CheckResult], known: int | None = None) -> int | None:
    """The lowest rung on which a ``must`` check failed, of these results and what was known before."""
    failed = [r.rung for r in results if r.level is Level.MUST and r.status is Status.FAILED]
    return min(failed if known is None else [*failed, known], default=None)


def _sum(done: Iterable[Finished], own: Seam | None = None) -> Witness:
    """Over all cases; ``own``: over those through one seam on which nothing was handed to the decoder."""
    every = {name: seen for finished in done for name, seen in finished.witnessed.items()}
    return sum((seen for name, seen in every.items() if own is None or _is_own(name, own)), Witness())


def _is_own(name: str, seam: Seam) -> bool:
    through, _, _ = name.rpartition(_CASE)
    return through == seam.value


def _floor(done: list[Finished]) -> dict[str, str]:
    """The line of the floor; none where no row was held against one."""
    rows = sum(finished.rows for finished in done)
    floor = next((finished.floor for finished in done if finished.floor is not None), None)
    if not rows or floor is None or not floor.samples:
        return {}
    power = f"the least of the wrong histories moved a row by {floor.wrong_history:.3g}"
    return {
        FLOOR: f"{floor.allowed:.3g} logits are allowed, and {power}; {floor_words(floor.samples, rows)}; {floor.origin}"
    }


def _own_word(done: list[Finished]) -> dict[str, str]:
    """The line on texts whose drafts nobody but the decoder saw; none where there is no such text."""
    count = len({name for finished in done for name in finished.own_word})
    requests = counted(count, "request")
    told = f"by the decoder's own word in {requests}: no pass of the target that scores a draft was seen to decide"
    return {OWN_WORD: told} if count else {}


def floor_words(controls: int, rows: int) -> str:
    """What chance alone does where the floor comes from so many control rows."""
    chance = Noise(samples=controls).by_chance(rows)
    return (
        f"from {controls} control rows; of {rows} judged rows about {chance:.3g} exceed the largest of them by chance"
    )


def _own(done: list[Finished]) -> Witness:
    """Rounds of the decoder's own drafting: as it shows them, or as the tap saw the same ones."""
    shown = _sum(done, Seam.GENERATE)
    return shown if shown.rounds else _sum(done, Seam.TAP)


def _ledger(done: list[Finished]) -> Ledger:
    """In the order of the catalogue, whichever check saw them."""
    reached = {name for finished in done for name in finished.reached}
    due = {name for finished in done for name in finished.due}
    return Ledger(
        tuple(name for name in OUTCOMES if name in reached), tuple(name for name in OUTCOMES if name in due - reached)
    )


def witness_key(seam: Seam, case: str, *, handed: bool = False) -> str:
    """The name of what was seen for one case through one seam; ``handed``: on drafts that were handed to it."""
    return f"{seam.value}{_HANDED if handed else ''}{_CASE}{case}"
