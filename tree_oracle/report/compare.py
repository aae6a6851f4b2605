"""Two reports of one decoder, before and after a change: what was mended, what broke, and what is no longer seen.

Every check is of one kind. With *good* = passed, *bad* = failed or error, and *blank* = all else, a check not run included:

    before  after   kind
    bad     good    fixed
    good    bad     broken
    bad     bad     still failing
    blank   bad     newly failing       it was not seen to pass before, so it is not called broken
    good    blank   lost                a check that is not seen any more proves nothing any more
    bad     blank   hidden              the failure is out of sight, which mends nothing
    blank   good    gained
    good    good    still passing
    blank   blank   still not seen

Swapping the reports swaps fixed and broken, lost and gained, newly failing and hidden, and leaves the others. Figures are set
side by side only where both runs did the same work; else a gain says nothing, and every difference that forbids it is named.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tree_oracle.record import CheckResult, FileError, Level, Report, Status
from tree_oracle.report.figures import Figure, figures, obstacles

COMPARISON_FORMAT = "tree-oracle-comparison"


class Kind(StrEnum):
    """What became of one check."""

    FIXED = "fixed"
    BROKEN = "broken"
    STILL_FAILING = "still failing"
    NEWLY_FAILING = "newly failing"
    LOST = "lost"
    HIDDEN = "hidden"
    GAINED = "gained"
    STILL_PASSING = "still passing"
    STILL_NOT_SEEN = "still not seen"


_KINDS = {
    ("bad", "good"): Kind.FIXED,
    ("good", "bad"): Kind.BROKEN,
    ("bad", "bad"): Kind.STILL_FAILING,
    ("blank", "bad"): Kind.NEWLY_FAILING,
    ("good", "blank"): Kind.LOST,
    ("bad", "blank"): Kind.HIDDEN,
    ("blank", "good"): Kind.GAINED,
    ("good", "good"): Kind.STILL_PASSING,
    ("blank", "blank"): Kind.STILL_NOT_SEEN,
}
_WORSE = (Kind.BROKEN, Kind.NEWLY_FAILING, Kind.LOST)


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One check in both reports; None where it was not run."""

    check: str
    kind: Kind
    before: Status | None
    after: Status | None
    level: Level
    why: str = ""  # what the later report says, where it is no pass


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of every check, outcome and figure."""

    format: str = COMPARISON_FORMAT
    version: int = 1
    changes: tuple[Change, ...]  # of every check in either report
    outcomes_lost: tuple[str, ...] = ()  # came about before, and do not now
    outcomes_strayed: tuple[str, ...] = ()  # the same, but of a run that failed, whose texts may have gone astray
    outcomes_gained: tuple[str, ...] = ()
    held: tuple[int | None, int | None]
    figures: tuple[Figure, ...] = ()  # those that differ; empty where they must not be compared
    obstacles: tuple[str, ...] = ()  # why figures are not compared

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """The checks of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)

    @property
    def worse(self) -> bool:
        """A ``must`` check broke, fails newly or is lost, or an outcome is lost."""
        return bool(self.outcomes_lost) or any(c.kind in _WORSE and c.level is Level.MUST for c in self.changes)

    @property
    def same(self) -> bool:
        """Nothing changed: no status, outcome or figure, and nothing forbids to compare figures."""
        moved = any(change.before is not change.after for change in self.changes)
        return not (moved or self.outcomes_lost or self.outcomes_gained or self.figures or self.obstacles)

    @property
    def exit_code(self) -> int:
        """1 if it is worse, else 0."""
        return 1 if self.worse else 0


def compare(before: Report, after: Report) -> Comparison:
    """Compare two reports.

    Raises:
        FileError: one holds two results of one check.
    """
    old, new = _by_check(before), _by_check(after)
    forbidden = obstacles(before, after)
    lost, strayed = _lost(before, after)
    return Comparison(
        changes=tuple(_change(check, old.get(check), new.get(check)) for check in sorted(old.keys() | new.keys())),
        outcomes_lost=lost,
        outcomes_strayed=strayed,
        outcomes_gained=_gone(after, before),
        held=(before.held, after.held),
        figures=() if forbidden else figures(before, after),
        obstacles=forbidden,
    )


def _by_check(report: Report) -> dict[str, CheckResult]:
    found: dict[str, CheckResult] = {}
    for result in report.results:
        if result.check in found:
            raise FileError(f"the report on {report.decoder!r} holds {result.check!r} twice; expected it once")
        found[result.check] = result
    return found


def _change(check: str, before: CheckResult | None, after: CheckResult | None) -> Change:
    old, new = (None if result is None else result.status for result in (before, after))
    must = any(result is not None and result.level is Level.MUST for result in (before, after))
    return Change(check, _KINDS[_class(old), _class(new)], old, new, Level.MUST if must else Level.SHOULD, _why(after))


def _why(after: CheckResult | None) -> str:
    if after is None or after.status is Status.PASSED:
        return ""
    return after.findings[0].sentence if after.findings else after.reason


def _class(status: Status | None) -> str:
    if status is Status.PASSED:
        return "good"
    return "bad" if status in (Status.FAILED, Status.ERROR) else "blank"


def _gone(before: Report, after: Report) -> tuple[str, ...]:
    return tuple(name for name in before.ledger.reached if name not in after.ledger.reached)


def _lost(before: Report, after: Report) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The outcomes that do not come about any more: those that are a loss, and those that a wrong text may have led to."""
    gone = _gone(before, after)
    failed = any(_class(result.status) == "bad" for result in before.results)
    strayed = tuple(name for name in gone if failed and name not in after.ledger.missed)
    return tuple(name for name in gone if name not in strayed), strayed
