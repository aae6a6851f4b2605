"""Judging each request of a case by itself: a session that several share, or prompts that are asked together.

Rule: the law of one request is the law of each. The judge of a single one sees a request's own rounds under the case's limits
and processors, and what it finds is told with the request's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from tree_oracle.checks.check import Judge
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View, tells_rounds
from tree_oracle.record import Case, Finding, Status

Explained = Callable[[View, int, Finding], str]  # the whole view, number of the round there, finding


@dataclass(frozen=True, slots=True)
class _Own:
    """One request's part of a case."""

    number: int
    places: tuple[int, ...]  # of its rounds among all rounds
    view: View


def each_request(view: View, judge: Judge, explained: Explained = lambda *_: "") -> Iterator[Finding]:
    """What the judge of a single request finds in each of them.

    Raises:
        NothingToJudge: none of them holds anything to judge, or the evidence on one is undecided.
    """
    nothing: NothingToJudge | None = None
    judged = False
    for own in _requests(view):
        try:
            for found in judge(own.view):
                yield _told(view, own, found, explained)
            judged = True
        except NothingToJudge as reason:
            nothing = reason
    if nothing is not None and (not judged or nothing.status is Status.UNDECIDED):
        raise nothing


def _requests(view: View) -> Iterator[_Own]:
    rules = view.case.limits, view.case.processors
    for number in sorted({round_.request for round_ in view.rounds}):
        places = tuple(place for place, round_ in enumerate(view.rounds) if round_.request == number)
        rounds = tuple(view.rounds[place] for place in places)
        prompt, trees = rounds[0].prefix or (), view.case.batch[number].trees
        case = Case(prefix=prompt, trees=trees, limits=rules[0], processors=rules[1])
        yield _Own(number, places, replace(view, case=case, rounds=rounds))


def _told(view: View, own: _Own, found: Finding, explained: Explained) -> Finding:
    place = own.places[found.round or 0]
    why = explained(view, place, found) if found.status is Status.FAILED else ""
    where = f", in its round {found.round or 0}" if tells_rounds(own.view.rounds) else ""
    whose = f"request {own.number} of {len(view.case.batch)}{where}"
    sentence = f"{whose}: {found.sentence}{why and f'; {why}'}"
    return msgspec.structs.replace(found, sentence=sentence, round=place)
