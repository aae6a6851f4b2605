"""Naming the cause: which one wrong part of the reference decoder shows exactly what this decoder showed.

For every suspect the reference decoder with that part replaced is driven with the same cases through the same seam, and all
fields that the decoder showed are compared, rows within the target's tolerance. A suspect that differs anywhere is ruled
out. What is left after several cases is reported: one suspect is a *certain* cause only if nothing else fits and it was
told apart on more than the one failing case; several are named together; none is said to be none.

A suspect needs the model and the tree-masked pass, and is no ground truth: the verdict never depends on it. One fault fails
many checks on the same cases, so what a suspect shows is remembered.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tree_oracle.checks.drive import drive
from tree_oracle.checks.rows import distance
from tree_oracle.checks.scores import score_distance, softmax_room
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.showing import replaced, showing
from tree_oracle.faults.suspects import SUSPECTS, Suspect
from tree_oracle.record import Array, Case, DecoderError, Round, ScoreKind, TreeOracleError, Truth, Work, case_id
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

_MOVED = ("pools", "length", "pages")
# Fields whose values a suspect must reproduce, where the decoder shows them.
_COMPARED = (
    "emitted",
    "accepted",
    "bonus",
    "kept",
    "positions",
    "visible",
    "scores",
    "rows",
    "processed",
    "cache",
    "end",
    "work",
    *_MOVED,
)
_BUILT = ("tokens", "parents", "work")  # where the tree is the answer, and not what was handed over
_MORE_CASES = 30  # beside the failing one; told apart or not after that
_KEPT = 4096  # what so many suspects showed is remembered; with its cache rows some 50 kB each

Rounds = tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What would explain the observation."""

    fits: tuple[Suspect, ...]
    ruled_out: tuple[Suspect, ...]
    cases: int  # on how many cases the suspects were tried

    @property
    def certain(self) -> bool:
        """Exactly one suspect fits, on more cases than the one it was found by."""
        return len(self.fits) == 1 and self.cases > 1


@dataclass(frozen=True, slots=True)
class Shown:
    """What a decoder shows for one case, and whether it broke down after that."""

    rounds: Rounds
    broke: bool = False


class LineUp:
    """The suspects on one target, driven with the cases of one decoder under test, and what each of them showed."""

    def __init__(self, target: Target, truth: Truth) -> None:
        """``truth`` gives the tolerance only."""
        self._target, self._truth = target, truth
        self._remembered: OrderedDict[tuple[str, Seam, str], Shown] = OrderedDict()

    def diagnose(self, seam: Seam, failing: Case, others: Sequence[Case], seen: Callable[[Case], Rounds]) -> Diagnosis:
        """Try every suspect.

        Args:
            seam: what the failure was seen through.
            failing: the case that failed.
            others: further cases of the same scene.
            seen: what the decoder under test shows for a case, the same whenever it is asked.
        """
        suspects = [suspect for suspect in SUSPECTS if _may_show(suspect, seam, failing)]
        fits, tried = list(suspects), 0
        for case in [failing, *others[:_MORE_CASES]]:
            observed = _shown(partial(seen, case))
            if not _comparable(observed, seam):
                if case is failing:  # whatever fits the other cases does not explain this one
                    break
                continue
            tried += 1
            fits = [suspect for suspect in fits if self._reproduces(suspect, seam, case, observed)]
            if not fits:
                break
        if not tried or not suspects:
            return Diagnosis((), (), 0)
        return Diagnosis(tuple(fits), tuple(s for s in suspects if s not in fits), tried)

    def _reproduces(self, suspect: Suspect, seam: Seam, case: Case, observed: Shown) -> bool:
        made = self._made(suspect, seam, case, observed.rounds)
        compared = _BUILT if seam is Seam.BUILD else (*_COMPARED, *_telling(made.rounds, observed.rounds))
        same_extent = (len(made.rounds), made.broke) == (len(observed.rounds), observed.broke)
        return same_extent and all(
            _same_round(mine, theirs, self._truth, compared)
            for mine, theirs in zip(made.rounds, observed.rounds, strict=True)
        )

    def _made(self, suspect: Suspect, seam: Seam, case: Case, observed: Rounds) -> Shown:
        """What the suspect shows; where it must draft by itself, with the trees that were observed for the same case."""
        key = (suspect.name, seam, case_id(case))
        if key not in self._remembered:
            draft = _shown_trees(observed) if seam.method == Seam.GENERATE else None
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


