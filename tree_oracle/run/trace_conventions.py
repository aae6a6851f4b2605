"""Which convention a recording follows, where what it shows is wrong as it stands and right under another usual one.

Nobody can tell a decoder that ran so from one that was recorded so: the finding stands, and whoever recorded it is told.
"""

from __future__ import annotations

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
        said = _without_roots(check, request) or rounds_hint(judged, truth)
    except TreeOracleError:  # the trace does not hold what would tell
        return ""
    return f"; if the decoder ran right, it was recorded wrong: {said}" if said else ""


def _without_roots(check: Check, request: Request) -> str:
    if "tokens" not in check.needs:
        return ""
    return rootless([(request.prompt, [_told(one) for one in request.rounds])])


def _told(one: Recorded) -> Round:
    """The round; a plain run has no tree."""
    return msgspec.structs.replace(one.tokens_only, tokens=None) if one.round.control else one.tokens_only
