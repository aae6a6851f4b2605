"""The draft of the reference decoder when it generates by itself: right about half of the time, on purpose.

A draft decides how long the rounds are, never which tokens come out, so its quality is no matter of correctness. This one
runs the target itself one step at a time and then spoils it: at every depth the target's own token stands *last* among its
siblings, and at a depth chosen by the prefix it is left out: never drafted, or drafted and not packed. So rounds accept none,
some and all of the depths, through slots that are scattered.
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
        return self.drafted(prefix)[0]

    def drafted(self, prefix: Sequence[int]) -> tuple[CandidateTree, CandidateTree]:
        """The tree and the pool that it was packed from, which differ by the token that is left out, in every other round."""
        tokens, parents, spine, dropped = [prefix[-1]], [-1], 0, len(prefix) % 2 == 0
        history, left_out = list(prefix), None
        missing = 1 + sum(prefix) % (self.depth + 1)  # one depth in depth + 1 cases is past the end: all accepted
        for depth in range(1, self.depth + 1):
            choice = self._choice(history)
            wanted = [(choice + step) % self.target.vocab_size for step in range(self.width - 1, 0, -1)]
            wanted += [choice] if depth != missing else []
            tokens += wanted
            parents += [spine] * len(wanted)
            above, spine = spine, len(tokens) - 1
            history.append(tokens[spine])
            if depth == missing and dropped:
                tokens.append(choice)
                parents.append(above)
                left_out = len(tokens) - 1
        pool = CandidateTree(tokens, parents)
        if left_out is None:
            return pool, pool
        return pool.keep([v for v in range(len(pool)) if v != left_out])[0], pool

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
