"""Naming the cause of a failing law: which planted way to sample decides, coin for coin, as this decoder did.

Every suspect is driven with the same cases and the same coins through the same seam, as if it declared what the decoder
declares, and what it emits is compared round by round: no statistics, and no tolerance. A suspect that differs once is ruled
out. One that is left alone is *certain* only if the check fails on two cases at least, and no case of another scene contradicts
it. A decoder that takes no coins has chance of its own: nothing can be compared, and no cause is looked for.

On trees that are handed over a suspect is its rule, and what is declared tells on:

    the decoder decides as its declared rule on every case      the mode is wrong: suspects that declare it stand, no others
    it strays, as one rule that is wrong for several proposals  those stand that propose siblings as it declares, if any do

In sessions a suspect drafts by itself, so that a decoder is compared with suspects that draft trees of its shape, in its order
of coins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tree_oracle.checks.law_drive import decided, law_of, sessions
from tree_oracle.checks.law_plan import plan
from tree_oracle.decoder import Seam
from tree_oracle.faults.laws.suspects import LAW_SUSPECTS, LawSuspect
from tree_oracle.record import Case, Round, TreeOracleError
from tree_oracle.run.diagnosis import TELLING, Diagnosis
from tree_oracle.verify.law import Declaration

_MORE_CASES = 30  # beside the failing one

Rounds = tuple[Round, ...]
_UNTRIED = Diagnosis((), (), 0)


class LawLineUp:
    """The suspects, as they sample for a decoder that declares ``mode``."""

    def __init__(self, mode: Declaration | None) -> None:
        self._mode = mode

    def diagnose(
        self,
        seam: Seam,
        failing: Case,
        others: Sequence[Case],
        seen: Callable[[Case], Rounds],
        fails: Callable[[Case], bool],
        elsewhere: Iterable[Case] = (),
    ) -> Diagnosis:
        """Try every suspect.

        Args:
            seam: what the failure was seen through.
            failing: the case that failed.
            others: further cases of the same scene.
            seen: what the decoder under test shows for a case.
            fails: whether the check that failed fails on a case.
            elsewhere: cases of other scenes for the same seam.
        """
        suspects = [suspect for suspect in LAW_SUSPECTS if suspect.shows(seam)]
        fits, tried, strays = suspects, list[Case](), seam is not Seam.ACCEPT_SAMPLED
        for case in [failing, *islice((one for one in others if one != failing), _MORE_CASES)]:
            rounds = _shown(seen, case)
            if not self._can_be_compared(seam, rounds):
                if case is failing:
                    return _UNTRIED
                continue
            tried.append(case)
            strays = strays or not self._as_it_declares(case, rounds)
            fits = self._deciding_so(fits, seam, case, rounds)
            if not fits:
                return Diagnosis((), tuple(suspects), len(tried))
        fits, contradicting = self._elsewhere(fits, seam, elsewhere, seen, tried)
        left = [suspect for suspect in fits if seam is not Seam.ACCEPT_SAMPLED or self._stands(suspect, fits, strays)]
        return Diagnosis(
            tuple(left),
            tuple(suspect for suspect in suspects if suspect not in left),
            len(tried),
            contradicted_by=contradicting,
            telling=sum(islice((1 for case in tried if fails(case)), TELLING)) if len(left) == 1 else 0,
        )

    def _elsewhere(
        self,
        fits: list[LawSuspect],
        seam: Seam,
        elsewhere: Iterable[Case],
        seen: Callable[[Case], Rounds],
        tried: list[Case],
    ) -> tuple[list[LawSuspect], Case | None]:
        """Those that fit the cases of other scenes as well, and a case that none of them fits, if there is one."""
        for case in elsewhere:
            rounds = _shown(seen, case)
            if not self._can_be_compared(seam, rounds):
                continue
            tried.append(case)
            left = self._deciding_so(fits, seam, case, rounds)
            if not left:
                return fits, case
            fits = left
        return fits, None

    def _can_be_compared(self, seam: Seam, rounds: Rounds) -> bool:
        """Whether coins were taken in sessions; trees have scripted coins only where a mode is declared."""
        if seam is Seam.SAMPLED_SESSION:
            return any(round_.coins for round_ in rounds)
        return self._mode is not None and bool(rounds)

    def _as_it_declares(self, case: Case, rounds: Rounds) -> bool:
        """Whether every decision is that of the declared rule."""
        assert self._mode is not None
        data = law_of(case, "accept_sampled")
        ways = (way for tree in case.trees for way in plan(self._mode, data, tree) for _ in way.scripts)
        return [(way.accepted, way.bonus) for way in ways] == [(one.accepted, one.bonus) for one in rounds]

    def _stands(self, suspect: LawSuspect, fits: list[LawSuspect], strays: bool) -> bool:
        """Whether what is declared leaves this suspect, of those that decide the same."""
        assert self._mode is not None
        if not strays:
            return (suspect.declared.rule, suspect.declared.proposal) == (self._mode.rule, self._mode.proposal)
        alike = [one for one in fits if one.rule == suspect.rule]
        due = [one for one in alike if one.declared.proposal == self._mode.proposal]
        return suspect in (due or alike)

    def _deciding_so(self, suspects: list[LawSuspect], seam: Seam, case: Case, rounds: Rounds) -> list[LawSuspect]:
        """Those that show the same; of those with one rule the first is asked for all, where the rule is all that decides."""
        found = dict[int, bool]()
        for suspect in suspects:
            decides = id(suspect.rule if seam is Seam.ACCEPT_SAMPLED else suspect)
            if decides not in found:
                found[decides] = self._decides(suspect, seam, case, rounds)
        return [one for one in suspects if found[id(one.rule if seam is Seam.ACCEPT_SAMPLED else one)]]

    def _decides(self, suspect: LawSuspect, seam: Seam, case: Case, rounds: Rounds) -> bool:
        """Whether it shows the same in as many rounds; it is asked for no more after the first that differs."""
        made, seen = self._made(suspect, seam, case), iter(rounds)
        try:
            return all(_same(mine, theirs) for mine, theirs in zip(made, seen, strict=True))
        except (TreeOracleError, ValueError):  # it breaks down there, or has another number of rounds
            return False

    def _made(self, suspect: LawSuspect, seam: Seam, case: Case) -> Iterator[Round]:
        sampling = suspect.sampling(self._mode)
        if seam is Seam.ACCEPT_SAMPLED:
            return decided(sampling, case)
        return (round_ for session in sessions(sampling, law_of(case, seam.method)) for round_ in session)


def _same(made: Round, seen: Round) -> bool:
    """Whether two rounds agree in what was decided, and in the tree where both show theirs."""
    decided_alike = (made.emitted, made.accepted, made.bonus) == (seen.emitted, seen.accepted, seen.bonus)
    trees = [(round_.tokens, round_.parents) for round_ in (made, seen)]
    return decided_alike and (any(tokens is None for tokens, _ in trees) or trees[0] == trees[1])


def _shown(seen: Callable[[Case], Rounds], case: Case) -> Rounds:
    try:
        return seen(case)
    except TreeOracleError:
        return ()
