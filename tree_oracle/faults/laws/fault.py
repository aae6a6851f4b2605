"""What a planted fault of a law is: a way to decode that is wrong, and the same detour done right.

Its law is computed and not sampled, so a fault shows as a total variation above 0 and its twin as exactly 0, both as fractions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.verify.law import ExactLaw, Scheme, exact_law
from tree_oracle.verify.rules import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFault:
    """One planted fault and its twin, with the laws that wake it."""

    name: str
    sentence: str  # what is wrong
    wakes: str  # the condition without which it does not show
    seen_in: str  # real reports of the kind
    scheme: Scheme
    twin_sentence: str
    twin: Scheme
    models: Models
    tokens: int = 1  # of the text that is judged
    rounds: int = 1

    def law(self) -> ExactLaw:
        """The law of what the fault emits."""
        return exact_law(self.scheme, self.models, tokens=self.tokens, rounds=self.rounds)

    def harmless(self) -> ExactLaw:
        """The law of what the twin emits."""
        return exact_law(self.twin, self.models, tokens=self.tokens, rounds=self.rounds)
