"""Where a round ends the generation.

Rule: of the tokens that verification proposes (accepted path, then bonus) the emitted ones are those up to and including the
first end token or the end of the first stop sequence, cut to what ``max_new_tokens`` and ``max_length`` still allow. A stop
sequence may have begun in an earlier round. Where several of them end the text at the same token, the reason is the first
of end token, stop sequence, ``max_new_tokens``, ``max_length``.
"""

from __future__ import annotations

from typing import TypeAlias

from tree_oracle.record import EndReason, Limits

Tokens: TypeAlias = tuple[int, ...]
Ending: TypeAlias = tuple[Tokens, EndReason | None]


def cut(prompt: int, emitted: Tokens, proposed: Tokens, limits: Limits) -> Ending:
    """The tokens to emit and why nothing follows them (None: the next round does).

    Args:
        prompt: number of prompt tokens.
        emitted: tokens emitted in earlier rounds.
        proposed: accepted tokens and the bonus.
        limits: where the text must stop.
    """
    room, reason = _room(prompt, len(emitted), limits)
    for count in range(1, min(len(proposed), room) + 1):
        ended = _ended(emitted + proposed[:count], limits)
        if ended is not None:
            return proposed[:count], ended
    return proposed[:room], reason if len(proposed) >= room else None


def _room(prompt: int, emitted: int, limits: Limits) -> tuple[int, EndReason]:
    """How many tokens the caps still allow, and which of them allows the fewest."""
    room, reason = limits.max_new_tokens - emitted, EndReason.CAP
    if limits.max_length is not None and max(limits.max_length - prompt - emitted, 0) < room:
        room, reason = limits.max_length - prompt - emitted, EndReason.CONTEXT
    return max(room, 0), reason


def _ended(text: Tokens, limits: Limits) -> EndReason | None:
    """Whether the last token of the text ends it."""
    if text[-1] in limits.eos_ids:
        return EndReason.EOS
    return EndReason.STOP if any(text[-len(sequence) :] == sequence for sequence in limits.stop) else None
