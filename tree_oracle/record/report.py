"""What a run of checks came to: results, counts, the level held, and the exit code.

Exit code: 1 a ``must`` check failed, or the list of known failures is not true; otherwise 3 one is in error, or a wrong answer
that was planted behind the adapter was missed; otherwise 4 no ``must`` check passed, the level asked for is not reached, or the
ledger misses an outcome; otherwise 0. (2 is a usage error and never a report.) A known failure counts neither way here; the
level that is said to be held never contains one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from typing import Annotated, TypeAlias

import msgspec

from tree_oracle.record.asked import Asked, ToleranceFile
from tree_oracle.record.extent import Extent
from tree_oracle.record.finding import Finding
from tree_oracle.record.power import Catch, Planted
from tree_oracle.record.ranges import Count
from tree_oracle.record.status import Level, Status
from tree_oracle.record.truth import Grade

REPORT_FORMAT = "tree-oracle-report"
REPORT_VERSION = 1

Place: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**53)]  # counted from 1
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]

BITWISE = 5  # the rung whose checks are all ``should``: many right decoders do not hold it

EXIT_HELD, EXIT_FAILED, EXIT_USAGE, EXIT_ADAPTER, EXIT_UNDECIDED = 0, 1, 2, 3, 4


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a failure is expected, and where it is followed up."""

    reason: str
    tracker: str


class CheckResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One check against one decoder."""

    check: str
    law: str
    level: Level
    rung: Count  # the level of the ladder that the check belongs to
    status: Status
    cases: Count = 0  # cases judged
    undecided: Count = 0  # of these, how many stayed undecided
    near_ties: Count = 0  # tokens that differ from the truth's within the noise
    failed_at: Place | None = None  # number of the first case that failed, counted from 1
    seams: tuple[str, ...] = ()  # what the rounds were seen through
    grade: str = ""  # of the truth that it was held against
    reason: str = ""  # why not observable, not applicable, undecided or in error
    findings: tuple[Finding, ...] = ()
    known: Known | None = None  # a failure that the tested project has on its list


class Ended(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many rounds ended for one reason."""

    why: str  # one of ``tree_oracle.metrics.WhyEnded``
    rounds: Count


class HandedOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What commits had to do for the rounds after them."""

    branching: Count = 0  # rounds whose tree has siblings
    accepting: Count = 0  # rounds that accept a node and have a round of their request after them
    displacing: Count = (
        0  # of these, the ones whose accepted nodes lie outside the next slots, so that rows have to be moved
    )

    def __add__(self, other: HandedOn) -> HandedOn:
        return HandedOn(
            self.branching + other.branching, self.accepting + other.accepting, self.displacing + other.displacing
        )


class Witness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Evidence that speculation ran in the very requests that were judged."""

    rounds: Count = 0
    drafted: Count = 0
    accepted: Count = 0
    emitted: Count = 0
    # Of the rounds that show tree and accepted path, by position from 1 on: how many accept at least so many tokens, and
    # how many have a node at that depth.
    reached: tuple[Count, ...] = ()
    proposed: tuple[Count, ...] = ()
    # Of the rounds that show the pool, by depth from 1 on: how many go on so far, and how many of them hold that in the pool
    # and in the tree.
    known: tuple[Count, ...] = ()
    pooled: tuple[Count, ...] = ()
    packed: tuple[Count, ...] = ()
    ended: tuple[Ended, ...] = ()  # why rounds ended, in the order of the alphabet
    handed_on: HandedOn | msgspec.UnsetType = (
        msgspec.UNSET
    )  # not there: nobody looked, as in a report of an older release

    def __add__(self, other: Witness) -> Witness:
        return Witness(
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.accepted + other.accepted,
            self.emitted + other.emitted,
            _added(self.reached, other.reached),
            _added(self.proposed, other.proposed),
            _added(self.known, other.known),
            _added(self.pooled, other.pooled),
            _added(self.packed, other.packed),
            count_endings((*self.ended, *other.ended)),
            _both(self.handed_on, other.handed_on),
        )


def _both(some: HandedOn | msgspec.UnsetType, others: HandedOn | msgspec.UnsetType) -> HandedOn | msgspec.UnsetType:
    if isinstance(some, msgspec.UnsetType) or isinstance(others, msgspec.UnsetType):
        return others if isinstance(some, msgspec.UnsetType) else some
    return some + others


def count_endings(ended: Iterable[Ended]) -> tuple[Ended, ...]:
    """The same with every reason once."""
    total: Counter[str] = Counter()
    for one in ended:
        total[one.why] += one.rounds
    return tuple(Ended(why, rounds) for why, rounds in sorted(total.items()))


def _added(some: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip_longest(some, others, fillvalue=0))


class Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which outcomes came about in the rounds that were judged (``tree_oracle.checks.outcomes`` says what they are).

    ``missed`` are those that did not although cases made for them were judged to the end without a failure: what the run says
    of them is then said of rounds that do not hold them. So it is no pass. A check that failed stops at that case and misses
    what comes after; it is the failure that counts.
    """

    reached: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a run came to."""

    format: str = REPORT_FORMAT
    version: int = REPORT_VERSION
    decoder: str
    target: str
    grade: str
    results: tuple[CheckResult, ...]
    witness: Witness = Witness()
    own: Witness = Witness()  # of these, the rounds whose trees the decoder drafted by itself
    ledger: Ledger = Ledger()
    extent: Extent | None = None  # None: nobody looked, as in a report of an older release
    environment: dict[str, str] = {}
    required: Count | None = None  # the rung asked for; None: the highest that the seams allow
    seed: int | None = None  # of the generated cases; None: the same cases every time
    cases: Count | None = None  # generated per check and seam; None: not kept, as in a report of an older release
    tolerance: ToleranceFile | None = None  # that the floor was taken from; None: measured on the spot, or not kept
    digest: str = ""  # of all cases judged, see ``tree_oracle.run.stock``
    seconds: dict[str, Seconds] = {}  # how long each check took
    violations: tuple[str, ...] = ()  # what is not true of the list of known failures
    power: tuple[Planted, ...] | None = None  # None: not measured

    @property
    def asked(self) -> Asked:
        """What it takes to run the same again, but for the decoder and its target."""
        place = {name: self.environment.get(name, "") for name in ("device", "dtype", "attention")}
        checks = tuple(result.check for result in self.results)
        return Asked(checks=checks, cases=self.cases, seed=self.seed, tolerance=self.tolerance, **place)

    @property
    def counts(self) -> dict[Status, int]:
        """How many checks ended in each of the six statuses, zeros included."""
        return {status: sum(result.status is status for result in self.results) for status in Status}

    @property
    def held(self) -> int | None:
        """The strongest rung whose checks all passed, every lower rung held or not observable; None: none is held.

        ``must`` checks count, and on the rung ``BITWISE``, which is asked of nobody who does not require it, ``should`` checks;
        not on the exact model, where nothing rounds.
        """
        return _held(self.rungs)

    @property
    def broken(self) -> int | None:
        """The weakest rung on which a ``must`` check failed; None: none failed."""
        return min((r.rung for r in self._must() if r.status is Status.FAILED), default=None)

    @property
    def exit_code(self) -> int:
        """See the module's first lines."""
        due = [result for result in self._must() if result.known is None]
        statuses, held = {result.status for result in due}, _held(due)
        reached = _held([result for result in self.rungs if result.known is None])
        if self.violations or Status.FAILED in statuses:
            return EXIT_FAILED
        if Status.ERROR in statuses or any(planted.catch is Catch.MISSED for planted in self.power or ()):
            return EXIT_ADAPTER
        if held is None or (reached or 0) < self._asked(due) or self.ledger.missed:
            return EXIT_UNDECIDED
        return EXIT_HELD

    def __str__(self) -> str:
        """A few lines: the counts, the exit code, and the first sentence against each check that did not pass."""
        counts = ", ".join(f"{count} {status.value}" for status, count in self.counts.items() if count)
        held = "no rung of the ladder" if self.held is None else f"rung L{self.held}"
        lines = [
            f"{self.decoder} on {self.target}: {counts or 'no check ran'}; holds {held}; exit code {self.exit_code}"
        ]
        for result in self.results:
            if result.status in (Status.FAILED, Status.ERROR, Status.UNDECIDED):
                said = result.findings[0].sentence if result.findings else result.reason
                known = f" (known, {result.known.tracker})" if result.known is not None else ""
                lines.append(f"{result.check} {result.status.value}{known}: {said}")
        lines += self.violations
        return "\n".join(lines)

    def _asked(self, due: list[CheckResult]) -> int:
        if self.required is not None:
            return self.required
        shown = [r.rung for r in due if r.status not in (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)]
        return max(shown, default=0)

    @property
    def rungs(self) -> list[CheckResult]:
        """The results that rungs are held by."""
        bitwise = [
            r for r in self.results if r.rung == BITWISE and r.level is Level.SHOULD and self.grade != Grade.EXACT
        ]
        return [*self._must(), *bitwise]

    def _must(self) -> list[CheckResult]:
        return [result for result in self.results if result.level is Level.MUST]


def _held(must: list[CheckResult]) -> int | None:
    held = None
    for rung in sorted({result.rung for result in must}):
        statuses = {result.status for result in must if result.rung == rung}
        if statuses & {Status.FAILED, Status.ERROR, Status.UNDECIDED}:
            break
        if Status.PASSED in statuses:
            held = rung
    return held
