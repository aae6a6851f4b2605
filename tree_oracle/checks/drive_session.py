"""Driving a session: which requests are in it before each step, and one round per request and step.

A case without a batch is a session of one request. Requests are numbered in the order of admission. Before a step those whose
trees are used up are dropped, then those whose turn it is are admitted; one whose round names an end has left by itself. A
request that resumes another is a new one whose prompt is what the other had come to; where the other ended before it was
dropped there is nothing to resume.

Rounds need not show ``end``. Only where a session refuses a tree for a request whose text the limits had ended, of which its
rounds said nothing, is the case driven again, with such requests taken to have left: so a session that goes on is still seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tree_oracle.checks import answers
from tree_oracle.checks.due import ending
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.handing import ask_with_limits
from tree_oracle.checks.read_round import read_round, without_remains
from tree_oracle.checks.session_requests import refuse_requests
from tree_oracle.checks.view import text_of
from tree_oracle.record import (
    AdapterError,
    Call,
    Case,
    DecoderError,
    LayerRows,
    Limits,
    RequestData,
    Round,
    TreeData,
    Unsupported,
)
from tree_oracle.record import counted as in_words
from tree_oracle.tree import CandidateTree


@dataclass(slots=True)
class _Running:
    """One request as the driver knows it."""

    number: int
    data: RequestData
    prompt: tuple[int, ...]
    rounds: list[Round] = field(default_factory=list)

    @property
    def committed(self) -> tuple[int, ...]:
        return (*self.prompt, *text_of(self.rounds))

    @property
    def says_end(self) -> bool:
        return bool(self.rounds) and self.rounds[-1].end is not None

    def due(self, limits: Limits) -> bool:
        """Whether the limits end its text, said or not."""
        return bool(self.rounds) and ending(text_of(self.rounds), limits, len(self.prompt)) is not None

    @property
    def tree(self) -> TreeData:
        """The next tree, with the root that this decoder has really come to; a right decoder has come to the case's own."""
        tree = self.data.trees[len(self.rounds)]
        return TreeData((self.committed[-1], *tree.tokens[1:]), tree.parents)


def session_rounds(decoder: Any, case: Case, vocab_size: int, model: Any = None) -> tuple[Round, ...]:
    """All rounds of all requests, step by step, within a step in the order of admission.

    ``model`` is the target's: its calls are counted where a step is the round of one request alone.

    Raises:
        AdapterError, DecoderError, Unsupported: as ``drive``; a session that lacks ``admit`` or ``drop`` refuses what needs it.
        UsageError: the case is no session.
    """
    first = _opened(decoder, case, vocab_size, model, limits_end=False)
    try:
        return first.rounds()
    except (AdapterError, DecoderError):
        if not first.someone_is_due:
            raise
    return _opened(decoder, case, vocab_size, model, limits_end=True).rounds()


def refusal_after_an_end(decoder: Any, case: Case, vocab_size: int) -> str | None:
    """What a session says where it is asked to go on behind the end of a text of which its rounds say nothing; empty if it goes
    on, None if a round says that it has ended, or no text does.

    Raises:
        AdapterError, DecoderError, Unsupported: as for ``session_rounds``, before any text has come to its end.
    """
    session = _opened(decoder, case, vocab_size, None, limits_end=False)
    try:
        session.rounds()
    except (AdapterError, DecoderError) as error:
        if not session.someone_is_due:
            raise
        return str(error)
    return "" if session.someone_is_due else None


def _opened(decoder: Any, case: Case, vocab_size: int, model: Any, *, limits_end: bool) -> _Driven:
    requests = case.batch or (RequestData(prompt=case.prefix, trees=case.trees),)
    refuse_requests(requests)
    prompts = [request.prompt for request in requests if request.joins == 0]
    limits = case.limits or Limits(max_new_tokens=1 << 30)
    session = ask_with_limits(decoder, "open", prompts, msgspec.structs.replace(limits), case)
    if not protect("open", lambda: callable(getattr(session, "step", None))):
        raise AdapterError(f"open answered {type(session).__name__}; expected a session, an object with a method step")
    return _Driven(session, requests, vocab_size, model, limits, limits_end=limits_end)


def step_count(requests: Sequence[RequestData]) -> int:
    """How many steps a session has at most."""
    return max(request.joins + len(request.trees) for request in requests)


