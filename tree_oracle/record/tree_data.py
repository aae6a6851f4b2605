"""A tree as plain data: what a case hands over, and what a decoder shows of everything that it drafted."""

from __future__ import annotations

import msgspec


class TreeData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A candidate tree as plain data: root first, parents before children."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
