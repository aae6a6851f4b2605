"""What can come of rounds, each told from a case and the rounds that came of it: the coverage ledger of a run.

A check that never saw a request leave has not passed on it. So every outcome that a known class of fault waits for has a
predicate here, and the scenes that are made to bring it about. The answer is

    True    it came about
    False   it could have been seen in rounds like these, and did not
    None    these rounds do not show it, or the case does not ask for it

An outcome is *due* once one of its scenes was judged and answered ``False`` or ``True``; if it is due and never came about, the
run is no pass (``record.report``). A decoder that refuses trees is never asked for a later child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tree_oracle.checks.due import ending, stops
from tree_oracle.checks.view import branch, branches, by_request, text_of
from tree_oracle.record import Case, EndReason, Round

Rounds = Sequence[Round]
Told = Callable[[Case, Rounds], bool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the ledger."""

    name: str
    scenes: tuple[str, ...]  # made to bring it about
    told: Told


OUTCOMES: dict[str, Outcome] = {}

WINDOW_EDGE = "tree across the window edge"  # the one outcome that depends on the target
Edge = tuple[int, bool]  # number of positions, and whether they are a chunk: every so many, not the first so many


def outcomes_of(case: Case, rounds: Rounds, edges: Sequence[Edge] = ()) -> dict[str, bool]:
    """Every outcome that these rounds can tell of, and whether it came about; ``edges`` of the target's windows and chunks."""
    told = {name: outcome.told(case, rounds) for name, outcome in OUTCOMES.items()}
    told[WINDOW_EDGE] = _across(rounds, edges)
    return {name: found for name, found in told.items() if found is not None}


def outcome(name: str, *scenes: str) -> Callable[[Told], Told]:
    """Register what tells whether an outcome came about, and the scenes that are made for it."""

    def register(told: Told) -> Told:
        assert name not in OUTCOMES, f"outcome {name} is defined twice"
        OUTCOMES[name] = Outcome(name, scenes, told)
        return told

    return register


@outcome(WINDOW_EDGE, "trees", "rounds")
def _no_edge(case: Case, rounds: Rounds) -> bool | None:
    """Of a case alone nothing can be said."""
    return None


