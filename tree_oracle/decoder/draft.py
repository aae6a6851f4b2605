"""The draft of the reference decoder when it generates by itself: right about half of the time, on purpose.

A draft decides how long the rounds are, never which tokens come out, so its quality is no matter of correctness. This one
runs the target itself one step at a time and then spoils it: at every depth the target's own token stands *last* among its
siblings, and at a depth chosen by the prefix it is left out. So rounds accept none, some and all of the depths, through
slots that are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

_KEPT = 10_000  # choices remembered


@dataclass(frozen=True, slots=True)
class HalfRightDraft:
    """Trees of ``depth`` levels with ``width`` siblings under each token of the main branch."""

    target: Target
    depth: int = 3
    width: int = 3
    _choices: dict[tuple[int, ...], int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __call__(self, prefix: Sequence[int]) -> CandidateTree:
        """The tree for the next round; its root is the last token of ``prefix``."""
        tokens, parents, spine = [prefix[-1]], [-1], 0
        history = list(prefix)
        missing = 1 + sum(prefix) % (self.depth + 1)  # one depth in depth + 1 cases is past the end: all accepted
        for depth in range(1, self.depth + 1):
            choice = self._choice(history)
            wanted = [(choice + step) % self.target.vocab_size for step in range(self.width - 1, 0, -1)]
            wanted += [choice] if depth != missing else []
            tokens += wanted
            parents += [spine] * len(wanted)
            spine = len(tokens) - 1
            history.append(tokens[spine])
        return CandidateTree(tokens, parents)

    def _choice(self, history: list[int]) -> int:
        """The target's token, from memory if it was asked before: nearby rounds ask for the same histories."""
        key = tuple(history)
        if key not in self._choices:
            if len(self._choices) >= _KEPT:
                self._choices.clear()
            self._choices[key] = self._ask(history)
        return self._choices[key]

    @torch.no_grad()
    def _ask(self, history: list[int]) -> int:
        ids = torch.tensor([history], device=self.target.model.device)
        return int(self.target.model(input_ids=ids).logits[0, -1].argmax())
