"""What a planted fault of a law is: a way to decode that is wrong, and the same detour done right.

Its law is computed and not sampled, so a fault shows as a total variation above 0 and its twin as exactly 0, both as fractions.
Planted in the reference decoder it replaces the way to sample, and says of itself what a decoder with that fault would say.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.target import Target
from tree_oracle.verify.law import UNPROCESSED, Declaration, ExactLaw, Processing, Scheme, exact_law
from tree_oracle.verify.rules import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFault:
    """One planted fault and its twin, with the laws that wake it; see ``Planted``."""

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
    draft_processing: Processing = UNPROCESSED  # applied to the draft that is handed over
    tokens: int = 1  # of the text that is judged
    rounds: int = 1
    kind: str = "LAW"
    target: str = "exact"  # none is asked

    @property
    def family(self) -> str:
        """Family of the check that must catch it."""
        return self.check.partition("-")[0]

    @property
    def seams(self) -> frozenset[Seam]:
        """The seams through which it can show."""
        return frozenset({Seam.ACCEPT_SAMPLED, Seam.SAMPLED_SESSION})

    @property
    def measure(self) -> str:
        """The distance of its law to the target's, where it is farthest, and the laws there."""
        law = self.law()
        worst = law.worst
        return (
            f"total variation {law.total_variation} (tokens {self.tokens}, rounds {self.rounds}); "
            f"after ({_listed(worst.context)}) it emits {_listed(worst.emitted)} for {_listed(worst.target)}"
        )

    def law(self) -> ExactLaw:
        """The law of what the fault emits."""
        return exact_law(self.scheme, self.models, tokens=self.tokens, rounds=self.rounds)

    def twin_law(self) -> ExactLaw:
        """The law of what the twin emits."""
        return exact_law(self.twin, self.models, tokens=self.tokens, rounds=self.rounds)

    def sampling(self) -> SampledDecoder:
        """The fault behind the two seams by chance."""
        return SampledDecoder(self.scheme, self.declared, self.draft_processing)

    def twin_sampling(self) -> SampledDecoder:
        """The twin behind the two seams by chance."""
        return SampledDecoder(self.twin, self.twin_declared or self.declared, self.draft_processing)

    def decoder(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the fault."""
        return ReferenceDecoder(target, sampling=self.sampling())

    def harmless(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the twin."""
        return ReferenceDecoder(target, sampling=self.twin_sampling())


def _listed(values: tuple[object, ...]) -> str:
    return ", ".join(map(str, values))
