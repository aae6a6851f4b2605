"""Which convention a recording follows, where what it shows is wrong as it stands and right under another usual one.

Nobody can tell a decoder that ran so from one that was recorded so: the finding stands, and whoever recorded it is told.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tree_oracle.checks import Check
from tree_oracle.record import Round, TreeOracleError, Truth
from tree_oracle.run.root_conventions import roots_told_otherwise
from tree_oracle.run.round_conventions import CONVENTIONAL, rounds_hint
from tree_oracle.trace import Recorded, Request


def recorded_otherwise(check: Check, rounds: tuple[Round, ...], truth: Truth, request: Request) -> str:
    """Which other convention the fields of the check may follow, for whoever recorded them; empty where none fits."""
    beside: dict[str, None] = dict.fromkeys(name for name in CONVENTIONAL if name not in check.needs)
    judged = tuple(msgspec.structs.replace(one, **beside) for one in rounds if not one.control)
    try:
        said = (roots_recorded_otherwise([request]) if "tokens" in check.needs else "") or rounds_hint(judged, truth)
    except TreeOracleError:  # the trace does not hold what would tell
        return ""
    return f"; if the decoder ran right, it was recorded wrong: {said}" if said else ""


def roots_recorded_otherwise(requests: Iterable[Request]) -> str:
    """Which other convention the roots of these requests follow, in words; empty where they are right, where nothing tells, or
    where what is recorded cannot be read as trees."""
    try:
        return roots_told_otherwise([(request.prompt, list(map(_told, request.rounds))) for request in requests])
    except TreeOracleError:
        return ""


def _told(one: Recorded) -> Round:
    """The round; a plain run has no tree."""
    return msgspec.structs.replace(one.tokens_only, tokens=None) if one.round.control else one.tokens_only
