"""What a planted fault is: one part of the reference decoder replaced by a wrong one.

A fault is only worth something with three things beside it: the condition that wakes it, the check that must catch it, and
a harmless twin, the same detour through the code without the fault, that every check must let pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_oracle.construct import Declared, TreeSpark
from tree_oracle.decoder import Parts, ReferenceDecoder, Seam
from tree_oracle.decoder.showing import showing
from tree_oracle.target import Target


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault and its twin; see ``Planted``."""

    name: str
    kind: str  # class in the collection of real faults
    check: str  # the check that must catch it
    sentence: str  # what is wrong
    wakes: str  # the condition without which it does not show
    seen_in: str  # real reports of the kind
    parts: Parts
    twin_sentence: str
    twin: Parts
    target: str = "exact"  # one that can show it: some need a layer or a setting that others lack
    tree_policy: Declared = field(default_factory=TreeSpark)  # what the decoders declare

    @property
    def family(self) -> str:
        """Family of the check that must catch it."""
        return self.check.partition("-")[0]

    @property
    def seams(self) -> frozenset[Seam]:
        """The seams through which the part that is replaced can show."""
        return showing(self.twin)

    @property
    def measure(self) -> str:
        """Nothing: a wrong part is wrong or not."""
        return ""

    def decoder(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the fault."""
        return ReferenceDecoder(target, self.parts, tree_policy=self.tree_policy)

    def harmless(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the twin."""
        return ReferenceDecoder(target, self.twin, tree_policy=self.tree_policy)
