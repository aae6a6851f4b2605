"""The tokens up to a node, without a copy of the prefix: over n rounds of one text such copies take n^2 tokens.

Rule: a truth or a finding that needs all tokens takes ``tuple`` of it; what needs their number, or the last, copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import overload


class Along(Sequence[int]):
    """A prefix, and the tokens of a branch behind it. Equal to the tuple of all of them, and found under it."""

    __slots__ = ("_behind", "_prefix")

    def __init__(self, prefix: tuple[int, ...], behind: tuple[int, ...]) -> None:
        self._prefix, self._behind = prefix, behind

    def __len__(self) -> int:
        return len(self._prefix) + len(self._behind)

    def __iter__(self) -> Iterator[int]:
        return chain(self._prefix, self._behind)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        places, cut = range(len(self))[place], len(self._prefix)
        if isinstance(places, int):
            return self._prefix[places] if places < cut else self._behind[places - cut]
        return tuple(self._prefix[at] if at < cut else self._behind[at - cut] for at in places)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | Along) or len(other) != len(self):
            return False
        return tuple(self) == tuple(other)

    def __repr__(self) -> str:
        return f"Along{tuple(self)}"
