"""Power: whether wrong answers that are planted behind an adapter are noticed through it.

Each is planted between two trials of its twin, which takes the same way with nothing changed. A case tells something where an
answer of it was changed and the twin passes both times:

    some telling case fails with the wrong answer                 caught
    none of them does                                             missed: what the check passed here says nothing
    there is no telling case                                      not planted: nothing is known
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Catch(StrEnum):
    """What came of one planted answer."""

    CAUGHT = "caught"
    MISSED = "missed"
    NOT_PLANTED = "not planted"


class Planted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wrong answer, through one method of an adapter."""

    seam: str
    wrong: str  # what was planted
    check: str  # that has to notice it
    catch: Catch
    reason: str = ""  # why it could not be planted
