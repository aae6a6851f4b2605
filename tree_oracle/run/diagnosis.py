"""What came of trying suspects: which of them fit, whether the one that does is certain, and if it is not, why.

A cause is *certain* only if it alone fits, the decoder strays from the reference on two cases at least, each time as the
suspect does, on trees that were seen to be drafted, and no case contradicts it. What of this is missing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tree_oracle.record import Case, case_id, counted

TELLING = 2  # cases on which the decoder strays, before a cause is certain


class Suspected(Protocol):
    """A suspect, as far as it is told of."""

    @property
    def name(self) -> str: ...

    @property
    def sentence(self) -> str:
        """What is wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What would explain the observation."""

    fits: tuple[Suspected, ...]
    ruled_out: tuple[Suspected, ...]
    cases: int  # on how many cases the suspects were tried
    drafted_alike: bool = True  # the suspects were given the trees that the decoder drafted, on every case
    contradicted_by: Case | None = None  # that no suspect explains which explains the failure
    telling: int = 0  # cases on which the decoder strays from the reference, counted as far as it matters
    doubted: int = 0  # others, on which nothing tells which of two trees was drafted

    @property
    def certain(self) -> bool:
        """Exactly one suspect fits, on several cases on which there is something to explain, and on what was drafted there."""
        return len(self.fits) == 1 and not self.uncertain

    @property
    def uncertain(self) -> str:
        """Why no cause is certain, where any fits; else empty."""
        return "; ".join(self._lacks()) if self.fits else ""

    def _lacks(self) -> Iterator[str]:
        if len(self.fits) > 1:
            yield f"no case that was tried tells the {len(self.fits)} apart"
            return
        if self.contradicted_by is not None:
            note = self.contradicted_by.note
            yield f"case {case_id(self.contradicted_by)} contradicts it{f' ({note})' if note else ''}"
        if not self.drafted_alike:
            yield "not all that was drafted was seen, so that suspects drafted trees of their own"
        if self.telling < TELLING:
            yield self._untold()

    def _untold(self) -> str:
        strays = "on one case only" if self.telling else "on no case"
        beside = f", beside {counted(self.doubted, 'case')} on which nothing tells which of two trees was drafted"
        return f"the decoder strays from the reference {strays}{beside if self.doubted else ''}; {TELLING} are needed"
