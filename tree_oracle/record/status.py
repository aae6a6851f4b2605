"""The six results a check can have, and how they combine.

Rule: no evidence is not a pass. ``undecided``, ``not observable`` and ``not applicable`` are results of their own, always
counted and printed, and an empty set of results is ``not applicable``, never ``passed``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Status(StrEnum):
    """What came of one check."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"  # the evidence lies within the noise floor, or fits two explanations
    NOT_OBSERVABLE = "not observable"  # the adapter does not show what the check needs
    NOT_APPLICABLE = "not applicable"  # nothing of the kind exists for this decoder and target
    ERROR = "error"  # wrong shape, dtype or declared convention: the adapter's fault


class Level(StrEnum):
    """How much a check weighs: a ``must`` decides the exit code, a ``should`` is reported."""

    MUST = "must"
    SHOULD = "should"


# From the strongest statement to the weakest. One failure is not healed by a thousand passes, and one undecided case
# keeps the whole from being called passed.
_ORDER = (Status.FAILED, Status.ERROR, Status.UNDECIDED, Status.PASSED, Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)


def worst(statuses: Iterable[Status]) -> Status:
    """The one status that stands for several cases of the same check; ``not applicable`` when there are none."""
    return min(statuses, key=_ORDER.index, default=Status.NOT_APPLICABLE)
