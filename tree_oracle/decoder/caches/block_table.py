"""Where the rows of one request lie in the pools: its pages in order, as in any paged cache.

pool row of row r = pages[r // page_size] * page_size + r % page_size
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tree_oracle.record import UsageError


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The pages of one request.

    Attributes:
        pages: page numbers, in the order of the request's rows.
        page_size: rows in a page.
        length: rows that the request holds.
        request: its entry in pools with one entry per request.
        shared: pages of the request that other requests hold too. They must not be written to.
        free: pages that nobody holds.
    """

    pages: tuple[int, ...]
    page_size: int
    length: int
    request: int = 0
    shared: frozenset[int] = frozenset()
    free: tuple[int, ...] = ()

    def row(self, index: int) -> int:
        """The pool row of the request's row ``index``.

        Raises:
            UsageError: the row lies in none of the pages.
        """
        if not 0 <= index < len(self.pages) * self.page_size:
            raise UsageError(
                f"row {index} of a request with {len(self.pages)} pages of {self.page_size}; "
                f"expected 0 to {len(self.pages) * self.page_size - 1}"
            )
        return self.pages[index // self.page_size] * self.page_size + index % self.page_size

    def rows(self, indices: Iterable[int]) -> list[int]:
        """The pool rows of these rows.

        Raises:
            UsageError: as for ``row``.
        """
        return [self.row(index) for index in indices]
