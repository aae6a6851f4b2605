"""The beginning of a text as a key that holds no copy of it: a run of n tokens has n beginnings, whose copies take n^2 / 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload


class Beginning(Sequence[int]):
    """The first ``length`` tokens of a text to which nothing is done but that tokens are added behind them.

    Equal to the tuple of these tokens, with its hash, so that either finds what is kept under the other.
    """

    __slots__ = ("_hash", "_length", "_text")

    def __init__(self, text: list[int], length: int) -> None:
        self._text, self._length = text, length
        self._hash = hash(self.tokens)

    @property
    def tokens(self) -> tuple[int, ...]:
        """A copy."""
        return tuple(self._text[: self._length])

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        places = range(self._length)[place]
        return self._text[places] if isinstance(places, int) else tuple(self._text[at] for at in places)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | Beginning) or len(other) != self._length or hash(other) != self._hash:
            return False
        return self.tokens == (other if isinstance(other, tuple) else other.tokens)

    def __repr__(self) -> str:
        return f"Beginning{self.tokens}"
