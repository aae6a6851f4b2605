"""Findings sorted by what would explain them, so that one fault is read once, however many checks it breaks.

Rule: a finding belongs to the first cause that fits it, in the diagnosis's own order; where none fits, or none was looked for,
that is its heading. But one word is said of one check: what none of the suspects explains stands under the cause that another
of its findings has. Headings stand in the order of the lowest rung on which they show, since faults above usually follow.

Below a heading findings stand by rung, those of checks that decide nothing last; on one rung first the one that tells most, and
the smallest case among those that tell as much. What is read first is also what is to be looked at first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_oracle.record import CheckResult, Finding, Level, Report, Status, size_of

NO_SUSPECT = "No suspect shows the same"
NOT_TRACED = "Not traced to one part"
_NO_CAUSE = {Status.ERROR: "Answers that cannot be judged", Status.UNDECIDED: "Evidence that decides nothing"}


@dataclass(frozen=True, slots=True)
class Told:
    """One finding and the check that it belongs to."""

    result: CheckResult
    finding: Finding


@dataclass(slots=True)
class Cause:
    """A heading, and what stands under it."""

    name: str
    told: list[Told] = field(default_factory=list)

    @property
    def checks(self) -> list[str]:
        """The checks that it broke, lowest rung first."""
        rungs = {told.result.check: told.result.rung for told in self.told}
        return sorted(rungs, key=lambda check: (rungs[check], check))

    @property
    def certain(self) -> bool:
        """Every finding tells it apart from all other suspects."""
        return all(told.finding.certain for told in self.told)

    @property
    def uncertain(self) -> str:
        """Why it is not certain, by the first finding that says so; empty where it is certain, or nothing is said."""
        said = next((told.finding.uncertain for told in self.told if told.finding.uncertain), "")
        beside = next((told for told in self.told if unexplained(told.finding)), None) if self.named else None
        return said or ("" if beside is None else f"no suspect shows the same on another case of {beside.result.check}")

    @property
    def alone(self) -> bool:
        """In every finding that some cause fits it is the only one, certain or not."""
        return all(len(told.finding.causes) <= 1 for told in self.told)

    @property
    def named(self) -> bool:
        """It is a cause, not the lack of one."""
        return self.name not in (NO_SUSPECT, NOT_TRACED, *_NO_CAUSE.values())


def once_each(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """The findings of one check, those that one cause explains told once: by the one that tells most, and of the smallest case
    among those that tell as much, the others behind it.

    A check that reads rounds in several ways finds one fault in each of them, and says one word of it: what several suspects
    would explain goes with what one of them explains alone, and what none explains, with what one does. A text that came
    without rounds has no place for a cause to be told by, and goes with those that have one.
    """
    fewest = sorted({finding.causes for finding in findings if finding.causes}, key=len)
    kept = [causes for at, causes in enumerate(fewest) if not any(set(one) < set(causes) for one in fewest[:at])]
    placed = next((finding.causes for finding in findings if finding.causes in kept), ())
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        within = next((causes for causes in kept if set(causes) <= set(finding.causes)), ())
        homeless = not finding.causes and (finding.round is None or finding.diagnosed_on > 0)
        groups.setdefault(placed if homeless else within, []).append(finding)
    told = []
    for causes, group in groups.items():
        first = min((finding for finding in group if finding.causes == causes), key=_worth, default=group[0])
        told.append((first, [finding for finding in group if finding is not first]))
    return told


def unexplained(finding: Finding) -> bool:
    """Whether suspects were tried and none shows the same."""
    return finding.diagnosed_on > 0 and not finding.causes


def by_cause(report: Report, status: Status, *, known: bool = False) -> list[Cause]:
    """The results of one status, known failures or all others, under their causes."""
    results = (r for r in report.results if r.status is status and (r.known is not None) is known)
    causes: dict[str, Cause] = {}
    for name, told in sorted(_told(results), key=lambda one: precedence(one[1].result, one[1].finding)):
        causes.setdefault(name, Cause(name)).told.append(told)
    return list(causes.values())


def precedence(result: CheckResult, finding: Finding) -> tuple[object, ...]:
    """Smallest what is to be read first: what failed, what decides something, the lowest rung, and there what tells most."""
    should = result.level is not Level.MUST
    return result.status is not Status.FAILED, should, result.rung, *_worth(finding)


def _worth(finding: Finding) -> tuple[bool, bool, int, bool, bool, tuple[int, ...]]:
    """Smallest what is to be told first; a case whose trees were handed over is easier to follow than one whose were not."""
    case = finding.case
    own = case is None or not (case.trees or case.batch)
    told = not finding.certain, not finding.causes, len(finding.causes), not finding.drawing
    return *told, own, size_of(case) if case is not None else ()


def _told(results: Iterable[CheckResult]) -> Iterator[tuple[str, Told]]:
    """Every finding with the heading that it stands under."""
    for result in results:
        bare = Finding(status=result.status, sentence=result.reason or "no explanation was kept")
        for first, others in once_each(result.findings or (bare,)):
            for finding in (first, *others):
                looked = finding.causes or unexplained(finding)
                yield _name(Told(result, first if looked else finding)), Told(result, finding)


def _name(told: Told) -> str:
    if told.finding.causes:
        return told.finding.causes[0]
    if unexplained(told.finding):
        return NO_SUSPECT
    return _NO_CAUSE.get(told.result.status, NOT_TRACED)
