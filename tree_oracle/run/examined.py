"""One line of what the doctor found."""

from __future__ import annotations

import msgspec


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    seam: str
    what: str  # "answers", "shows", "ends" or "notices"
    good: bool | None  # None: could not be looked at
    sentence: str