def _comparable(observed: Shown, seam: Seam) -> bool:
    """Whether a suspect can be asked for the same: a text that was never shown does not say what was drafted for it."""
    return bool(observed.rounds) or (observed.broke and seam.method != Seam.GENERATE)


def _shown_trees(observed: Rounds) -> Callable[[Sequence[int]], CandidateTree]:
    """A draft that proposes, for each prefix, the tree that the decoder showed there."""
    trees = {r.prefix: (r.tokens, r.parents) for r in observed if r.tokens is not None and r.parents is not None}

    def draft(prefix: Sequence[int]) -> CandidateTree:
        tokens, parents = trees[tuple(prefix)]  # a suspect that strays from the prefixes that were seen is ruled out
        assert tokens is not None and parents is not None
        return CandidateTree(tokens, parents)

    return draft


def _same_round(made: Round, seen: Round, truth: Truth, compared: Sequence[str]) -> bool:
    shown = [name for name in compared if getattr(seen, name) is not None]
    return all(_same_field(name, made, seen, truth) for name in shown)


def _telling(*shown: Rounds) -> list[str]:
    """What is compared only where something shows in it: right decoders prefill, and are spread, in ways of their own."""
    passes = any(len(round_.calls or ()) > 1 for rounds in shown for round_ in rounds[1:])
    strays = any(_strays(round_) for rounds in shown for round_ in rounds)
    return ["calls"] * passes + ["peers"] * strays


def _strays(round_: Round) -> bool:
    shared = ("prefix", "tokens", "parents", "accepted", "bonus", "emitted", "kept", "end")
    return any(getattr(peer, name) != getattr(round_, name) for peer in round_.peers or () for name in shared)


def _same_work(mine: Work | None, theirs: Work | None) -> bool:
    """Whether the counts are equal that both state, and both or neither run the draft's backbone more than once."""
    several = [(getattr(work, "draft_passes", None) or 0) > 1 for work in (mine, theirs)]
    pairs = [(getattr(mine, name, None), getattr(theirs, name, None)) for name in Work.__struct_fields__]
    return several[0] == several[1] and all(a == b for a, b in pairs if a is not None and b is not None)


def _same_field(name: str, made: Round, seen: Round, truth: Truth) -> bool:
    if name == "rows":
        return _same_rows(_values(made.rows), _values(seen.rows), truth)
    if name == "processed":  # a suspect shows none where nothing applies
        return made.processed is None or _same_rows(_values(made.processed), _values(seen.processed), truth)
    if name == "scores":
        return _same_scores(made, seen, truth)
    if name == "work":
        return _same_work(made.work, seen.work)
    if name == "cache" and not truth.exact:
        return True  # cache entries have a floor of their own, which no suspect is told apart by
    return bool(getattr(made, name) == getattr(seen, name))


def _same_rows(mine: np.ndarray, theirs: np.ndarray, truth: Truth) -> bool:
    """Whether all rows agree within the sampled noise: an estimate is enough where nothing but a suspicion hangs on it."""
    room = 0.0 if truth.exact else truth.noise().allowed
    pairs = zip(mine, theirs, strict=True)
    # A row of which nothing is left is equal to another such row, though it has no maximum to be measured from.
    return mine.shape == theirs.shape and all(np.array_equal(a, b) or distance(b, a) <= room for a, b in pairs)


def _same_scores(made: Round, seen: Round, truth: Truth) -> bool:
    """Whether the reference's log-probabilities are the shown scores, whatever kind those are of."""
    if seen.score_kind is ScoreKind.LOGIT or made.scores is None or seen.scores is None:
        return True  # logits are not comparable: nothing is ruled out by them
    room = max(map(softmax_room, _values(made.rows))) + (0.0 if truth.exact else 2 * truth.noise().allowed)
    convert = math.exp if seen.score_kind is ScoreKind.PROBABILITY else float
    pairs = zip(_values(made.scores)[1:], _values(seen.scores)[1:], strict=True)
    return all(score_distance(theirs, convert(mine), seen.score_kind) <= room for mine, theirs in pairs)


def _values(array: object) -> np.ndarray:
    assert isinstance(array, Array)
    return np.asarray(array.numpy(), dtype=np.float64)
