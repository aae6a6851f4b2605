"""Whether a draft was verified for a text that a decoder generated: what its rounds say, and what the target was seen to run.

    rounds look like speculation, a pass that may score a draft was seen    believed, unless the tap reads plain decoding
    the same, and passes over the text alone account for every token too    a second decoder is led astray
    rounds look like speculation, the passes are those of plain decoding    a second decoder is led astray
    rounds show no draft                                                    the tap may have seen one

The first line needs somebody who heeds these passes. So there, too, a second decoder is led astray, until some texts have shown
that this decoder is one. What trees and counters claim beyond its rounds fails WITNESS-03. Where a text is decided by plain
decoding the rounds that the tap reads for it are no witness either.
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
_SURE = 2  # texts that were changed by wrong rows in passes that score a draft; further ones are believed


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
        self._sure = 0

    def passes(self, source: Source, case: Case, rounds: Rounds) -> Passes | None:
        """What the target was seen to run for these rounds, by all that can be found out."""
        if source.seam is Seam.TAP:
            return self._of_the_text(source, case)
        found = self._passes(case)
        if source.seam is not Seam.GENERATE or found in (None, Passes.UNSEEN):
            return found
        if speculated(case, rounds):
            return self._told(found, source, case, rounds)
        if found is Passes.PLAIN:
            return found
        read = self._read_as_drafted(source, case, rounds)
        if read and self._told(found, source, case, read) is Passes.IGNORED:
            return Passes.IGNORED
        if read:
            self._note(Source(Seam.TAP, source.scene), case, read)
        return Passes.DRAFT  # what the tap reads is no claim, and needs none

    def unwitnessed(self, source: Source, case: Case, rounds: Rounds) -> str:
        """Why nothing shows that a draft was verified for a text that came through this source; empty where something does."""
        passes = self.passes(source, case, rounds)
        if passes in (Passes.PLAIN, Passes.IGNORED) or speculated(case, rounds):
            return contradiction(rounds, passes)
        read = source.seam is Seam.GENERATE and self._read_as_drafted(source, case, rounds)
        return "" if read else NO_WITNESS

    def _read_as_drafted(self, source: Source, case: Case, rounds: Rounds) -> Rounds:
        """The rounds that the target's own calls show for the same text; none unless a draft was verified in them."""
        if not self._tapped or case.batch:
            return ()
        try:
            seen = self._seen(Source(Seam.TAP, source.scene), case)
        except TreeOracleError:
            return ()
        return seen if text_of(seen) == text_of(rounds) and speculated(case, seen) else ()

    def _told(self, found: Passes | None, source: Source, case: Case, rounds: Rounds) -> Passes | None:
        name = case_id(case)
        if found is not None and name not in self._found:
            self._found[name] = self._find_out(found, source, case, rounds)
        return self._found.get(name)

    def _of_the_text(self, tap: Source, case: Case) -> Passes | None:
        """That plain decoding decides the text beside the rounds that the tap reads for it; None where that was not shown."""
        own = Source(Seam.GENERATE, tap.scene)
        try:
            found = self.passes(own, case, self._seen(own, case))
        except TreeOracleError:
            return None
        return found if found in (Passes.IGNORED, Passes.LED) else None

    def _find_out(self, found: Passes, source: Source, case: Case, rounds: Rounds) -> Passes:
        if found is Passes.PLAIN:
            with self._supervision.watch(source, case):
                return self._astray.passes(case, rounds)
        if claims_of(rounds) is None:
            drafted = self._is_read(source, case)
            if not drafted:
                return Passes.BESIDE if drafted is False or self._alone(source, case, rounds) else found
        if not self._astray.can_tell(case) or (found is Passes.DRAFT and self._sure >= _SURE):
            return Passes.DRAFT
        with self._supervision.watch(source, case):
            told = self._astray.heeded(case, rounds)
        # Where nobody can tell, nobody can the next time.
        self._sure += int(told is Passes.DRAFT or (told is None and found is Passes.DRAFT))
        return told or found

    def _alone(self, source: Source, case: Case, rounds: Rounds) -> bool:
        with self._supervision.watch(source, case):
            return self._astray.decides_alone(case, rounds)

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
