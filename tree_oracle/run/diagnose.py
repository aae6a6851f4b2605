"""Naming the cause: which one wrong part of the reference decoder shows exactly what this decoder showed.

For every suspect the reference decoder with that part replaced is driven with the same cases through the same seam, and all
fields that the decoder showed are compared, rows within the target's tolerance. A suspect that differs anywhere is ruled
out. What is left after several cases is reported: one suspect is a *certain* cause only if nothing else fits and it was
told apart on more than the one failing case; several are named together; none is said to be none.

Where several are left, cases of other scenes are tried, on which they may differ: two ways to count the minimum length are
told apart by a penalty. Such a case never rules out the last one, since the decoder may have a second fault that it wakes.

A decoder that breaks down before it shows what it drafted is compared by the cases on which it does: suspects then draft as the
reference does, so that what fits is a hint and never certain.

A suspect needs the model and the tree-masked pass, and is no ground truth: the verdict never depends on it. One fault fails
many checks on the same cases, so what a suspect shows is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from tree_oracle.checks.drive import drive
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.showing import replaced, showing
from tree_oracle.faults.suspects import SUSPECTS, Suspect
from tree_oracle.record import Case, DecoderError, Round, TreeOracleError, Truth, case_id
from tree_oracle.run.same_shown import Rounds, same_rounds
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

_MORE_CASES = 30  # beside the failing one; told apart or not after that
_OTHER_SCENES = 60  # cases of them, where several suspects are left
_KEPT = 4096  # what so many suspects showed is remembered; with its cache rows some 50 kB each


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What would explain the observation."""

    fits: tuple[Suspect, ...]
    ruled_out: tuple[Suspect, ...]
    cases: int  # on how many cases the suspects were tried
    drafted_alike: bool = True  # the suspects were given the trees that the decoder drafted, on every case

    @property
    def certain(self) -> bool:
        """Exactly one suspect fits, on more cases than the one it was found by, and on what was drafted there."""
        return len(self.fits) == 1 and self.cases > 1 and self.drafted_alike


@dataclass(frozen=True, slots=True)
class Shown:
    """What a decoder shows for one case, and whether it broke down after that."""

    rounds: Rounds
    broke: bool = False

    def __bool__(self) -> bool:
        return bool(self.rounds) or self.broke


class LineUp:
    """The suspects on one target, driven with the cases of one decoder under test, and what each of them showed."""

    def __init__(self, target: Target, truth: Truth) -> None:
        """``truth`` gives the tolerance only."""
        self._target, self._truth = target, truth
        self._remembered: OrderedDict[tuple[str, Seam, str], Shown] = OrderedDict()

    def diagnose(
        self,
        seam: Seam,
        failing: Case,
        others: Sequence[Case],
        seen: Callable[[Case], Rounds],
        elsewhere: Iterable[Case] = (),
    ) -> Diagnosis:
        """Try every suspect.

        Args:
            seam: what the failure was seen through.
            failing: the case that failed.
            others: further cases of the same scene.
            seen: what the decoder under test shows for a case, the same whenever it is asked.
            elsewhere: cases of other scenes for the same seam, asked for only where several suspects are left.
        """
        suspects = [suspect for suspect in SUSPECTS if _may_show(suspect, seam, failing)]
        fits, tried, blind = list(suspects), 0, False
        for case in [failing, *others[:_MORE_CASES]]:
            observed = _shown(partial(seen, case))
            if not observed:
                if case is failing:  # whatever fits the other cases does not explain this one
                    break
                continue
            tried, blind = tried + 1, blind or _drafts_unseen(observed, seam)
            fits = [suspect for suspect in fits if self._reproduces(suspect, seam, case, observed)]
            if not fits:
                break
        if not tried or not suspects:
            return Diagnosis((), (), 0)
        fits, more = self._told_apart(fits, seam, elsewhere, seen)
        return Diagnosis(
            tuple(fits), tuple(s for s in suspects if s not in fits), tried + more, drafted_alike=not blind
        )

    def _told_apart(
        self, fits: list[Suspect], seam: Seam, elsewhere: Iterable[Case], seen: Callable[[Case], Rounds]
    ) -> tuple[list[Suspect], int]:
        """Those of several suspects that fit the cases of other scenes as well, and how many cases were tried."""
        tried = 0
        for case in islice(elsewhere, _OTHER_SCENES if len(fits) > 1 else 0):
            observed = _shown(partial(seen, case))
            if not observed or _drafts_unseen(observed, seam):
                continue
            tried += 1
            fits = [suspect for suspect in fits if self._reproduces(suspect, seam, case, observed)] or fits
            if len(fits) == 1:
                break
        return fits, tried

    def _reproduces(self, suspect: Suspect, seam: Seam, case: Case, observed: Shown) -> bool:
        made = self._made(suspect, seam, case, observed.rounds)
        built = seam is Seam.BUILD
        return made.broke == observed.broke and same_rounds(made.rounds, observed.rounds, self._truth, built=built)

    def _made(self, suspect: Suspect, seam: Seam, case: Case, observed: Rounds) -> Shown:
        """What the suspect shows; where it must draft by itself, with the trees that were observed for the same case."""
        key = (suspect.name, seam, case_id(case))
        if key not in self._remembered:
            draft = _shown_trees(observed) if observed and seam.method == Seam.GENERATE else None
            decoder, target = ReferenceDecoder(self._target, suspect.parts, draft=draft), self._target
            made = _shown(lambda: drive(decoder, seam, case, self._truth.vocab_size, model=target.model))
            self._remembered[key] = made
            if len(self._remembered) > _KEPT:
                self._remembered.popitem(last=False)
        return self._remembered[key]


def _shown(drive_it: Callable[[], Rounds]) -> Shown:
    """The rounds that are shown, up to the one in which the decoder breaks down if it does."""
    try:
        return Shown(drive_it())
    except DecoderError as error:
        return Shown(tuple(round_ for round_ in error.rounds if isinstance(round_, Round)), broke=True)
    except TreeOracleError:
        return Shown(())


def _may_show(suspect: Suspect, seam: Seam, case: Case) -> bool:
    """Whether a part that the suspect replaces is run; the others show what the reference shows."""
    if seam is Seam.ATTEND or seam not in showing(suspect.parts):
        return False  # of an attention operator the finding itself names the key
    idle = ("target_pass" if case.batch else "batch",) if seam is Seam.SESSION else ()
    if case.processors is None and not (case.limits and case.limits.min_new):
        idle = (*idle, "path")
    return any(part not in idle for part in replaced(suspect.parts))


def _drafts_unseen(observed: Shown, seam: Seam) -> bool:
    """Whether the decoder broke down before it showed what it drafted by itself."""
    return not observed.rounds and seam.method == Seam.GENERATE


def _shown_trees(observed: Rounds) -> Callable[[Sequence[int]], CandidateTree]:
    """A draft that proposes, for each prefix, the tree that the decoder showed there."""
    trees = {r.prefix: (r.tokens, r.parents) for r in observed if r.tokens is not None and r.parents is not None}

    def draft(prefix: Sequence[int]) -> CandidateTree:
        tokens, parents = trees[tuple(prefix)]  # a suspect that strays from the prefixes that were seen is ruled out
        assert tokens is not None and parents is not None
        return CandidateTree(tokens, parents)

    return draft
