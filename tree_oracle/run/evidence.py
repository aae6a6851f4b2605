"""Whether a draft was verified for a text that a decoder generated: what its rounds say, and what the target was seen to run.

    rounds look like speculation, a pass that may score a draft was seen    believed, unless the tap reads plain decoding
    rounds look like speculation, the passes are those of plain decoding    a second decoder is led astray
    rounds show no draft                                                    the tap may have seen one

The tap is asked against nothing but steps of several tokens: what trees and counters claim beyond its rounds fails WITNESS-03.
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
        self._supervision, self._tapped, self._led = supervision, tapped, dict[str, Passes]()

    def passes(self, source: Source, case: Case, rounds: Rounds) -> Passes | None:
        """What the target was seen to run for these rounds, by all that can be found out."""
        found = self._passes(case)
        if source.seam is not Seam.GENERATE or not speculated(case, rounds):
            return found
        if found is Passes.DRAFT and claims_of(rounds) is None and self._is_read_as_plain(source, case):
            return Passes.BESIDE
        return self._led_astray(source, case, rounds) if found is Passes.PLAIN else found

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

    def _is_read_as_plain(self, source: Source, case: Case) -> bool:
        """Whether the tap finds a pass for every token, and no draft in any."""
        if self._tapped and not case.batch:
            try:
                self._seen(Source(Seam.TAP, source.scene), case)
            except Undrafted:
                return True
            except TreeOracleError:
                return False
        return False

    def _led_astray(self, source: Source, case: Case, rounds: Rounds) -> Passes:
        name = case_id(case)
        if name not in self._led:
            with self._supervision.watch(source, case):
                self._led[name] = self._astray.passes(case, rounds)
        return self._led[name]
