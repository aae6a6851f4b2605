"""Where a round ends the generation.

Rule: of the tokens that verification proposes (accepted path, then bonus) the emitted ones are those up to and including
the first end token, cut to what ``max_new_tokens`` and ``max_length`` still allow. Where several of them end the text at the
same token, the reason is the first of end token, ``max_new_tokens``, ``max_length``.
"""

from __future__ import annotations

from tree_oracle.record import EndReason, Limits


def cut(
    length: int, emitted: int, proposed: tuple[int, ...], limits: Limits
) -> tuple[tuple[int, ...], EndReason | None]:
    """The tokens to emit and why nothing follows them (None: the next round does).

    Args:
        length: committed tokens before the round.
        emitted: tokens emitted in earlier rounds.
        proposed: accepted tokens and the bonus.
    """
    room, reason = limits.max_new_tokens - emitted, EndReason.CAP
    if limits.max_length is not None and max(limits.max_length - length, 0) < room:
        room, reason = max(limits.max_length - length, 0), EndReason.CONTEXT
    end = next((i for i, token in enumerate(proposed) if token in limits.eos_ids), None)
    if end is not None and end < room:
        return proposed[: end + 1], EndReason.EOS
    if len(proposed) >= room:
        return proposed[: max(room, 0)], reason
    return proposed, None
