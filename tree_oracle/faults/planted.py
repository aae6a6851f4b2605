"""Every planted fault under one roof: wrong parts of a decoder, and wrong ways to sample."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Protocol

from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.faults.catalogue import FAULTS
from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.record import UsageError
from tree_oracle.record.names import by_name
from tree_oracle.target import Target


class Planted(Protocol):
    """One fault planted in the reference decoder, and its harmless twin."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """Class in the collection of real faults."""
        ...

    @property
    def check(self) -> str:
        """The check that must catch it."""
        ...

    @property
    def family(self) -> str: ...

    @property
    def sentence(self) -> str:
        """What is wrong."""
        ...

    @property
    def wakes(self) -> str:
        """The condition without which it does not show."""
        ...

    @property
    def seen_in(self) -> str:
        """Real reports of the kind."""
        ...

    @property
    def twin_sentence(self) -> str: ...

    @property
    def target(self) -> str:
        """A target that can show it."""
        ...

    @property
    def seams(self) -> frozenset[Seam]:
        """The seams through which it, or its twin, can show."""
        ...

    @property
    def measure(self) -> str:
        """How wrong it is, where that is a number; else empty."""
        ...

    def decoder(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the fault."""
        ...

    def harmless(self, target: Target) -> ReferenceDecoder:
        """The reference decoder with the twin."""
        ...


_ALL: tuple[Planted, ...] = (*FAULTS.values(), *LAW_FAULTS.values())
PLANTED: Mapping[str, Planted] = MappingProxyType(by_name(_ALL))


def find_fault(name: str) -> Planted:
    """The fault of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    if name not in PLANTED:
        near = get_close_matches(name, PLANTED, n=1, cutoff=0.0)[0]
        raise UsageError(f"no planted fault {name!r}; the nearest is {near!r}")
    return PLANTED[name]
