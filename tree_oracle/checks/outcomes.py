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
from tree_oracle.checks.view import branch
from tree_oracle.record import Case, EndReason, Limits, Round

Rounds = Sequence[Round]
Told = Callable[[Case, Rounds], bool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the ledger."""

    name: str
    scenes: tuple[str, ...]  # made to bring it about
    told: Told


OUTCOMES: dict[str, Outcome] = {}


def outcomes_of(case: Case, rounds: Rounds) -> dict[str, bool]:
    """Every outcome that these rounds can tell of, and whether it came about."""
    told = {name: outcome.told(case, rounds) for name, outcome in OUTCOMES.items()}
    return {name: found for name, found in told.items() if found is not None}


def _outcome(name: str, *scenes: str) -> Callable[[Told], Told]:
    def register(told: Told) -> Told:
        OUTCOMES[name] = Outcome(name, scenes, told)
        return told

    return register


def _any(answers: Iterator[bool]) -> bool | None:
    """Whether any is true; None if nobody was asked."""
    found = list(answers)
    return any(found) if found else None


def _decided(rounds: Rounds, *, siblings: bool = False) -> Iterator[tuple[Round, tuple[int, ...], tuple[int, ...]]]:
    """Rounds that show a draft and what was accepted of it, with parents and accepted nodes."""
    for round_ in rounds:
        parents, accepted = round_.parents, round_.accepted
        if parents is None or accepted is None or len(parents) < 2:
            continue
        if not siblings or len(set(parents)) < len(parents):
            yield round_, parents, accepted


def _texts(rounds: Rounds) -> Iterator[list[Round]]:
    """The rounds of each request."""
    for number in sorted({round_.request for round_ in rounds}):
        yield [round_ for round_ in rounds if round_.request == number]


def _emitted(rounds: Rounds) -> tuple[int, ...]:
    return tuple(token for round_ in rounds for token in round_.emitted)


def _why(case: Case, rounds: Rounds) -> EndReason | None:
    """What ends the text of a single request, by the limits: a decoder may not say."""
    due = ending(_emitted(rounds), case.limits, len(case.prefix)) if case.limits is not None else None
    return due[1] if due is not None else None


def _steps(rounds: Rounds) -> list[list[Round]]:
    """The rounds of each step of a session."""
    steps: list[list[Round]] = []
    for round_ in rounds:
        if not steps or round_.request <= steps[-1][-1].request:
            steps.append([])
        steps[-1].append(round_)
    return steps


# ----------------------------------------------------------------------------------------------------- one round's path


@_outcome("whole draft rejected", "rounds")
def _rejected(case: Case, rounds: Rounds) -> bool | None:
    return _any(not accepted for _, _, accepted in _decided(rounds))


@_outcome("path accepted down to a leaf", "rounds")
def _whole(case: Case, rounds: Rounds) -> bool | None:
    return _any(bool(accepted) and accepted[-1] not in parents for _, parents, accepted in _decided(rounds))


@_outcome("leaf accepted above the deepest", "rounds")
def _short_leaf(case: Case, rounds: Rounds) -> bool | None:
    def above(parents: tuple[int, ...], accepted: tuple[int, ...]) -> bool:
        deepest = max(len(branch(parents, node)) for node in range(len(parents))) - 1
        return bool(accepted) and accepted[-1] not in parents and len(accepted) < deepest

    return _any(above(parents, accepted) for _, parents, accepted in _decided(rounds, siblings=True))


@_outcome("later child accepted", "rounds")
def _later_child(case: Case, rounds: Rounds) -> bool | None:
    found = _decided(rounds, siblings=True)
    return _any(any(parents.index(parents[v]) < v for v in accepted) for _, parents, accepted in found)


@_outcome("accepted slots scattered", "rounds")
def _scattered(case: Case, rounds: Rounds) -> bool | None:
    found = _decided(rounds, siblings=True)
    return _any(accepted != tuple(range(1, len(accepted) + 1)) for _, _, accepted in found)


@_outcome("kept slot equal to a later rank", "rounds")
def _overlapping(case: Case, rounds: Rounds) -> bool | None:
    def overlaps(accepted: tuple[int, ...]) -> bool:
        return any(rank < slot <= len(accepted) for rank, slot in enumerate(accepted, 1))

    return _any(overlaps(accepted) for _, _, accepted in _decided(rounds, siblings=True))


@_outcome("tie on the path", "ties")
def _tie(case: Case, rounds: Rounds) -> bool | None:
    if case.rows is None:
        return None
    rows = np.asarray(case.rows.numpy())
    tied = (rows == rows.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return _any(any(tied[v] for v in (0, *accepted)) for _, _, accepted in _decided(rounds))


# --------------------------------------------------------------------------------------------------------- a whole text


@_outcome("round after a commit", "rounds")
def _second(case: Case, rounds: Rounds) -> bool | None:
    return _any(len(text) > 1 for text in _texts(rounds)) if case.trees or case.batch else None


@_outcome("end token before the end of a path", "ends")
def _end_inside(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.eos_ids:
        return None
    eos = case.limits.eos_ids
    found = _decided(rounds)
    return _any(bool(r.emitted) and r.emitted[-1] in eos and len(r.emitted) <= len(path) for r, _, path in found)


@_outcome("cap inside a round", "ends")
def _cap_inside(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or _why(case, rounds) not in (EndReason.CAP, EndReason.CONTEXT):
        return None
    return _any(len(round_.emitted) <= len(accepted) for round_, _, accepted in _decided(rounds[-1:]))


@_outcome("end of the context", "ends")
def _context(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or case.limits.max_length is None:
        return None
    return _why(case, rounds) is EndReason.CONTEXT


@_outcome("end token and cap in the same token", "ends")
def _both(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.eos_ids or not case.trees:
        return None
    text = _emitted(rounds)
    return 0 < len(text) == case.limits.max_new_tokens and text[-1] in case.limits.eos_ids


@_outcome("stop sequence across rounds", "stops")
def _across(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or all(len(sequence) < 2 for sequence in case.limits.stop) or len(rounds) < 2:
        return None
    if _why(case, rounds) is not EndReason.STOP:
        return False
    text = _emitted(rounds)
    first = len(text) - len(rounds[-1].emitted)
    return any(count - len(found) < first < count for count, found in stops(text, case.limits)[:1])


# ----------------------------------------------------------------------------------------------- a history of its own


def _followed(rounds: Rounds, name: str) -> Iterator[tuple[Round, list[int], np.ndarray, np.ndarray]]:
    """Rounds that show rows and, under this name, more rows, with the nodes whose rows chose the emitted tokens."""
    for round_ in rounds:
        raw, more = round_.rows, getattr(round_, name)
        if raw is not None and more is not None and round_.accepted is not None:
            nodes = [0, *round_.accepted][: len(round_.emitted)]
            yield round_, nodes, np.asarray(raw.numpy()), np.asarray(more.numpy())


@_outcome("accepted token that only a processed row chooses", "paths")
def _reshaped(case: Case, rounds: Rounds) -> bool | None:
    if case.processors is None or not case.trees:
        return None
    found = [(raw[nodes[:-1]], own[nodes[:-1]]) for _, nodes, raw, own in _followed(rounds, "processed")]
    return _any(bool((raw.argmax(axis=1) != own.argmax(axis=1)).any()) for raw, own in found if len(raw))


@_outcome("several tokens counted before another round", "paths")
def _counted(case: Case, rounds: Rounds) -> bool | None:
    if case.processors is None or not case.trees:
        return None
    return _any(len(round_.emitted) > 1 for round_ in rounds[:-1])


@_outcome("end token ruled out by the minimum", "minimums")
def _ruled_out(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.min_new or not case.trees:
        return None
    return _any(_early(case.limits, rounds))


def _early(limits: Limits, rounds: Rounds) -> Iterator[bool]:
    """Of every row by which a token before the minimum was chosen, whether an end token is its largest."""
    before = 0
    for round_, nodes, raw, _ in _followed(rounds, "rows"):
        for place, node in enumerate(nodes, before):
            if place < limits.min_new:
                yield int(raw[node].argmax()) in limits.eos_ids
        before += len(round_.emitted)


@_outcome("end token in the round that reaches the minimum", "minimums")
def _just_reached(case: Case, rounds: Rounds) -> bool | None:
    if case.limits is None or not case.limits.min_new or not case.trees or not rounds:
        return None
    text = _emitted(rounds)
    before = len(text) - len(rounds[-1].emitted)
    return before < case.limits.min_new < len(text) and text[-1] in case.limits.eos_ids


# --------------------------------------------------------------------------------------------------- several requests


@_outcome("unequal acceptance in one step", "batches")
def _unequal(case: Case, rounds: Rounds) -> bool | None:
    steps = [[len(r.accepted) for r in step if r.accepted is not None] for step in _steps(rounds)]
    return _any(len(set(step)) > 1 for step in steps if len(step) > 1) if case.batch else None


@_outcome("request without a draft beside others", "batches")
def _no_draft(case: Case, rounds: Rounds) -> bool | None:
    widths = [{min(len(r.tokens or ()), 2) for r in step} for step in _steps(rounds)]
    return _any(width == {1, 2} for width in widths) if case.batch else None


@_outcome("step without any draft after one with drafts", "batches")
def _plain_step(case: Case, rounds: Rounds) -> bool | None:
    widths = [max(len(r.tokens or ()) for r in step) for step in _steps(rounds)]
    return _any(a > 1 == b for a, b in zip(widths, widths[1:], strict=False)) if case.batch else None


@_outcome("smaller trees after larger ones", "batches")
def _smaller(case: Case, rounds: Rounds) -> bool | None:
    widths = [max(len(r.tokens or ()) for r in step) for step in _steps(rounds)]
    return _any(a > b > 1 for a, b in zip(widths, widths[1:], strict=False)) if case.batch else None


@_outcome("request that ends while others go on", "batches")
def _ends(case: Case, rounds: Rounds) -> bool | None:
    if not case.batch or all(round_.end is None for round_ in rounds):
        return None
    return _any(any(r.end is not None for r in step) for step in _steps(rounds)[:-1])


@_outcome("request that is dropped while others go on", "batches")
def _dropped(case: Case, rounds: Rounds) -> bool | None:
    if len({request.joins + len(request.trees) for request in case.batch}) < 2:
        return None
    return _any(_leaves(step, later) for step, later in zip(_steps(rounds), _steps(rounds)[1:], strict=False))


def _leaves(step: Rounds, later: Rounds) -> bool:
    return any(r.end is None and r.request not in {other.request for other in later} for r in step)


@_outcome("request that joins others", "batches")
def _joined(case: Case, rounds: Rounds) -> bool | None:
    if all(request.joins == 0 for request in case.batch):
        return None
    steps = _steps(rounds)
    joins = [{r.request for r in b} - {r.request for r in a} for a, b in zip(steps, steps[1:], strict=False)]
    return _any(0 < len(new) < len(step) for new, step in zip(joins, steps[1:], strict=True))


@_outcome("request that goes on after it was dropped", "batches")
def _resumed(case: Case, rounds: Rounds) -> bool | None:
    again = {number for number, request in enumerate(case.batch) if request.resumes is not None}
    return bool(again & {round_.request for round_ in rounds}) if again else None


@_outcome("common prefix of two requests", "batches")
def _common(case: Case, rounds: Rounds) -> bool | None:
    prompts = [text[0].prefix[:2] for text in _texts(rounds) if text[0].prefix and len(text[0].prefix) > 2]
    return len(set(prompts)) < len(prompts) if case.batch else None


# --------------------------------------------------------------------------------------------------------- shared pools


@_outcome("path across a page", "moves")
def _page(case: Case, rounds: Rounds) -> bool | None:
    move = case.move
    if move is None or move.page_size == 1 or not rounds:
        return None
    return move.length // move.page_size < (move.length + len(move.accepted)) // move.page_size


@_outcome("page shared with another request", "moves")
def _shared_page(case: Case, rounds: Rounds) -> bool | None:
    if case.move is None or not case.move.others or not rounds:
        return None
    return any(set(pages) & set(case.move.pages) for pages in case.move.others)
