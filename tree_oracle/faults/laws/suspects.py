"""Suspects of a failing law: the planted faults of laws, those together that no case can tell apart.

Faults of one scheme and one declaration are one suspect, planted on different laws. Faults of one rule under different
proposals are one where trees are handed over, and there the declared proposal says which of them it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tree_oracle.decoder import Seam
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.faults.laws.catalogue import LAW_FAULTS
from tree_oracle.faults.laws.fault import LawFault
from tree_oracle.verify.law import Declaration, NodeScheme, TreeScheme

ALIKE = " = "  # between the names of faults that are one suspect


@dataclass(frozen=True, slots=True)
class LawSuspect:
    """One wrong way to sample."""

    faults: tuple[LawFault, ...]

    @property
    def name(self) -> str:
        """The names of all that it is."""
        return ALIKE.join(fault.name for fault in self.faults)

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return self.faults[0].sentence

    @property
    def declared(self) -> Declaration:
        """What it says of itself."""
        return self.faults[0].declared

    @property
    def rule(self) -> Any:
        """What decides on a tree that is handed over; None: nothing does, as it takes no trees but its own."""
        scheme = self.faults[0].scheme
        return scheme.rule if isinstance(scheme, NodeScheme | TreeScheme) else None

    def shows(self, seam: Seam) -> bool:
        """Whether it can be driven through this seam."""
        return seam is Seam.SAMPLED_SESSION or (seam is Seam.ACCEPT_SAMPLED and self.rule is not None)

    def sampling(self, mode: Declaration | None) -> SampledDecoder:
        """It, as it samples for somebody who declares ``mode``: the laws are processed, and the coins scripted, by that."""
        fault = self.faults[0]
        return SampledDecoder(fault.scheme, mode or fault.declared, fault.draft_processing)


def _grouped() -> tuple[LawSuspect, ...]:
    groups = list[list[LawFault]]()
    for fault in LAW_FAULTS.values():
        alike = next((group for group in groups if _as_it_acts(group[0]) == _as_it_acts(fault)), None)
        if alike is None:
            groups.append([fault])
        else:
            alike.append(fault)
    return tuple(LawSuspect(tuple(group)) for group in groups)


def _as_it_acts(fault: LawFault) -> tuple[Any, ...]:
    return fault.scheme, fault.declared, fault.draft_processing


LAW_SUSPECTS = _grouped()
