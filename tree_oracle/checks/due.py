"""Where the limits end a text, read off the text alone: the judges' own rule, shared with no decoder.

    end token       1 + the place of the first one
    stop sequence   the number of tokens at which the first one is complete
    caps            max_new_tokens, and max_length less the prompt

The smallest number wins; of equal ones the reason is the first in this order.
"""

from __future__ import annotations

from tree_oracle.record import EndReason, Limits

Text = tuple[int, ...]


def end_tokens(text: Text, limits: Limits) -> list[int]:
    """The places of all end tokens."""
    return [place for place, token in enumerate(text) if token in limits.eos_ids]


def stops(text: Text, limits: Limits) -> list[tuple[int, Text]]:
    """Every number of tokens at which a stop sequence is complete, with the sequence, in order."""
    return [
        (count, sequence)
        for count in range(1, len(text) + 1)
        for sequence in limits.stop
        if text[max(count - len(sequence), 0) : count] == sequence
    ]


def room(limits: Limits, prompt: int) -> int:
    """How many tokens the caps allow after a prompt of that length."""
    if limits.max_length is None:
        return limits.max_new_tokens
    return max(min(limits.max_new_tokens, limits.max_length - prompt), 0)


def ending(text: Text, limits: Limits, prompt: int) -> tuple[int, EndReason] | None:
    """How many of these tokens the limits allow and what ends the text there; None where it may go on."""
    bounds = [(place + 1, EndReason.EOS) for place in end_tokens(text, limits)[:1]]
    bounds += [(count, EndReason.STOP) for count, _ in stops(text, limits)[:1]]
    bounds.append((limits.max_new_tokens, EndReason.CAP))
    if limits.max_length is not None:
        bounds.append((max(limits.max_length - prompt, 0), EndReason.CONTEXT))
    count, reason = min(bounds, key=lambda bound: bound[0])
    return (count, reason) if count <= len(text) else None
