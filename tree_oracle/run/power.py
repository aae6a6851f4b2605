"""Measuring power: are wrong answers noticed that are planted behind this very adapter, and their twins not?

What is planted are the answers of ``tree_oracle.run.tamper``: a wrong answer on the way from the decoder to the check that has
to notice it. No part of the decoder is replaced, so nothing is said of the faults that it may have inside; that every check can
fail on those is shown on the reference (``tree-oracle faults --prove``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from tree_oracle.checks import CHECKS
from tree_oracle.decoder import Seam
from tree_oracle.record import Catch, Planted, Status
from tree_oracle.run.battery import Battery
from tree_oracle.run.budget import Budget
from tree_oracle.run.stock import Stock
from tree_oracle.run.subject import Subject
from tree_oracle.run.supervision import NOBODY, Supervision
from tree_oracle.run.tamper import TAMPERINGS, Tampered, Tampering

_LISTED_ONLY = Budget(cases=0, shrink_runs=0, diagnose=False)
_TRIED = 24  # listed cases: some of them accept a node, end, and go on


@dataclass(frozen=True, slots=True)
class Power:
    """Plants answers behind one adapter."""

    subject: Subject
    stock: Stock
    supervision: Supervision = NOBODY

    def measured(self) -> tuple[Planted, ...]:
        """Every wrong answer that is known."""
        return tuple(self.planted(tampering) for tampering in TAMPERINGS)

    def through(self, seam: Seam) -> Iterable[Planted]:
        """Those through one method."""
        return (self.planted(tampering) for tampering in TAMPERINGS if tampering.seam is seam)

    def planted(self, tampering: Tampering) -> Planted:
        """What becomes of one of them."""
        told = Planted(
            seam=tampering.seam.value, wrong=tampering.sentence, check=tampering.check, catch=Catch.NOT_PLANTED
        )
        if tampering.seam not in self.subject.seams:
            return _because(told, "the adapter does not offer it")
        twin, _ = self._judged(tampering, wrong=False)
        if Status.PASSED not in twin:
            fails = f"{told.check} fails without it" if Status.FAILED in twin else f"{told.check} cannot be judged"
            return _because(told, f"{fails} through this adapter")
        spoilt, used = self._judged(tampering, wrong=True)
        if (Status.PASSED, Status.FAILED) in zip(twin, spoilt, strict=True):
            return msgspec.structs.replace(told, catch=Catch.CAUGHT)
        return (
            msgspec.structs.replace(told, catch=Catch.MISSED) if used else _because(told, "no answer gave the occasion")
        )

    def _judged(self, tampering: Tampering, *, wrong: bool) -> tuple[list[Status], bool]:
        """The statuses of the cases, and whether an answer was changed."""
        check, decoder = CHECKS[tampering.check], Tampered(self.subject.decoder, tampering, wrong=wrong)
        battery = Battery(replace(self.subject, decoder=decoder), _LISTED_ONLY, self.stock, self.supervision)
        source = next(source for source in check.sources if source.seam is tampering.seam)
        cases = self.stock.listed(source.scene)[:_TRIED]
        return [battery.judge(check, source, case).status for case in cases], decoder.used


def _because(planted: Planted, reason: str) -> Planted:
    return msgspec.structs.replace(planted, reason=reason)
