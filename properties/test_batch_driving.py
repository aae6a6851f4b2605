"""A session of several requests is driven as its case says, and the rounds are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from grounds import with_methods

from tree_oracle.checks.drive import drive
from tree_oracle.decoder import Seam
from tree_oracle.record import AdapterError, Case, Limits, RequestData, Round, TreeData, Unsupported, UsageError
from tree_oracle.tree import CandidateTree

ROOT, PAIR = TreeData((0,), (-1,)), TreeData((0, 5), (-1, 0))
VOCAB = 61


class Counting:
    """A session whose every round emits one token more than the root, and which writes down what it is told."""

    def __init__(self, ends: int | None = None) -> None:
        self.log: list[Any] = []
        self._ends = ends  # a request whose token this is has ended

    def step(self, trees: list[CandidateTree]) -> list[dict[str, Any]]:
        roots = [int(tree.tokens[0]) for tree in trees]
        self.log.append(("step", roots, [len(tree) for tree in trees]))
        return [{"emitted": [root + 1], "end": "eos" if root + 1 == self._ends else None} for root in roots]

    def admit(self, prompts: list[list[int]]) -> None:
        self.log.append(("admit", prompts))

    def drop(self, places: list[int]) -> None:
        self.log.append(("drop", places))


def driven(session: Any, *requests: RequestData, limits: Limits | None = None) -> tuple[Round, ...]:
    opened: list[Any] = []

    def open_(prompts: list[list[int]], given: Limits) -> Any:
        opened.append(prompts)
        return session

    rounds = drive(with_methods(open=open_), Seam.SESSION, Case(prefix=(), batch=requests, limits=limits), VOCAB)
    assert opened == [[list(request.prompt) for request in requests if request.joins == 0]]
    return rounds


def test_requests_come_and_go_as_the_case_says() -> None:
    """Before each step those whose trees are used up are dropped by their place, then those that join are admitted."""
    session = Counting()
    rounds = driven(
        session,
        RequestData(prompt=(1, 10), trees=(PAIR,)),
        RequestData(prompt=(20,), trees=(ROOT, PAIR, ROOT)),
        RequestData(prompt=(30,), trees=(PAIR,), joins=1),
        RequestData(trees=(ROOT,), joins=2, resumes=0),
    )
    assert session.log == [
        ("step", [10, 20], [2, 1]),
        ("drop", [0]),
        ("admit", [[30]]),
        ("step", [21, 30], [2, 2]),
        ("drop", [1]),
        ("admit", [[1, 10, 11]]),
        ("step", [22, 11], [1, 1]),
    ]
    assert [(r.request, r.prefix, r.emitted) for r in rounds] == [
        (0, (1, 10), (11,)),
        (1, (20,), (21,)),
        (1, (20, 21), (22,)),
        (2, (30,), (31,)),
        (1, (20, 21, 22), (23,)),
        (3, (1, 10, 11), (12,)),
    ]


def test_what_has_ended_is_neither_dropped_nor_resumed() -> None:
    """A request whose round names an end has left; its place is closed, and nothing goes on with its text."""
    session = Counting(ends=11)
    rounds = driven(
        session,
        RequestData(prompt=(10,), trees=(PAIR, PAIR)),
        RequestData(prompt=(20,), trees=(PAIR, PAIR)),
        RequestData(prompt=(30,), trees=(PAIR, PAIR, PAIR)),
        RequestData(trees=(PAIR,), joins=2, resumes=0),
    )
    assert session.log == [
        ("step", [10, 20, 30], [2, 2, 2]),
        ("step", [21, 31], [2, 2]),
        ("drop", [0]),
        ("step", [32], [2]),
    ]
    assert {r.request for r in rounds} == {0, 1, 2}


def test_a_session_waits_while_nobody_is_in_it() -> None:
    """Where everybody has left before somebody joins, no step is asked for in between."""
    session = Counting()
    driven(session, RequestData(prompt=(10,), trees=(ROOT,)), RequestData(prompt=(20,), trees=(ROOT,), joins=3))
    assert session.log == [("step", [10], [1]), ("drop", [0]), ("admit", [[20]]), ("step", [20], [1])]


@pytest.mark.parametrize("lacks", ["admit", "drop"])
def test_a_session_without_a_method_refuses_only_what_needs_it(lacks: str) -> None:
    """Without ``admit`` or ``drop`` the cases that need it are refused by name; requests that stay together are driven."""
    session = Counting()
    methods = {name: getattr(session, name) for name in ("step", "admit", "drop") if name != lacks}
    together = [RequestData(prompt=(token,), trees=(PAIR, ROOT)) for token in (10, 20)]
    assert len(driven(with_methods(**methods), *together)) == 4
    with pytest.raises(Unsupported, match=f"the session has no method {lacks}"):
        driven(
            with_methods(**methods),
            RequestData(prompt=(10,), trees=(PAIR, PAIR) if lacks == "admit" else (PAIR,)),
            RequestData(prompt=(20,), trees=(PAIR, PAIR)),
            *([RequestData(prompt=(30,), trees=(PAIR,), joins=1)] if lacks == "admit" else []),
        )


def test_an_answer_for_another_number_of_requests_is_the_adapters_fault() -> None:
    """One round for two requests, or one cache for two, is not guessed at."""
    two = [RequestData(prompt=(token,), trees=(ROOT,)) for token in (10, 20)]
    with pytest.raises(AdapterError, match=r"step is .*; expected a list with 2 entries, one per request"):
        driven(with_methods(step=lambda trees: [{"emitted": [1]}]), *two)
    session = Counting()
    with pytest.raises(AdapterError, match=r"cache is .*; expected a list with 2 entries, one per request"):
        driven(with_methods(step=session.step, cache=lambda: [[]]), *two)


def request(**fields: Any) -> Callable[..., RequestData]:
    return lambda: RequestData(**{"trees": (ROOT,), "prompt": (1,)} | fields)


WRONG = {
    "nobody at first": ([request(joins=1)], "no request is there when the session opens"),
    "out of order": ([request(), request(joins=2), request(joins=1)], "request 2 joins before request 1"),
    "without a tree": ([request(), request(trees=())], "request 1 has no tree"),
    "resumed too soon": ([request(trees=(ROOT, ROOT)), request(joins=1, resumes=0)], "request 1 resumes request 0"),
    "resumes itself": ([request(), request(joins=1, resumes=1)], "request 1 resumes request 1"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_case_that_is_no_session_is_refused(what: str) -> None:
    """A case file may hold anything; what cannot be driven is named."""
    requests, message = WRONG[what]
    with pytest.raises(UsageError, match=message):
        drive(with_methods(), Seam.SESSION, Case(prefix=(), batch=tuple(make() for make in requests)), VOCAB)
