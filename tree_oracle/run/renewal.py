"""New decoders of the one under test, and how they are asked what it was asked."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tree_oracle.checks import Check, Source
from tree_oracle.checks.guard import call
from tree_oracle.decoder import Seam, watched_by
from tree_oracle.record import Case, Earlier, UsageError
from tree_oracle.run.driver import Driver
from tree_oracle.run.outcome import Outcome, outcome_of
from tree_oracle.run.recurs import NewDecoder, Recurrence, recurrence
from tree_oracle.run.subject import Subject
from tree_oracle.run.supervision import Supervision
from tree_oracle.target import SequentialTruth

_MOST_WEIGHTS = 50_000_000  # parameters that are copied for every new decoder: 200 MB in float32


class Renewal:
    """Asks a new decoder what the one under test failed on."""

    def __init__(self, subject: Subject, supervision: Supervision) -> None:
        self._subject, self._supervision = subject, supervision

    def recurrence(
        self, check: Check, source: Source, case: Case, history: Sequence[Earlier], runs: int
    ) -> Recurrence | None:
        """Whether a new decoder fails on the case too, alone or after what came before it; None: that cannot be told.

        ``runs``: how many earlier requests may be driven.
        """
        make, subject = self.maker(), self._subject
        if make is None:
            return None

        def retry(decoder: Any, model: Any, earlier: Sequence[Earlier]) -> Outcome:
            driver = driver_of(subject, decoder, model)
            self.ask(source, driver, earlier)
            with self._supervision.watch(source, case):
                rounds, tapped = partial(driver.rounds, source.seam), source.seam is Seam.TAP
                return outcome_of(check, case, subject.truth, rounds, *subject.declared, recovered=tapped)

        return recurrence(make, retry, history, runs)

    def ask(self, source: Source, driver: Driver, earlier: Iterable[Earlier]) -> None:
        """Have a decoder answer what nobody judges.

        Raises:
            UsageError: a request is to come through a method that the decoder does not have, so what followed it cannot be
                seen again.
        """
        for one in earlier:
            if Seam(one.seam) not in self._subject.seams:
                raise UsageError(
                    f"an earlier request of this case came through {one.seam}, and the decoder does not offer it; "
                    f"it offers {', '.join(sorted(seam.value for seam in self._subject.seams)) or 'none'}"
                )
            place = Source(Seam(one.seam), source.scene)
            with self._supervision.watch(place, one.case):
                driver.ask(place.seam, one.case)

    def maker(self) -> NewDecoder | None:
        """What makes a new decoder and its model, a copy of the truth's, which none has had in hand; None where nobody can."""
        truth, factory, target = self._subject.truth, self._subject.factory, self._subject.target
        if factory is None or not isinstance(truth, SequentialTruth) or truth.target.spec != target.spec:
            return None
        pristine = truth.target.model
        if sum(parameter.numel() for parameter in pristine.parameters()) > _MOST_WEIGHTS:
            return None

        def make() -> tuple[Any, Any]:
            own = replace(target, model=copy.deepcopy(pristine))
            made = call("the factory", factory, own)
            return made, watched_by(made, own.model)

        return make


def driver_of(subject: Subject, decoder: Any, model: Any, given: Any = None) -> Driver:
    """What drives a decoder of the subject's kind, which runs ``model``; ``given``: the one that it was given, if another."""
    return Driver(decoder, subject.truth.vocab_size, exact=subject.truth.exact, model=model, given=given)
