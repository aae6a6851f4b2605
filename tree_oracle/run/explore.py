"""Judging the cases of one check and one source up to the first failure, and looking for a smaller one that fails too.

The cases of a run stand in no order of size, so those that are smaller than the first failure are judged from the smallest up,
as far as half of the budget goes: the first that fails is the smallest of them. Then Hypothesis shrinks. What counts as smaller
is ``record.size_of``.

Every outcome is kept by the identity of its case, so nothing is judged twice for the same input and the last replay that
Hypothesis makes agrees with what was seen before. Once the budget for shrinking is spent the smallest failure found so far
stands, however slow the decoder is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from tree_oracle.record import Case, Status, case_id, size_of
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.stock import search

if TYPE_CHECKING:
    from tree_oracle.run.recurs import Recurrence

AGAINST = (Status.FAILED, Status.ERROR)

# Cases that Hypothesis may try until it meets a failure of its own to shrink; listed failures are small already.
_SEARCHED = 100


class _Interesting(Exception):
    """Tells Hypothesis that a case is worth shrinking."""


class _Enough(BaseException):
    """Ends the search: not an ``Exception``, so Hypothesis lets it through at once."""


@dataclass(slots=True)
class Exploration:
    """All cases of one check and one source."""

    judge: Callable[[Case], Outcome]
    outcomes: list[Outcome] = field(default_factory=list)  # in the order of the cases, shrinking excluded
    failed_at: int | None = None  # number of the first case that failed, from 1
    worst_case: tuple[Case, Outcome] | None = None
    recurrence: Recurrence | None = None  # of that failure on a new decoder
    _seen: dict[str, Outcome] = field(default_factory=dict)

    def run(self, cases: Iterable[Case]) -> None:
        """Judge the cases in order, up to the first that fails."""
        for case in cases:
            outcome = self._outcome(case)
            self.outcomes.append(outcome)
            if outcome.status in AGAINST:
                self.failed_at, self.worst_case = len(self.outcomes), (case, outcome)
                return

    def shrink(
        self, strategy: st.SearchStrategy[Case], *, runs: int, seed: int | None, known: Iterable[Case] = ()
    ) -> None:
        """Look for a smaller case that fails in the same way, among those that are ``known`` first, judging at most ``runs``
        new ones."""
        if self.worst_case is None or runs <= 0:
            return
        limit = len(self._seen) + runs
        self._descend(known, limit - (runs + 1) // 2)

        def visit(case: Case) -> None:
            if case_id(case) not in self._seen and len(self._seen) >= limit:
                raise _Enough
            if self._is_as_bad(case):
                raise _Interesting

        # The smallest failure is noted on the way. Of a flaky one Hypothesis complains, and it stands.
        with suppress(_Interesting, _Enough, HypothesisException, BaseExceptionGroup):
            search(strategy, visit, cases=_SEARCHED, seed=seed, shrink=True)

    def _descend(self, known: Iterable[Case], limit: int) -> None:
        """Judge the smaller ones of these cases from the smallest up to the first that fails too."""
        assert self.worst_case is not None
        most = size_of(self.worst_case[0])
        for case in sorted((case for case in known if size_of(case) < most), key=size_of):
            if case_id(case) not in self._seen and len(self._seen) >= limit:
                return
            if self._is_as_bad(case):
                return

    def _is_as_bad(self, case: Case) -> bool:
        assert self.worst_case is not None
        outcome = self._outcome(case)
        if outcome.status is not self.worst_case[1].status:
            return False
        if size_of(case) < size_of(self.worst_case[0]):
            self.worst_case = (case, outcome)
        return True

    def _outcome(self, case: Case) -> Outcome:
        name = case_id(case)
        if name not in self._seen:
            outcome = self.judge(case)
            # Rounds hold arrays; only a failure is looked at again.
            self._seen[name] = outcome if outcome.status in AGAINST else replace(outcome, rounds=())
        return self._seen[name]
