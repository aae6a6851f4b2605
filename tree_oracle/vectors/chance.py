"""Numbers that are random enough and the same for ever: a hash of a name and a counter.

The streams of a library's generator may change with its version; these vectors must not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Chance:
    """A stream of its own for each name."""

    def __init__(self, *name: object) -> None:
        self._name = "/".join(map(str, name))
        self._asked = 0

    def below(self, bound: int) -> int:
        """An integer from 0 to ``bound - 1``."""
        self._asked += 1
        digest = hashlib.sha256(f"{self._name}#{self._asked}".encode()).digest()
        return int.from_bytes(digest) % bound  # 256 bits: the bias is far below anything that a count could show

    def between(self, least: int, most: int) -> int:
        """An integer from ``least`` to ``most``."""
        return least + self.below(most - least + 1)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All of them, in any order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]
