"""A draft that keeps count of what it is asked: which parents, stage by stage.

A head stage is all questions about one depth. A parent is a token here: the law below it depends on nothing else, so a decoder
may ask once for all nodes that hold it, and asking again costs no stage.
"""

from __future__ import annotations

from tree_oracle.construct import TableDraft
from tree_oracle.construct.draft import Law
from tree_oracle.record import DraftData


class CountedDraft(TableDraft):
    """A draft that is written down. What it was asked is no part of its value: a decoder does not change it by asking."""

    __slots__ = ("_asked",)
    _asked: set[tuple[int, int]]

    def __init__(self, data: DraftData) -> None:
        super().__init__(TableDraft.of(data).laws)
        object.__setattr__(self, "_asked", set())

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """See ``TableDraft``."""
        law = super().log_probs(depth, parent_token)
        self._asked.add((int(depth), int(parent_token)))
        return law

    @property
    def stages(self) -> tuple[int, ...]:
        """By depth, from 1 to the deepest that was asked about, the number of different parents."""
        deepest = max((depth for depth, _ in self._asked), default=0)
        return tuple(sum(at == depth for at, _ in self._asked) for depth in range(1, deepest + 1))
