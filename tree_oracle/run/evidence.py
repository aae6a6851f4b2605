"""Whether a draft was verified for a text that a decoder generated: what its rounds say, and what the target was seen to run.

    rounds look like speculation, a pass that may score a draft was seen    believed, unless the tap reads plain decoding
    rounds look like speculation, the passes are those of plain decoding    a second decoder is led astray
    rounds show no draft                                                    the tap may have seen one

Against passes that may score a draft nothing is asked but where steps of several tokens are all that there is: what trees and
counters claim beyond its rounds fails WITNESS-03. Where the tap cannot follow, a second decoder is led astray there too.
"""

from __future__ import annotations

from collections.abc import Callable

from tree_oracle.checks import Source
from tree_oracle.checks.passes import Passes
from tree_oracle.checks.view import text_of
from tree_oracle.checks.witness import NO_WITNESS, claims_of, contradiction, speculated
from tree_oracle.decoder import Seam
from tree_oracle.decoder.tap_errors import Undrafted
from tree_oracle.record import Case, Round, TreeOracleError, case_id
from tree_oracle.run.astray import Astray
from tree_oracle.run.supervision import Supervision

Rounds = tuple[Round, ...]


class Evidence:
    """What is known of the texts of one decoder."""

    def __init__(
        self,
        seen: Callable[[Source, Case], Rounds],
        passes: Callable[[Case], Passes | None],
        note: Callable[[Source, Case, Rounds], object],
        astray: Astray,
        supervision: Supervision,
        *,
        tapped: bool,
    ) -> None:
        """
        Args:
            seen: what the decoder shows for a case through a source.
            passes: what the target was seen to run for a case; None where nobody could watch.
            note: told of what the tap saw that is a witness.
            astray: second decoders.
            supervision: who watches when these are asked.
            tapped: whether the target can be tapped.
        """
        self._seen, self._passes, self._note, self._astray = seen, passes, note, astray
        self._supervision, self._tapped, self._found = supervision, tapped, dict[str, Passes]()

    def passes(self, source: Source, case: Case, rounds: Rounds) -> Passes | None:
        """What the target was seen to run for these rounds, by all that can be found out."""
        found = self._passes(case)
        if source.seam is not Seam.GENERATE or not speculated(case, rounds):
            return found
        if found is Passes.PLAIN or (found is Passes.DRAFT and claims_of(rounds) is None):
            name = case_id(case)
            if name not in self._found:
                self._found[name] = self._find_out(found, source, case, rounds)
            return self._found[name]
        return found

    def unwitnessed(self, source: Source, case: Case, rounds: Rounds) -> str:
        """Why nothing shows that a draft was verified for a text that the decoder generated; empty where something does."""
        passes = self.passes(source, case, rounds)
        if passes is Passes.PLAIN or speculated(case, rounds):
            return contradiction(rounds, passes)
        return "" if self._is_read_as_drafted(source, case, rounds) else NO_WITNESS

    def _is_read_as_drafted(self, source: Source, case: Case, rounds: Rounds) -> bool:
        """Whether the target's own calls, read for the same text, show that a draft was verified."""
        if not self._tapped or case.batch:
            return False
        tap = Source(Seam.TAP, source.scene)
        try:
            seen = self._seen(tap, case)
        except TreeOracleError:
            return False
        self._note(tap, case, seen)
        return text_of(seen) == text_of(rounds) and speculated(case, seen)

    def _find_out(self, found: Passes, source: Source, case: Case, rounds: Rounds) -> Passes:
        drafted = None if found is Passes.PLAIN else self._is_read(source, case)
        if drafted is not None:
            return found if drafted else Passes.BESIDE
        with self._supervision.watch(source, case):
            if found is Passes.PLAIN:
                return self._astray.passes(case, rounds)
            return Passes.BESIDE if self._astray.decides_alone(case, rounds) else found

    def _is_read(self, source: Source, case: Case) -> bool | None:
        """Whether the tap reads a draft in the passes that decide the text; None where it cannot follow them."""
        if not self._tapped or case.batch:
            return None
        try:
            self._seen(Source(Seam.TAP, source.scene), case)
        except Undrafted:
            return False
        except TreeOracleError:
            return None
        return True
