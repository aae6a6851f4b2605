"""What a decoder may have run beside the passes that the tap reads its rounds from.

A decoder that drafts with the target itself, or that begins a cache anew for each verify pass, is read by another stream of
calls than the one that verifies. What it claims beyond the rounds that were read is then no contradiction, as long as the calls
that were left out can hold it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tree_oracle.checks.witness import COUNTERS, witness_of
from tree_oracle.record import Call, Round, Work


def held_against(claims: Work | None, rounds: Sequence[Round], calls: Iterable[Call], prompt: int) -> Work | None:
    """The claims, or None where they exceed what was read by no more than the calls that were left out can hold.

    ``prompt``: how many tokens it has; a pass within it scores no draft.
    """
    if claims is None:
        return None
    read = Counter(call for round_ in rounds for call in round_.calls or ())
    left = Counter(call for call in calls if len(call.tokens) > 1 and call.past + len(call.tokens) > prompt) - read
    more = sum(len(call.tokens) * count for call, count in left.items())
    seen = witness_of(rounds)
    held = (seen.rounds, seen.drafted, seen.accepted)
    most = (held[0] + left.total(), held[1] + more, held[2] + more)
    stated = [getattr(claims, name) or 0 for name in COUNTERS]
    beyond = any(claim > one for claim, one in zip(stated, held, strict=True))
    possible = all(claim <= one for claim, one in zip(stated, most, strict=True))
    return None if beyond and possible else claims
