"""What every maker of a group does: number the vectors, and leave out what is there already."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec

from tree_oracle.vectors.model import AnyExpected, AnyInput, AnyVector, Vector


class Kit:
    """The vectors of one group while they are made."""

    def __init__(self, group: str, operation: str, about: str) -> None:
        self.group, self.operation, self.about = group, operation, about
        self.vectors: list[AnyVector] = []
        self._seen: set[bytes] = set()

    def add(self, comment: str, flags: Set[str], asked: AnyInput, expected: AnyExpected) -> None:
        """One more vector, unless its input was there before."""
        key = msgspec.json.encode(asked)
        if key not in self._seen:
            self._seen.add(key)
            assert flags, f"{comment}: no flag says what it wakes"
            name = f"{self.group}-{len(self.vectors):04d}"
            vector: Vector[Any, Any] = Vector(name, comment, tuple(sorted(flags)), asked, expected)
            self.vectors.append(vector)
