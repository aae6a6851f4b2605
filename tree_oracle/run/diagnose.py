"""Naming the cause: which one wrong part of the reference decoder shows exactly what this decoder showed.

For every suspect the reference decoder with that part replaced is driven with the same cases through the same seam, and all
fields that the decoder showed are compared, rows within the target's tolerance. A suspect that differs anywhere is ruled
out. What is left after several cases is reported: several suspects are named together; none is said to be none; one is a
*certain* cause only if the decoder strays from the reference on two cases at least, each time as the suspect does, and no
case contradicts it.

Cases of other scenes are tried as well: where several are left they may differ on one (two ways to count the minimum length are
told apart by a penalty), and where one is left it must fit some before it is certain. Such a case never rules out the last one,
since the decoder may have a second fault that it wakes; it makes it uncertain.

A decoder that shows no round on any case leaves nothing that a suspect could show the same of, and has no cause. One that
breaks down on some, before it shows what it drafted, is compared by the others: suspects then draft as the reference does, so
that what fits is a hint and never certain. Where nothing tells which of two trees a tapped decoder drafted (``checks.doubt``)
suspects may draft either, and such a case makes nothing certain.

A suspect needs the model and the tree-masked pass, and is no ground truth: the verdict never depends on it. One fault fails
many checks on the same cases, so what a suspect shows is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from tree_oracle.checks.doubt import doubts_in, readings_of
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Parts, ReferenceDecoder, Seam
from tree_oracle.decoder.showing import replaced, showing
from tree_oracle.faults.suspects import SUSPECTS, Suspect
from tree_oracle.record import Case, DecoderError, Round, TreeOracleError, Truth, case_id
from tree_oracle.run.same_shown import Rounds, same_attention, same_rounds
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

_MORE_CASES = 30  # beside the failing one; told apart or not after that
_OTHER_SCENES = 60  # cases of them, where several suspects are left
_BEFORE_CERTAIN = 40  # cases of them, where one is left
_TELLING = 2  # cases on which the decoder strays, before a cause is certain
_LONG = 64  # new tokens, beyond which a suspect that drafts what was read off a wrong mask strays sooner or later
_KEPT = 4096  # what so many suspects showed is remembered; with its cache rows some 50 kB each


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What would explain the observation."""

    fits: tuple[Suspect, ...]
    ruled_out: tuple[Suspect, ...]
    cases: int  # on how many cases the suspects were tried
    drafted_alike: bool = True  # the suspects were given the trees that the decoder drafted, on every case
    contradicted: bool = False  # there is a case that no suspect explains which explains the failure
    telling: int = 0  # cases on which the decoder strays from the reference, counted as far as it matters

    @property
    def certain(self) -> bool:
        """Exactly one suspect fits, on several cases on which there is something to explain, and on what was drafted there."""
        alone = len(self.fits) == 1 and not self.contradicted
        return alone and self.telling >= _TELLING and self.drafted_alike


@dataclass(frozen=True, slots=True)
class Shown:
    """What a decoder shows for one case, and whether it broke down after that."""

    rounds: Rounds
    broke: bool = False

    def __bool__(self) -> bool:
        return bool(self.rounds) or self.broke


@dataclass(frozen=True, slots=True)
class _Tried:
    """The cases that were tried, each once, and what the decoder showed for them."""

    cases: dict[str, tuple[Case, Shown]] = field(default_factory=dict)

    def add(self, case: Case, observed: Shown) -> None:
        self.cases[case_id(case)] = case, observed


_REFERENCE = Suspect("reference", "nothing is wrong", Parts())


