"""Short ways for a judge to say what it found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tree_oracle.record import Finding, Status, counted


class NothingToJudge(Exception):
    """The case holds nothing that this check could judge. Such a case counts neither way."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def fail(sentence: str, *, expected: object, seen: object, round: int = 0, node: int | None = None) -> Finding:
    """A failure at one place."""
    return Finding(
        status=Status.FAILED, sentence=sentence, expected=str(expected), seen=str(seen), round=round, node=node
    )


def unsure(sentence: str, *, expected: object, seen: object, round: int = 0, node: int | None = None) -> Finding:
    """Evidence that fits no single explanation, or lies within the noise."""
    return Finding(
        status=Status.UNDECIDED, sentence=sentence, expected=str(expected), seen=str(seen), round=round, node=node
    )


def after_commit(found: Finding, index: int) -> Finding:
    """The finding on round ``index`` of one request: behind the first it may be the commit before that is wrong."""
    return msgspec.structs.replace(found, of_commit=index > 0)


def listing(items: Iterable[object], most: int = 12) -> str:
    """A list for a person: not more than ``most`` entries, and how many were left out."""
    every = [str(item) for item in items]
    rest = len(every) - most
    return "[" + ", ".join(every[:most]) + (f", ... {rest} more]" if rest > 0 else "]")


def either(items: Sequence[object], most: int = 6) -> str:
    """What fits, each of it, for a person: nothing is named as the one where another fits as well."""
    every = [str(item) for item in items]
    if len(every) > most:
        return f"{', '.join(every[:most])} or {counted(len(every) - most, 'other')}"
    return " or ".join(filter(None, (", ".join(every[:-1]), every[-1])))
