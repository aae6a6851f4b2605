"""What a judge sees of one move: what was asked, and every pool before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tree_oracle.checks.tags import Origins, Tags, table_of, tagged
from tree_oracle.checks.view import View
from tree_oracle.decoder.caches import BlockTable, Part, Pool
from tree_oracle.record import MoveData, Round


@dataclass(frozen=True, slots=True)
class Seen:
    """One move."""

    move: MoveData
    table: BlockTable  # before
    pages: tuple[int, ...]  # after
    pools: list[Pool]  # before
    after: list[Tags]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that are kept: the root and the accepted path."""
        return (0, *self.move.accepted)

    @property
    def sources(self) -> list[int]:
        """The pool rows that the kept nodes were written to."""
        return [self.move.slots[node] for node in self.nodes]

    @property
    def due(self) -> int:
        """How many rows the request must have."""
        return self.move.length + len(self.nodes)

    @property
    def has_room(self) -> bool:
        """Whether the block table after the move has a page of the pools for every row."""
        return len(self.holding) * self.move.page_size >= self.due and not self.unknown

    @property
    def holding(self) -> tuple[int, ...]:
        """The pages that rows lie in after the move; what a table names behind them, such as padding, means nothing."""
        return self.pages[: -(-self.due // self.move.page_size)]

    @property
    def unknown(self) -> list[int]:
        """Pages of rows that the pools do not have."""
        return [page for page in self.holding if not 0 <= page < self.move.pool_pages]

    def rows(self) -> list[int]:
        """The pool rows of the request after the move, the kept ones last."""
        size = self.move.page_size
        return [self.pages[row // size] * size + row % size for row in range(self.due)]

    def of(self, *parts: Part) -> Iterator[tuple[Pool, Tags, Tags]]:
        """Every pool of these parts, with what it held before and what it holds after."""
        for pool, after in zip(self.pools, self.after, strict=True):
            if pool.part in parts:
                yield pool, pool.read(), after

    def beside(self, pool: Pool, part: Part) -> Tags:
        """What another pool of the same layer held before."""
        return next(before for other, before, _ in self.of(part) if other.layer == pool.layer)

    def origin(self, row: Tags) -> str:
        """In words, what a row holds."""
        return Origins(self.pools).of(row)


def seen_moves(view: View) -> Iterator[tuple[int, Seen]]:
    """The moves of one case, with the numbers of their rounds."""
    for index, round_ in enumerate(view.rounds):
        yield index, _seen(view, round_)


def _seen(view: View, round_: Round) -> Seen:
    move = view.case.move
    assert move is not None and round_.pools is not None
    after = [np.asarray(array.numpy()) for array in round_.pools]
    return Seen(move, table_of(move), move.pages if round_.pages is None else round_.pages, tagged(move), after)