class LineUp:
    """The suspects on one target, driven with the cases of one decoder under test, and what each of them showed."""

    def __init__(self, target: Target, truth: Truth) -> None:
        """``truth`` gives the tolerance only."""
        self._target, self._truth = target, truth
        self._remembered: OrderedDict[tuple[str, Seam, str, int], Shown] = OrderedDict()

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
            elsewhere: cases of other scenes for the same seam, asked for only where a suspect is left.
        """
        suspects = [suspect for suspect in SUSPECTS if _may_show(suspect, seam, failing)]
        fits, tried, blind = list(suspects), _Tried(), False
        for case in [failing, *islice(filter(_is_short, others), _MORE_CASES)]:
            observed = _shown(partial(seen, case))
            if not observed:
                if case is failing:  # whatever fits the other cases does not explain this one
                    break
                continue
            tried.add(case, observed)
            blind = blind or _drafts_unseen(observed, seam)
            fits = [suspect for suspect in fits if self._reproduces(suspect, seam, case, observed)]
            if not fits:
                break
        blank = not any(observed.rounds for _, observed in tried.cases.values())
        if not tried.cases or not suspects or (fits and blank):
            return Diagnosis((), (), 0)
        fits, contradicted = self._told_apart(fits, seam, elsewhere, seen, tried)
        return Diagnosis(
            tuple(fits),
            tuple(s for s in suspects if s not in fits),
            len(tried.cases),
            drafted_alike=not blind,
            contradicted=contradicted,
            telling=self._telling(seam, tried) if len(fits) == 1 else 0,
        )

    def _told_apart(
        self,
        fits: list[Suspect],
        seam: Seam,
        elsewhere: Iterable[Case],
        seen: Callable[[Case], Rounds],
        tried: _Tried,
    ) -> tuple[list[Suspect], bool]:
        """Those suspects that fit the cases of other scenes as well, and whether there is one that none of them fits."""
        contradicted = False
        for number, case in enumerate(islice(filter(_is_short, elsewhere), _OTHER_SCENES if fits else 0)):
            if len(fits) == 1 and (contradicted or number >= _BEFORE_CERTAIN):
                break
            observed = _shown(partial(seen, case))
            if not observed or _drafts_unseen(observed, seam):
                continue
            tried.add(case, observed)
            left = [suspect for suspect in fits if self._reproduces(suspect, seam, case, observed)]
            fits, contradicted = left or fits, contradicted or not left
        return fits, contradicted

    def _telling(self, seam: Seam, tried: _Tried) -> int:
        """On how many cases the decoder shows what the reference does not, counted up to as many as are needed."""
        known = [
            (case, seen) for case, seen in tried.cases.values() if seam is not Seam.TAP or not doubts_in(seen.rounds)
        ]
        straying = (1 for case, seen in known if not self._reproduces(_REFERENCE, seam, case, seen))
        return sum(islice(straying, _TELLING))

    def _reproduces(self, suspect: Suspect, seam: Seam, case: Case, observed: Shown) -> bool:
        return any(
            self._matches(self._made(suspect, seam, case, drafted), seam, case, observed)
            for drafted in enumerate(readings_of(observed.rounds) if seam is Seam.TAP else [observed.rounds])
        )

    def _matches(self, made: Shown, seam: Seam, case: Case, observed: Shown) -> bool:
        if seam is Seam.ATTEND:
            return made.broke == observed.broke and same_attention(case, made.rounds, observed.rounds)
        built = seam is Seam.BUILD
        return made.broke == observed.broke and same_rounds(made.rounds, observed.rounds, self._truth, built=built)

    def _made(self, suspect: Suspect, seam: Seam, case: Case, drafted: tuple[int, Rounds]) -> Shown:
        """What the suspect shows; where it must draft by itself, with the trees that were observed for the same case."""
        reading, observed = drafted
        key = (suspect.name, seam, case_id(case), reading)
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
    if seam not in showing(suspect.parts):
        return False
    idle = ("target_pass" if case.batch else "batch",) if seam is Seam.SESSION else ()
    if case.processors is None and not (case.limits and case.limits.min_new):
        idle = (*idle, "path")
    return any(part not in idle for part in replaced(suspect.parts))


def _is_short(case: Case) -> bool:
    return case.limits is None or case.limits.max_new_tokens <= _LONG


def _drafts_unseen(observed: Shown, seam: Seam) -> bool:
    """Whether a decoder that drafts by itself broke down before a draft, or says that it drafted more than is seen."""
    if seam.method != Seam.GENERATE:
        return False
    said = sum(round_.work.drafted or 0 for round_ in observed.rounds if round_.work is not None)
    return not observed.rounds or said > sum(len(round_.tokens or (0,)) - 1 for round_ in observed.rounds)


def _shown_trees(observed: Rounds) -> Callable[[Sequence[int]], CandidateTree]:
    """A draft that proposes, for each prefix, the tree that the decoder showed there."""
    trees = {r.prefix: (r.tokens, r.parents) for r in observed if r.tokens is not None and r.parents is not None}

    def draft(prefix: Sequence[int]) -> CandidateTree:
        tokens, parents = trees[tuple(prefix)]  # a suspect that strays from the prefixes that were seen is ruled out
        assert tokens is not None and parents is not None
        return CandidateTree(tokens, parents)

    return draft
