"""The outcomes of processors that apply per path, and of a minimum length: see ``outcomes``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.outcomes import Rounds, any_of, outcome
from tree_oracle.record import Case, Limits, Round


def _followed(rounds: Rounds, name: str) -> Iterator[tuple[Round, list[int], np.ndarray, np.ndarray]]:
    """Rounds that show rows and, under this name, more rows, with the nodes whose rows chose the emitted tokens."""
    for round_ in rounds:
        raw, more = round_.rows, getattr(round_, name)
        if raw is not None and more is not None and round_.accepted is not None:
            nodes = [0, *round_.accepted][: len(round_.emitted)]
            yield round_, nodes, np.asarray(raw.numpy()), np.asarray(more.numpy())


@outcome("accepted token that only a processed row chooses", "paths")
def _reshaped(case: Case, rounds: Rounds) -> bool | None:
    if case.processors is None or not case.trees:
        return None
    found = [(raw[nodes[:-1]], own[nodes[:-1]]) for _, nodes, raw, own in _followed(rounds, "processed")]
    return any_of(bool((raw.argmax(axis=1) != own.argmax(axis=1)).any()) for raw, own in found if len(raw))


@outcome("several tokens counted before another round", "paths")
def _counted(case: Case, rounds: Rounds) -> bool | None:
    if case.processors is None or not case.trees:
        return None
    return any_of(len(round_.emitted) > 1 for round_ in rounds[:-1])


@outcome("end token ruled out by the minimum", "minimums")
def _ruled_out(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.min_new or not case.trees:
        return None
    return any_of(_early(case.limits, rounds))


def _early(limits: Limits, rounds: Rounds) -> Iterator[bool]:
    """Of every row by which a token before the minimum was chosen, whether an end token is its largest."""
    before = 0
    for round_, nodes, raw, _ in _followed(rounds, "rows"):
        for place, node in enumerate(nodes, before):
            if place < limits.min_new:
                yield int(raw[node].argmax()) in limits.eos_ids
        before += len(round_.emitted)


@outcome("end token in the round that reaches the minimum", "minimums")
def _just_reached(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.min_new or not case.trees or not rounds:
        return None
    text = [token for round_ in rounds for token in round_.emitted]
    before = len(text) - len(rounds[-1].emitted)
    return before < case.limits.min_new < len(text) and text[-1] in case.limits.eos_ids
