"""Group ``stop``: an end token at every place, every cap and every context limit, and all of them at once."""

from __future__ import annotations

from itertools import product

from tree_oracle.vectors.answers import room_left, stopped
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.model import Bounds, Stop

_PLAIN = (5, 3, 8, 3)  # three accepted tokens and the bonus
_END, _OTHER_END = 1, 2


def stop() -> Kit:
    """One round after another, as a decoder meets them."""
    kit = Kit("stop", "stop", "What a round emits of its proposed tokens, and why nothing follows.")
    chance = Chance("stop")
    for at, cap in product((None, *range(len(_PLAIN))), range(len(_PLAIN) + 3)):
        _add(kit, Stop(7, 0, _with_end(_PLAIN, at, _END), Bounds(cap, (_END,))))
    for at, room in product((None, *range(len(_PLAIN))), range(len(_PLAIN) + 2)):
        _add(kit, Stop(7, 0, _with_end(_PLAIN, at, _END), Bounds(64, (_END,), 7 + room)))
    for cap, room in product(range(6), range(6)):
        _add(kit, Stop(7, 0, _PLAIN, Bounds(cap, (), 7 + room)))
    for _ in range(60):
        _add(kit, _drawn(chance))
    return kit


def _with_end(tokens: tuple[int, ...], at: int | None, end: int) -> tuple[int, ...]:
    return tokens if at is None else (*tokens[:at], end, *tokens[at + 1 :])


def _drawn(chance: Chance) -> Stop:
    proposed = tuple(chance.between(3, 9) for _ in range(chance.between(1, 6)))
    for end in chance.pick([(), (_END,), (_OTHER_END,), (_END, _OTHER_END)]):
        proposed = _with_end(proposed, chance.below(len(proposed)), end)
    emitted = chance.below(9)
    length = emitted + chance.between(1, 9)
    ends = chance.pick([(), (_END,), (_END, _OTHER_END)])
    most = chance.pick([None, length - 1, *(length + more for more in range(7))])
    return Stop(length, emitted, proposed, Bounds(emitted + chance.below(8), ends, most))


def _add(kit: Kit, asked: Stop) -> None:
    found = stopped(asked)
    comment = f"{len(asked.proposed)} tokens proposed, {len(found.emitted)} emitted, {found.end or 'goes on'}"
    kit.add(comment, _flags(asked, found.end), asked, found)


def _flags(asked: Stop, end: str | None) -> set[str]:
    ends = [at for at, token in enumerate(asked.proposed) if token in asked.limits.eos_ids]
    rooms = {reason: room for room, reason in room_left(asked.length, asked.emitted, asked.limits)}
    cap, context, size = rooms["cap"], rooms.get("context"), len(asked.proposed)
    found = {
        "EndInside": end == "eos" and ends[0] < size - 1,
        "EndAsBonus": end == "eos" and ends[0] == size - 1,
        "SeveralEnds": len(asked.limits.eos_ids) > 1,
        "CapInside": end == "cap" and 0 < cap < size,
        "CapAtEnd": end == "cap" and cap == size,
        "EndAndCap": end == "eos" and ends[0] + 1 in (cap, context),
        "ContextInside": end == "context" and 0 < (context or 0) < size,
        "ContextAtEnd": end == "context" and context == size,
        "ContextAndCap": cap == context and end == "cap",
        "NoRoom": 0 in (cap, context),
        "LaterRound": asked.emitted > 0,
        "GoesOn": end is None,
    }
    return {flag for flag, there in found.items() if there}
