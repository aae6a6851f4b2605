"""The outcomes of processors that apply per path, and of a minimum length: see ``outcomes``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tree_oracle.checks.outcomes import Rounds, any_of, outcome
from tree_oracle.checks.view import text_of
from tree_oracle.record import Array, Case, Limits, Round


def _followed(rounds: Rounds) -> Iterator[tuple[Round, list[int]]]:
    """Rounds that show rows and a path, with the nodes whose rows chose the emitted tokens."""
    for round_ in rounds:
        if round_.rows is not None and round_.accepted is not None:
            yield round_, [0, *round_.accepted][: len(round_.emitted)]


def _choices(rows: Array | None, nodes: list[int]) -> list[int]:
    assert rows is not None
    return np.asarray(rows.numpy())[nodes].argmax(axis=1).tolist() if nodes else []


@outcome("accepted token that only a processed row chooses", "paths")
def _reshaped(case: Case, rounds: Rounds) -> bool | None:
    if case.processors is None or not case.trees:
        return None
    found = [(r, nodes[:-1]) for r, nodes in _followed(rounds) if r.processed is not None and len(nodes) > 1]
    return any_of(_choices(r.rows, nodes) != _choices(r.processed, nodes) for r, nodes in found)


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
    for round_, nodes in _followed(rounds):
        for place, choice in enumerate(_choices(round_.rows, nodes), before):
            if place < limits.min_new:
                yield choice in limits.eos_ids
        before += len(round_.emitted)


@outcome("end token in the round that reaches the minimum", "minimums")
def _just_reached(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.min_new or not case.trees or not rounds:
        return None
    text = text_of(rounds)
    before = len(text) - len(rounds[-1].emitted)
    return before < case.limits.min_new < len(text) and text[-1] in case.limits.eos_ids
