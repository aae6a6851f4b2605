"""Catalogues by name. A name that is given twice would lose an entry without a word, so it is an error where it is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


def by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    """The entries by name, in order.

    Raises:
        ValueError: two entries have one name.
    """
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.name in found:
            raise ValueError(f"two entries are named {entry.name!r}; expected a name of its own for each")
        found[entry.name] = entry
    return found
