"""Figures of two runs, and when they may be set side by side.

A gain in acceptance is a statement about the decoder only if both runs did the same work. So the cases (by their digest, which
covers prompts, trees and limits), the target, where and how it ran, the code that counted, and for each check what it judged
through which seams must be the same. A check that stops at a failure sees fewer rounds, so its number of cases must agree too.
That nothing else differed is more than a report can show. Seconds are the oracle's own and are never compared.
"""

from __future__ import annotations

import msgspec

from tree_oracle.record import Report
from tree_oracle.record.installed import FILES
from tree_oracle.report.words import by_position
from tree_oracle.run.environment import WEIGHTS

# Of the environment, what has a part in how many tokens are accepted or how they are counted.
_PLACE = ("device", "dtype", "attention", "machine", "torch", "transformers", "tree-oracle", FILES, WEIGHTS)
_RECORDED = ("engine", *(f"recorded {name}" for name in ("device", "dtype", "attention", "machine")))  # of a trace
_MOST = 5  # checks that are named


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure that differs, before and after, as fractions are written: whole numbers over whole numbers."""

    name: str
    before: str
    after: str


def figures(before: Report, after: Report) -> tuple[Figure, ...]:
    """The figures that differ."""
    old, new = _all(before), _all(after)
    names = [*old, *(name for name in new if name not in old)]
    found = (Figure(name, old.get(name, "none"), new.get(name, "none")) for name in names)
    return tuple(figure for figure in found if figure.before != figure.after)


def _all(report: Report) -> dict[str, str]:
    own = report.own
    if not own.rounds:
        return {}
    told = {"tokens per round": f"{own.emitted / own.rounds:.3f} ({own.emitted}/{own.rounds})"}
    for position, (accepted, proposed) in enumerate(by_position(report), 1):
        told[f"accepted at position {position}"] = f"{_rate(accepted, proposed)} ({accepted}/{proposed})"
    return told


def _rate(accepted: int, proposed: int) -> str:
    return f"{100 * accepted / proposed:.1f} %" if proposed else "none"


def obstacles(before: Report, after: Report) -> tuple[str, ...]:
    """Every difference that forbids to compare figures; none where they may be."""
    facts = [
        ("target", before.target, after.target),
        ("cases (digest)", before.digest, after.digest),
        ("seed", before.seed, after.seed),
        ("tolerance report (digest)", _floor(before), _floor(after)),
        ("grade of truth", before.grade, after.grade),
        *((name, before.environment.get(name), after.environment.get(name)) for name in (*_PLACE, *_RECORDED)),
    ]
    found = [f"{name}: {_said(old)} before, {_said(new)} after" for name, old, new in facts if old != new]
    found += [] if before.digest or after.digest else ["cases (digest): in neither report"]
    return (*found, *_work(before, after))


def _floor(report: Report) -> str:
    return "none" if report.tolerance is None else report.tolerance.sha256


def _work(before: Report, after: Report) -> list[str]:
    """Checks that did not judge the same number of cases through the same seams."""
    old, new = ({r.check: (r.cases, r.seams) for r in report.results if r.cases} for report in (before, after))
    found = [check for check in sorted(old.keys() | new.keys()) if old.get(check) != new.get(check)]
    told = [f"work of {check}: {_judged(old.get(check))} before, {_judged(new.get(check))} after" for check in found]
    more = len(told) - _MOST
    return told if more <= 0 else [*told[:_MOST], f"work of {more} more checks"]


def _judged(work: tuple[int, tuple[str, ...]] | None) -> str:
    return "nothing" if work is None else f"{work[0]} cases through {', '.join(work[1]) or 'no seam'}"


def _said(value: object) -> str:
    return "not said" if value in (None, "") else str(value)
