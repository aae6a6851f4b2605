"""Naming the cause: which one wrong part of the reference decoder shows exactly what this decoder showed.

For every suspect the reference decoder with that part replaced is driven with the same cases through the same seam, and all
fields that the decoder showed are compared, rows within the target's tolerance. A suspect that differs anywhere is ruled
out. What is left after several cases is reported: several suspects are named together; none is said to be none; one may be a
*certain* cause (``diagnosis``). Of a fault with several forms one form has to fit all cases.

Cases of other scenes are tried as well: where several are left they may differ on one (two ways to count the minimum length are
told apart by a penalty), and where one is left it must fit some before it is certain. Such a case never rules out the last one,
since the decoder may have a second fault that it wakes; it makes it uncertain.

A decoder that shows no round on any case, of this scene or another, leaves nothing that a suspect could show the same of, and
has no cause, but where an answer is itself what broke it. One that breaks down on some, before it shows what it drafted, is
compared by where it does, and by the others: suspects then draft as the reference does, so that what fits is a hint and never
certain. Where nothing tells which of two trees a tapped decoder drafted (``checks.doubt``) suspects may draft either, and such
a case makes nothing certain.

A suspect needs the model and the tree-masked pass, and is no ground truth: the verdict never depends on it. One fault fails
many checks, so what a suspect shows is remembered, and who did not explain an earlier failure at the same seam is tried again
only where nobody else explains this one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from tree_oracle.checks.doubt import doubts_in, readings_of
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.record import Case, Truth, case_id
from tree_oracle.run.diagnosis import TELLING, Diagnosis
from tree_oracle.run.drive_shown import Shown, Tried, shown_by
from tree_oracle.run.forms import REFERENCE, Form, forms_shown, suspects_of
from tree_oracle.run.same_shown import Rounds, same_attention, same_rounds
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

_MORE_CASES = 30  # beside the failing one; told apart or not after that
_OTHER_SCENES = 60  # cases of them, where several suspects are left
_BEFORE_CERTAIN = 40  # cases of them, where one is left
_EARLIER = 4  # failing cases that are tried again
_LONG = 64  # new tokens, beyond which a suspect that drafts what was read off a wrong mask strays sooner or later
_KEPT = 4096  # what so many suspects showed is remembered; with its cache rows some 50 kB each


class LineUp:
    """The suspects on one target, driven with the cases of one decoder under test, and what each of them showed."""

    def __init__(self, target: Target, truth: Truth) -> None:
        """``truth`` gives the tolerance only."""
        self._target, self._truth = target, truth
        self._remembered: OrderedDict[tuple[str, int, Seam, str, int], Shown] = OrderedDict()
        self._failed: dict[Seam, dict[str, tuple[Case, Shown]]] = {}  # cases that failed before

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
        forms = forms_shown(seam, failing)
        observed = shown_by(partial(seen, failing))
        if not forms or not observed:  # whatever fits the other cases does not explain this one
            return Diagnosis((), (), 0)
        cases, before = [failing, *islice(filter(_is_short, others), _MORE_CASES)], self._before(seam)
        fits, tried = self._fitting(self._unrefuted(forms, seam, before), seam, cases, seen, Tried(dict(before)))
        if not fits and before:  # a second fault, perhaps
            fits, tried = self._fitting(forms, seam, cases, seen, Tried())
        if not _drafts_unseen(observed, seam):
            self._failed.setdefault(seam, {})[case_id(failing)] = failing, observed
        blind = any(_drafts_unseen(observed, seam) for _, observed in tried.cases.values())
        fits, contradicting = self._told_apart(fits, seam, elsewhere, seen, tried)
        if fits and tried.blank:
            return Diagnosis((), (), 0)
        left = suspects_of(fits)
        telling, doubted = self._telling(seam, tried) if len(left) == 1 else (0, 0)
        return Diagnosis(
            left,
            tuple(suspect for suspect in suspects_of(forms) if suspect not in left),
            len(tried.cases),
            drafted_alike=not blind,
            contradicted_by=contradicting,
            telling=telling,
            doubted=doubted,
        )

    def _before(self, seam: Seam) -> dict[str, tuple[Case, Shown]]:
        """The first few cases that failed at this seam, which are tried again at no cost."""
        return dict(islice(self._failed.get(seam, {}).items(), _EARLIER))

    def _unrefuted(self, forms: list[Form], seam: Seam, cases: Mapping[str, tuple[Case, Shown]]) -> list[Form]:
        """Those that explain all of these cases."""
        for case, observed in cases.values():
            forms = [form for form in forms if self._reproduces(form, seam, case, observed)]
        return forms

    def _fitting(
        self, forms: list[Form], seam: Seam, cases: Sequence[Case], seen: Callable[[Case], Rounds], tried: Tried
    ) -> tuple[list[Form], Tried]:
        """Those that show what the decoder shows on each of these cases where it shows anything; and all that was tried."""
        for case in cases if forms else ():
            observed = shown_by(partial(seen, case))
            if observed:
                tried.add(case, observed)
                forms = [form for form in forms if self._reproduces(form, seam, case, observed)]
            if not forms:
                break
        return forms, tried

    def _told_apart(
        self,
        fits: list[Form],
        seam: Seam,
        elsewhere: Iterable[Case],
        seen: Callable[[Case], Rounds],
        tried: Tried,
    ) -> tuple[list[Form], Case | None]:
        """Those forms that fit the cases of other scenes as well, and a case that none of them fits, if there is one."""
        contradicting = None
        for number, case in enumerate(islice(filter(_is_short, elsewhere), _OTHER_SCENES if fits else 0)):
            if len(suspects_of(fits)) == 1 and (contradicting is not None or number >= _BEFORE_CERTAIN):
                break
            observed = shown_by(partial(seen, case))
            if not observed or _drafts_unseen(observed, seam):
                continue
            tried.add(case, observed)
            left = [form for form in fits if self._reproduces(form, seam, case, observed)]
            fits, contradicting = left or fits, contradicting or (None if left else case)
        return fits, contradicting

    def _telling(self, seam: Seam, tried: Tried) -> tuple[int, int]:
        """On how many cases the decoder shows what the reference does not, counted up to as many as are needed; and how many
        there are besides on which nothing tells which of two trees was drafted."""
        every = list(tried.cases.values())
        known = [(case, seen) for case, seen in every if seam is not Seam.TAP or not doubts_in(seen.rounds)]
        straying = (1 for case, seen in known if not self._reproduces(REFERENCE, seam, case, seen))
        return sum(islice(straying, TELLING)), len(every) - len(known)

    def _reproduces(self, form: Form, seam: Seam, case: Case, observed: Shown) -> bool:
        return any(
            self._matches(self._made(form, seam, case, drafted), seam, case, observed)
            for drafted in enumerate(_readings(observed.rounds) if seam is Seam.TAP else [observed.rounds])
        )

    def _matches(self, made: Shown, seam: Seam, case: Case, observed: Shown) -> bool:
        if (made.broke, made.answered) != (observed.broke, observed.answered):
            return False
        if seam is Seam.ATTEND:
            return same_attention(case, made.rounds, observed.rounds)
        return same_rounds(made.rounds, observed.rounds, self._truth, built=seam is Seam.BUILD)

    def _made(self, form: Form, seam: Seam, case: Case, drafted: tuple[int, Rounds]) -> Shown:
        """What the suspect shows; where it must draft by itself, with the trees that were observed for the same case, or trees
        of its own if not all that was drafted was seen."""
        reading, observed = drafted
        key = (form.suspect.name, form.number, seam, case_id(case), reading)
        if key not in self._remembered:
            follows = bool(observed) and seam.method == Seam.GENERATE and not _drafts_unseen(Shown(observed), seam)
            draft = _shown_trees(observed) if follows else None
            decoder, target = ReferenceDecoder(self._target, form.parts, draft=draft), self._target
            # What is read off a wrong mask is not what was handed over: only where the first token has no draft is it followed.
            known = seam is Seam.GENERATE or (follows and len(observed[0].tokens or ()) < 2)
            asked = msgspec.structs.replace(case, drafter=None) if follows and known else case
            made = shown_by(lambda: drive(decoder, seam, asked, self._truth.vocab_size, model=target.model))
            self._remembered[key] = made
            if len(self._remembered) > _KEPT:
                self._remembered.popitem(last=False)
        return self._remembered[key]


def _is_short(case: Case) -> bool:
    return case.limits is None or case.limits.max_new_tokens <= _LONG


def _drafts_unseen(observed: Shown, seam: Seam) -> bool:
    """Whether a decoder that drafts by itself broke down before a draft, or says that it drafted more than is seen."""
    if seam.method != Seam.GENERATE:
        return False
    said = sum(round_.work.drafted or 0 for round_ in observed.rounds if round_.work is not None)
    return not observed.rounds or said > sum(len(round_.tokens or (0,)) - 1 for round_ in observed.rounds)


def _readings(observed: Rounds) -> list[Rounds]:
    """The rounds that a tapped decoder may have drafted; none, if it may have drafted what no call shows."""
    seen = any(len(round_.tokens or ()) > 1 for round_ in observed)
    return [*readings_of(observed), *(() if seen else ((),))]


def _shown_trees(observed: Rounds) -> Callable[[Sequence[int]], CandidateTree]:
    """A draft that proposes, for each prefix, the tree that the decoder showed there; the root alone where it showed none, as
    for a token that comes from the prompt's own pass."""
    trees = {r.prefix: (r.tokens, r.parents) for r in observed}

    def draft(prefix: Sequence[int]) -> CandidateTree:
        tokens, parents = trees[tuple(prefix)]  # a suspect that strays from the prefixes that were seen is ruled out
        return CandidateTree(tokens or (prefix[-1],), parents or (-1,))

    return draft
