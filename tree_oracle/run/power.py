"""Measuring power: are wrong answers noticed that are planted behind this very adapter, and their twins not?

What is planted are the answers of ``tree_oracle.run.tamper``: a wrong answer on the way from the decoder to the check that has
to notice it. No part of the decoder is replaced, so nothing is said of the faults that it may have inside; that every check can
fail on those is shown on the reference (``tree-oracle faults --prove``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

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


class _Judged(NamedTuple):
    """One case."""

    status: Status
    changed: bool  # an answer was changed in it


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
        told = _not_planted(tampering)
        if tampering.seam not in self.subject.seams:
            return _because(told, "the adapter does not offer it")
        twin = self._judged(tampering, wrong=False)
        if not any(case.status is Status.PASSED for case in twin):
            failed = any(case.status is Status.FAILED for case in twin)
            fails = f"{told.check} {'fails without it' if failed else 'cannot be judged'}"
            return _because(told, f"{fails} through this adapter")
        spoilt = self._judged(tampering, wrong=True)
        telling = [case.changed and before.status is Status.PASSED for before, case in zip(twin, spoilt, strict=True)]
        if not any(telling):
            return _because(told, "no answer gave the occasion")
        again = self._judged(tampering, wrong=False)  # who answers otherwise by now fails for reasons of its own
        told_again = [tells and after.status is Status.PASSED for tells, after in zip(telling, again, strict=True)]
        if not any(told_again):
            return _because(
                told, f"{told.check} does not pass again without it: what is answered depends on what was before"
            )
        noticed = any(tells and case.status is Status.FAILED for tells, case in zip(told_again, spoilt, strict=True))
        return msgspec.structs.replace(told, catch=Catch.CAUGHT if noticed else Catch.MISSED)

    def _judged(self, tampering: Tampering, *, wrong: bool) -> list[_Judged]:
        """What becomes of the cases."""
        check, decoder = CHECKS[tampering.check], Tampered(self.subject.decoder, tampering, wrong=wrong)
        battery = Battery(replace(self.subject, decoder=decoder), _LISTED_ONLY, self.stock, self.supervision)
        source = next(source for source in check.sources if source.seam is tampering.seam)
        found = []
        for case in self.stock.listed(source.scene)[:_TRIED]:
            decoder.used = False
            found.append(_Judged(battery.judge(check, source, case).status, decoder.used))
        return found


def unmeasured(reason: str) -> tuple[Planted, ...]:
    """What is known where measuring came to no end."""
    return tuple(_because(_not_planted(tampering), reason) for tampering in TAMPERINGS)


def _not_planted(tampering: Tampering) -> Planted:
    return Planted(seam=tampering.seam.value, wrong=tampering.sentence, check=tampering.check, catch=Catch.NOT_PLANTED)


def _because(planted: Planted, reason: str) -> Planted:
    return msgspec.structs.replace(planted, reason=reason)
