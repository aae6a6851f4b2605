"""Plain greedy decoding with stopping rules of its own: the truth of SEQUENCE and STOP.

    token_i = the smallest id among the bit-equal maxima of row(prompt, token_1 .. token_{i-1})

It ends after an end token (which is emitted), after a stop sequence (emitted too, and looked for in emitted tokens alone), at
the cap on new tokens, or when prompt and emitted tokens fill the context; where several hold at once the first of these is
the reason. A prompt that fills the context already, or a cap of 0, emits nothing. An end token inside the prompt ends nothing.
While fewer than ``min_new`` tokens are emitted the end tokens are no candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from tree_oracle.record import Continuation, EndReason, Limits, Unsupported, UsageError
from tree_oracle.target.sequential_naive import History


def plain_greedy(
    row_after: Callable[[History], Float[np.ndarray, " vocab"]],
    prompt: Sequence[int],
    limits: Limits,
    context_length: int,
) -> Continuation:
    """Decode until a limit is met; ``context_length`` is the model's own and holds beside ``limits.max_length``.

    Raises:
        UsageError: a limit below 0.
        Unsupported: a row holds NaN, so that it has no maximum.
    """
    length = context_length if limits.max_length is None else min(context_length, limits.max_length)
    if limits.max_new_tokens < 0 or length < 0:
        raise UsageError(f"{limits} asks for less than nothing")
    text = list(prompt)
    while (end := _end(text[len(prompt) :], len(text), limits, length)) is None:
        row = row_after(tuple(text))
        text.append(_choice(_without_ends(row, limits) if len(text) - len(prompt) < limits.min_new else row, len(text)))
    return Continuation(tuple(text[len(prompt) :]), end)


def _end(emitted: Sequence[int], total: int, limits: Limits, length: int) -> EndReason | None:
    if emitted and emitted[-1] in limits.eos_ids:
        return EndReason.EOS
    if any(tuple(emitted[-len(sequence) :]) == sequence for sequence in limits.stop):
        return EndReason.STOP
    if len(emitted) >= limits.max_new_tokens:
        return EndReason.CAP
    return EndReason.CONTEXT if total >= length else None


def _without_ends(row: Float[np.ndarray, " vocab"], limits: Limits) -> Float[np.ndarray, " vocab"]:
    row = row.copy()
    row[[token for token in limits.eos_ids if token < len(row)]] = -np.inf
    return row


def _choice(row: Float[np.ndarray, " vocab"], position: int) -> int:
    if np.isnan(row).any():
        raise Unsupported(f"the row after {position} tokens holds NaN: no token is the greedy one")
    return int(row.argmax())  # numpy returns the first of equal maxima
