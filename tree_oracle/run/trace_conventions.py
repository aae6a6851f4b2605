"""Which convention a recording follows, where what it shows is wrong as it stands and right under another usual one.

Nobody can tell a decoder that ran so from one that was recorded so: the finding stands, and whoever recorded it is told.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tree_oracle.checks import Check
from tree_oracle.record import Round, TreeOracleError, Truth
from tree_oracle.run.root_conventions import rootless
from tree_oracle.run.round_conventions import CONVENTIONAL, rounds_hint
from tree_oracle.trace import Recorded, Request


def recorded_otherwise(check: Check, rounds: tuple[Round, ...], truth: Truth, request: Request) -> str:
    """Which other convention the fields of the check may follow, for whoever recorded them; empty where none fits."""
    beside: dict[str, None] = dict.fromkeys(name for name in CONVENTIONAL if name not in check.needs)
    judged = tuple(msgspec.structs.replace(one, **beside) for one in rounds if not one.control)
    try:
        said = (recorded_without_roots([request]) if "tokens" in check.needs else "") or rounds_hint(judged, truth)
    except TreeOracleError:  # the trace does not hold what would tell
        return ""
    return f"; if the decoder ran right, it was recorded wrong: {said}" if said else ""


def recorded_without_roots(requests: Iterable[Request]) -> str:
    """That no tree of these requests holds its root, in words; empty where one does, where nothing tells, or where what is
    recorded cannot be read as trees."""
    try:
        return rootless([(request.prompt, list(map(_told, request.rounds))) for request in requests])
    except TreeOracleError:
        return ""


def _told(one: Recorded) -> Round:
    """The round; a plain run has no tree."""
    return msgspec.structs.replace(one.tokens_only, tokens=None) if one.round.control else one.tokens_only
