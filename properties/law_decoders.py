"""What the properties of the LAW checks share: judging a decoder case by case, without a target, as no scene of theirs asks one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from tree_oracle.checks import CHECKS, Stage
from tree_oracle.checks.drive import drive
from tree_oracle.checks.mode import mode_of
from tree_oracle.record import Case, Status, Truth
from tree_oracle.run.outcome import Outcome, outcome_of

LAW = tuple(name for name in CHECKS if name.startswith("LAW-"))
NOBODY = cast(Any, None)  # the stage and the truth, which the scenes and judges of laws never ask


@cache
def listed(check: str) -> tuple[tuple[Any, Case], ...]:
    """The listed cases of a check with the seam of each."""
    stage = cast(Stage, NOBODY)
    return tuple((source.seam, case) for source in CHECKS[check].sources for case in source.scene.listed(stage))


def judged(decoder: Any, check: str, seam: Any, case: Case) -> Outcome:
    """One case."""
    vocab = len(case.law.target) if case.law else 0
    truth = cast(Truth, NOBODY)
    return outcome_of(
        CHECKS[check], case, truth, lambda one: drive(decoder, seam, one, vocab), declared_mode=mode_of(decoder)
    )


def outcomes(decoder: Any, check: str) -> Iterator[tuple[Outcome, Any, Case]]:
    """Every listed case in turn."""
    for seam, case in listed(check):
        yield judged(decoder, check, seam, case), seam, case


def status_of(decoder: Any, check: str, most: int | None = None) -> set[Status]:
    """The statuses of the listed cases."""
    return {judged(decoder, check, seam, case).status for seam, case in listed(check)[:most]}
