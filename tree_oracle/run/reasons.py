"""Why a check came to nothing over many cases, in words that are true of each case they are said of.

Rule: a reason is about the cases that gave it. Where all gave the same one it is told as it is; where they did not, each is
told with the number of its cases, the most frequent first. Reasons that differ in numbers alone are one, and the first stands
for all.

What failed, or is undecided, is told by its first case. Where nothing was seen, and cases were refused beside, both are told:
one may be mended where the other is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tree_oracle.record import Status, counted

_NUMBERS = re.compile(r"\d+")
_MOST = 3  # reasons that are told in full
REFUSED = "refused: "  # before what a decoder says of a case that it refuses
_OF_ALL = (Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE)


class Reasons:
    """The reasons of cases, as they come, by the status that they are the reasons of."""

    def __init__(self, told: Iterable[tuple[Status, str]] = ()) -> None:
        self._kinds: dict[Status, dict[str, tuple[str, int]]] = {}  # the first of each kind, and how many there are
        for status, reason in told:
            self.add(status, reason)

    def add(self, status: Status, reason: str) -> None:
        kinds, kind = self._kinds.setdefault(status, {}), _NUMBERS.sub("", reason)
        first, count = kinds.get(kind, (reason, 0))
        kinds[kind] = first, count + 1

    def of(self, status: Status, otherwise: str) -> str:
        """Why a check has this status: nothing is said of a pass, and ``otherwise`` where no case has it."""
        if status is Status.PASSED:
            return ""
        beside = [
            first for first, _ in self._kinds.get(Status.NOT_APPLICABLE, {}).values() if first.startswith(REFUSED)
        ]
        refused = beside[:1] if status is Status.NOT_OBSERVABLE else []
        return "; ".join([*refused, self._of(status, otherwise)])

    def _of(self, status: Status, otherwise: str) -> str:
        kinds = list(self._kinds.get(status, {}).values()) or [(otherwise, 0)]
        if len(kinds) == 1 or status not in _OF_ALL:
            return kinds[0][0]
        ranked = sorted(kinds, key=lambda kind: kind[1], reverse=True)
        cases = counted(sum(count for _, count in ranked), "case")
        told = [f"in {count} of {cases}: {first}" for first, count in ranked[:_MOST]]
        rest = sum(count for _, count in ranked[_MOST:])
        return "; ".join([*told, *([f"in {rest} for other reasons"] if rest else [])])