def _across(rounds: Rounds, edges: Sequence[Edge]) -> bool | None:
    """Whether the root and a node below it lie on two sides of an edge, where a slot is not its depth."""
    blocks = [(r.prefix, r.parents) for r in rounds if r.prefix and r.parents and branches(r)]
    if not edges or not blocks:
        return None
    spans = [
        (len(p) - 1, len(p) - 1 + max(len(branch(links, v)) - 1 for v in range(len(links)))) for p, links in blocks
    ]
    sides = [(first // size, last // size, chunk) for first, last in spans for size, chunk in edges]
    return any(first != last if chunk else first == 0 < last for first, last, chunk in sides)


def any_of(answers: Iterator[bool]) -> bool | None:
    """Whether any is true; None if nobody was asked."""
    found = list(answers)
    return any(found) if found else None


def _decided(rounds: Rounds, *, siblings: bool = False) -> Iterator[tuple[Round, tuple[int, ...], tuple[int, ...]]]:
    """Rounds that show a draft and what was accepted of it, with parents and accepted nodes."""
    for round_ in rounds:
        parents, accepted = round_.parents, round_.accepted
        if parents is None or accepted is None or len(parents) < 2:
            continue
        if not siblings or branches(round_):
            yield round_, parents, accepted


def _why(case: Case, rounds: Rounds) -> EndReason | None:
    """What ends the text of a single request, by the limits: a decoder may not say."""
    due = ending(text_of(rounds), case.limits, len(case.prefix)) if case.limits is not None else None
    return due[1] if due is not None else None


# ----------------------------------------------------------------------------------------------------- one round's path


@outcome("whole draft rejected", "rounds")
def _rejected(case: Case, rounds: Rounds) -> bool | None:
    return any_of(not accepted for _, _, accepted in _decided(rounds))


@outcome("one node accepted", "rounds")
def _one(case: Case, rounds: Rounds) -> bool | None:
    return any_of(len(accepted) == 1 for _, _, accepted in _decided(rounds))


@outcome("path accepted down to a leaf", "rounds")
def _whole(case: Case, rounds: Rounds) -> bool | None:
    return any_of(bool(accepted) and accepted[-1] not in parents for _, parents, accepted in _decided(rounds))


@outcome("leaf accepted above the deepest", "rounds")
def _short_leaf(case: Case, rounds: Rounds) -> bool | None:
    def above(parents: tuple[int, ...], accepted: tuple[int, ...]) -> bool:
        deepest = max(len(branch(parents, node)) for node in range(len(parents))) - 1
        return bool(accepted) and accepted[-1] not in parents and len(accepted) < deepest

    return any_of(above(parents, accepted) for _, parents, accepted in _decided(rounds, siblings=True))


@outcome("later child accepted", "rounds")
def _later_child(case: Case, rounds: Rounds) -> bool | None:
    found = _decided(rounds, siblings=True)
    return any_of(any(parents.index(parents[v]) < v for v in accepted) for _, parents, accepted in found)


@outcome("node of another depth before an accepted one", "rounds")
def _other_depth(case: Case, rounds: Rounds) -> bool | None:
    def before(parents: tuple[int, ...], accepted: tuple[int, ...]) -> bool:
        depths = [len(branch(parents, node)) for node in range(len(parents))]
        others = set(range(1, len(parents))) - set(accepted)
        return any(other < node and depths[other] != depths[node] for node in accepted for other in others)

    return any_of(before(parents, accepted) for _, parents, accepted in _decided(rounds, siblings=True))


@outcome("accepted slots scattered", "rounds")
def _scattered(case: Case, rounds: Rounds) -> bool | None:
    found = _decided(rounds, siblings=True)
    return any_of(accepted != tuple(range(1, len(accepted) + 1)) for _, _, accepted in found)


@outcome("kept slot equal to a later rank", "rounds")
def _overlapping(case: Case, rounds: Rounds) -> bool | None:
    def overlaps(accepted: tuple[int, ...]) -> bool:
        return any(rank < slot <= len(accepted) for rank, slot in enumerate(accepted, 1))

    return any_of(overlaps(accepted) for _, _, accepted in _decided(rounds, siblings=True))


@outcome("tie on the path", "ties")
def _tie(case: Case, rounds: Rounds) -> bool | None:
    if case.rows is None:
        return None
    rows = np.asarray(case.rows.numpy())
    tied = (rows == rows.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return any_of(any(tied[v] for v in (0, *accepted)) for _, _, accepted in _decided(rounds))


@outcome("near tie between siblings", "near")
def _near(case: Case, rounds: Rounds) -> bool | None:
    def drafted(round_: Round, parents: tuple[int, ...], node: int) -> bool:
        assert round_.rows is not None and round_.tokens is not None
        best = np.argsort(np.asarray(round_.rows.numpy())[node])[-2:].tolist()
        return set(best) <= {round_.tokens[v] for v, parent in enumerate(parents) if parent == node}

    if case.rows is not None or case.batch:
        return None
    found = [one for one in _decided(rounds, siblings=True) if one[0].rows is not None and one[0].tokens is not None]
    return any_of(any(drafted(r, parents, v) for v in (0, *path)) for r, parents, path in found)


# --------------------------------------------------------------------------------------------------------- a whole text


@outcome("round after a commit", "rounds")
def _second(case: Case, rounds: Rounds) -> bool | None:
    return any_of(len(text) > 1 for text in by_request(rounds)) if case.trees or case.batch else None


@outcome("end token before the end of a path", "ends")
def _end_inside(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.eos_ids:
        return None
    eos = case.limits.eos_ids
    found = _decided(rounds)
    return any_of(bool(r.emitted) and r.emitted[-1] in eos and len(r.emitted) <= len(path) for r, _, path in found)


@outcome("cap inside a round", "ends")
def _cap_inside(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or _why(case, rounds) not in (EndReason.CAP, EndReason.CONTEXT):
        return None
    return any_of(len(round_.emitted) <= len(accepted) for round_, _, accepted in _decided(rounds[-1:]))


@outcome("end of the context", "ends")
def _context(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or case.limits.max_length is None:
        return None
    return _why(case, rounds) is EndReason.CONTEXT


@outcome("end token and cap in the same token", "ends")
def _both(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.eos_ids or not case.trees:
        return None
    text = text_of(rounds)
    return 0 < len(text) == case.limits.max_new_tokens and text[-1] in case.limits.eos_ids


@outcome("stop sequence across rounds", "stops")
def _stop_across(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or all(len(sequence) < 2 for sequence in case.limits.stop) or len(rounds) < 2:
        return None
    if _why(case, rounds) is not EndReason.STOP:
        return False
    text = text_of(rounds)
    first = len(text) - len(rounds[-1].emitted)
    return any(count - len(found) < first < count for count, found in stops(text, case.limits)[:1])
