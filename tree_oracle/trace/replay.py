"""A trace as a decoder: asked to generate, it answers with the rounds that were recorded.

So a recorded run is read, checked and judged by the same code as one that is driven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_oracle.record import Limits, Round


@dataclass(frozen=True, slots=True)
class Replay:
    """What was recorded for one text, or for one round of it.

    Args:
        prompt: the tokens that were committed before.
        rounds: what followed.
    """

    prompt: tuple[int, ...]
    rounds: tuple[Round, ...]

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        """The recorded rounds; there is one prompt to ask for."""
        if [tuple(prompt) for prompt in prompts] != [self.prompt]:
            raise NotImplementedError("the trace holds no such prompt")
        return [list(self.rounds)]
