"""What was recorded for one text, or for one round of it. It is read and judged by the same code as what is driven."""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import Round


@dataclass(frozen=True, slots=True)
class Replay:
    """A part of a trace.

    Args:
        prompt: the tokens that were committed before.
        rounds: what followed.
    """

    prompt: tuple[int, ...]
    rounds: tuple[Round, ...]
