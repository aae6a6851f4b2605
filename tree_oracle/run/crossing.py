"""The fault x seam matrix: through which seams each planted fault is seen, by which check, and whether its cause is named.

A cell is one fault seen through one seam alone. The checks are tried from the lowest rung up, the cause is taken from the
first that fails. The right cause counts as named if it comes first among those that fit; a cause that is called certain and
is not the planted one is a defect of the diagnosis. Seams that do not run the wrong part are not driven: it cannot show there.
A wrong law is seen through the two seams by chance; laws that no case tells apart are one cause, with all of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

import msgspec

from tree_oracle.checks import Check, choose
from tree_oracle.decoder import Seam
from tree_oracle.faults import PLANTED, Planted, find_fault
from tree_oracle.faults.laws.suspects import ALIKE
from tree_oracle.record import CheckResult, Status
from tree_oracle.run.battery import Battery
from tree_oracle.run.budget import Budget
from tree_oracle.run.proof import Grounds

_LISTED = Budget(cases=0, shrink_runs=0)


class Named(StrEnum):
    """What the diagnosis says of the planted cause."""

    ALONE = "alone"
    FIRST = "first"
    LATER = "among others"
    UNKNOWN = "unknown"
    WRONG = "wrong"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One fault through one seam; ``check`` is empty where the seam does not show the fault."""

    fault: str
    seam: str
    check: str = ""
    named: Named | None = None
    causes: tuple[str, ...] = ()
    certain: bool = False

    @property
    def good(self) -> bool:
        """Nothing wrong is called certain."""
        return not (self.certain and self.named is Named.WRONG)


def matrix(names: Sequence[str] = ()) -> Iterator[Cell]:
    """Every cell, fault by fault, on the listed cases.

    Args:
        names: faults to try, each on its own target; all of them if empty.

    Raises:
        UsageError: no fault of that name.
    """
    grounds = Grounds(cases=0)
    for fault in [find_fault(name) for name in names] if names else PLANTED.values():
        ground = grounds.of(fault.target)
        battery = Battery(ground.subject(fault.name, fault.decoder), _LISTED, ground.stock)
        yield from (_cell(battery, fault, seam) for seam in Seam if seam in battery.subject.seams)


def _cell(battery: Battery, fault: Planted, seam: Seam) -> Cell:
    for check in _through(seam) if seam in fault.seams else ():
        result = battery.run(check)
        if result.status is Status.FAILED:
            return _told(fault, seam, result)
    return Cell(fault=fault.name, seam=seam.value)


def _through(seam: Seam) -> Iterator[Check]:
    """The checks, with this seam as their only source."""
    for check in choose():
        sources = tuple(source for source in check.sources if source.seam is seam)
        if sources:
            yield replace(check, sources=sources)


def _told(fault: Planted, seam: Seam, result: CheckResult) -> Cell:
    found = result.findings[0]
    causes = tuple(cause.partition(":")[0] for cause in found.causes)
    return Cell(
        fault=fault.name,
        seam=seam.value,
        check=result.check,
        named=_named(fault, causes),
        causes=causes,
        certain=found.certain,
    )


def _named(fault: Planted, causes: tuple[str, ...]) -> Named:
    if not causes:
        return Named.UNKNOWN
    here = next((place for place, cause in enumerate(causes) if fault.name in cause.split(ALIKE)), None)
    if here is None:
        return Named.WRONG
    if len(causes) == 1:
        return Named.ALONE
    return Named.LATER if here else Named.FIRST
