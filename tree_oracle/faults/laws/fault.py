"""What a planted fault of a law is: a way to decode that is wrong, and the same detour done right.

Its law is computed and not sampled, so a fault shows as a total variation above 0 and its twin as exactly 0, both as fractions.
Behind the seams it says of itself what a decoder with that fault would say.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.verify.law import UNPROCESSED, Declaration, ExactLaw, Instance, Processing, Scheme, exact_law
from tree_oracle.verify.rules import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFault:
    """One planted fault and its twin, with the laws that wake it."""

    name: str
    check: str  # the check that must catch it
    sentence: str  # what is wrong
    wakes: str  # the condition without which it does not show
    seen_in: str  # real reports of the kind
    scheme: Scheme
    twin_sentence: str
    twin: Scheme
    declared: Declaration  # what the fault says of itself
    twin_declared: Declaration | None = None  # the twin, where it says something else
    models: Models
    instance: Instance | None = None  # the only laws that it can be driven with; None: any
    draft_processing: Processing = UNPROCESSED  # applied to the draft that is handed over
    tokens: int = 1  # of the text that is judged
    rounds: int = 1

    def law(self) -> ExactLaw:
        """The law of what the fault emits."""
        return exact_law(self.scheme, self.models, tokens=self.tokens, rounds=self.rounds)

    def harmless(self) -> ExactLaw:
        """The law of what the twin emits."""
        return exact_law(self.twin, self.models, tokens=self.tokens, rounds=self.rounds)

    def decoder(self) -> SampledDecoder:
        """The fault behind the seams."""
        return SampledDecoder(self.scheme, self.declared, self.draft_processing)

    def harmless_decoder(self) -> SampledDecoder:
        """The twin behind the seams."""
        return SampledDecoder(self.twin, self.twin_declared or self.declared, self.draft_processing)