class _Driven:
    """A session that is being driven."""

    def __init__(
        self,
        session: Any,
        requests: Sequence[RequestData],
        vocab_size: int,
        model: Any,
        limits: Limits,
        *,
        limits_end: bool,
    ) -> None:
        self._session, self._requests, self._vocab_size, self._model = session, requests, vocab_size, model
        self._limits, self._limits_end = limits, limits_end
        self._known = {r: _Running(r, one, one.prompt) for r, one in enumerate(requests) if one.joins == 0}
        self._running = list(self._known.values())
        self._rounds: list[Round] = []

    @property
    def someone_is_due(self) -> bool:
        """Whether a text in the session has come to its end by the limits, of which its rounds say nothing."""
        return any(one.due(self._limits) and not one.says_end for one in self._running)

    def _ended(self, one: _Running) -> bool:
        return one.says_end or (self._limits_end and one.due(self._limits))

    def rounds(self) -> tuple[Round, ...]:
        try:
            for step in range(step_count(self._requests)):
                self._change(step)
                if self._running:
                    self._rounds += self._step()
        except (AdapterError, DecoderError) as error:
            error.args = (f"{error}{self._unsaid}",)
            if isinstance(error, DecoderError):
                error.rounds = tuple(self._rounds)
            raise
        return tuple(self._rounds)

    @property
    def _unsaid(self) -> str:
        """What may be missing where a session breaks down after a text has come to its end in silence."""
        due = [one.number for one in self._known.values() if one.due(self._limits) and not one.says_end]
        if not due:
            return ""
        whose = f"request {due[0]}" if len(self._requests) > 1 else "the text"
        return (
            f"; {whose} had come to its end by the limits and no round said so: show end in that round, "
            "and take no tree for it from the next step on"
        )

    def _change(self, step: int) -> None:
        """Who is in the session before this step."""
        running = [one for one in self._running if not self._ended(one)]
        gone = [place for place, one in enumerate(running) if len(one.rounds) == len(one.data.trees)]
        goes_on = len(gone) < len(running) or any(data.joins >= step for data in self._requests)
        if gone and goes_on:
            self._told("drop", gone)
        self._running = [one for place, one in enumerate(running) if place not in gone]
        new = list(self._joining(step)) if step else []
        if new:
            self._told("admit", [list(one.prompt) for one in new])
            self._known |= {one.number: one for one in new}
            self._running += new

    def _joining(self, step: int) -> Iterator[_Running]:
        for number, data in enumerate(self._requests):
            if data.joins != step:
                continue
            resumed = self._known.get(data.resumes) if data.resumes is not None else None
            if data.resumes is None:
                yield _Running(number, data, data.prompt)
            elif resumed is not None and not self._ended(resumed):
                yield _Running(number, data, resumed.committed)

    def _told(self, method: str, what: Any) -> None:
        if not protect(method, lambda: callable(getattr(self._session, method, None))):
            raise Unsupported(f"the session has no method {method}")
        _ask(self._session, method, what)

    def _step(self) -> list[Round]:
        running = self._running
        with self._counted() as calls:
            answer = _ask(self._session, "step", [CandidateTree.from_data(one.tree) for one in running])
        entries = protect("step", lambda: answers.sequence(answer, "step", len(running)))
        found = [self._read(one, entry) for one, entry in zip(running, entries, strict=True)]
        found = _with_caches(self._session, found)
        if len(found) == 1:
            found = [msgspec.structs.replace(found[0], calls=None if calls is None else tuple(calls))]
        for one, round_ in zip(running, found, strict=True):
            one.rounds.append(round_)
        return found

    def _counted(self) -> AbstractContextManager[list[Call] | None]:
        """The calls of the target while the block runs; None where there is no model to count them at."""
        if self._model is None:
            return nullcontext()
        from tree_oracle.decoder.tap_count import counted  # resolved here, since it loads torch

        return counted(self._model)

    def _read(self, one: _Running, entry: Any) -> Round:
        tree, committed = one.tree, one.committed
        round_ = protect("step", lambda: read_round(entry, committed, tree, self._vocab_size))
        over = self._limits_end and ending(text_of((*one.rounds, round_)), self._limits, len(one.prompt)) is not None
        _refuse_impossible(round_, len(tree.tokens), over=over)
        return msgspec.structs.replace(round_, request=one.number)


def _ask(owner: Any, method: str, *arguments: Any) -> Any:
    """The answer of a method, which may already raise when it is looked up."""
    return call(method, lambda *given: getattr(owner, method)(*given), *arguments)


def _refuse_impossible(round_: Round, nodes: int, *, over: bool) -> None:
    """A round commits the accepted nodes and a bonus: at least one token while nothing ends, at most one per node."""
    if len(round_.emitted) > nodes:
        raise DecoderError(
            f"step emitted {in_words(len(round_.emitted), 'token')} for a tree of {in_words(nodes, 'node')}; "
            f"expected at most {nodes}"
        )
    if not round_.emitted and round_.end is None and not over:
        raise DecoderError("step emitted nothing and named no end; expected at least one token")


def _with_caches(session: Any, rounds: list[Round]) -> list[Round]:
    shows = protect("cache", lambda: callable(getattr(session, "cache", None)))
    if any(round_.cache is not None for round_ in rounds) or not shows:
        return rounds
    try:
        answer = _ask(session, "cache")
    except Unsupported:  # a cache that cannot be cut to one request's rows shows nothing; the round is still a round
        return rounds
    entries = protect("cache", lambda: answers.sequence(answer, "cache", len(rounds)))
    pairs = list(zip(rounds, entries, strict=True))
    held = protect("cache", lambda: [_cache_of(round_, entry) for round_, entry in pairs])
    shown = (msgspec.structs.replace(round_, cache=rows) for round_, rows in zip(rounds, held, strict=True))
    return [without_remains(round_) for round_ in shown]


def _cache_of(round_: Round, entry: Any) -> tuple[LayerRows, ...] | None:
    """One request's cache; a request that has ended need not have one any more."""
    return None if entry is None and round_.end is not None else answers.layers(entry, "cache")
