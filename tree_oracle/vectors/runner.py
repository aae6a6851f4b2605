"""Runs the corpus against a program, and never lets the program decide when that ends.

One request at a time. What the program does decides the status of the vector in hand:

| it | status | and then |
| --- | --- | --- |
| answers in form | as ``tree_oracle.vectors.judge`` says | the next vector |
| dies or is silent for too long | failed | it is started again, a few times |
| breaks the protocol: no JSON, another id, more than one line, a flood, another version | error | nothing more is asked |

A vector that was not asked is *not observable*. None of them ever passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

import msgspec

from tree_oracle.record import AdapterError, Status
from tree_oracle.record.report import EXIT_ADAPTER, EXIT_FAILED, EXIT_HELD, EXIT_UNDECIDED
from tree_oracle.vectors.corpus import digest
from tree_oracle.vectors.judge import Verdict, judge
from tree_oracle.vectors.model import AnyVector
from tree_oracle.vectors.peer import End, Peer
from tree_oracle.vectors.protocol import Greeting, greeting, read_greeting, read_reply, request


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a program is waited for."""

    start: float = 60.0  # seconds until it has answered the greeting, which may include loading a model
    answer: float = 10.0  # seconds for one answer
    whole: float = 600.0  # seconds for all of it
    starts: int = 5  # how often it is started before it is given up


class VectorResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one vector came to."""

    id: str
    status: Status
    sentence: str = ""
    flags: tuple[str, ...] = ()


class VectorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run over the corpus came to."""

    format: str = "tree-oracle-vectors-report"
    version: int = 1
    command: tuple[str, ...]
    name: str
    digest: str  # of the corpus
    results: tuple[VectorResult, ...]
    problem: str = (
        ""  # what is wrong with the run as a whole: it ended early, or the program spoke after its last answer
    )

    @property
    def counts(self) -> dict[Status, int]:
        """How many vectors ended in each status, zeros included."""
        return {status: sum(result.status is status for result in self.results) for status in Status}

    @property
    def exit_code(self) -> int:
        """1 where a vector failed, otherwise 3 where one is in error, otherwise 4 where none passed, otherwise 0."""
        if self.counts[Status.FAILED]:
            return EXIT_FAILED
        if self.counts[Status.ERROR] or self.problem:
            return EXIT_ADAPTER
        return EXIT_HELD if self.counts[Status.PASSED] else EXIT_UNDECIDED


USUAL = Patience()
Asked: TypeAlias = tuple[str, AnyVector]  # operation and vector


def run_vectors(
    command: Sequence[str],
    vectors: Iterable[Asked],
    patience: Patience = USUAL,
) -> VectorReport:
    """Ask a program for each vector.

    Raises:
        UsageError: the program cannot be started.
    """
    results: list[VectorResult] = []
    visit = _Visit(command, patience)
    try:
        for operation, vector in vectors:
            verdict = visit.ask(operation, vector)
            results.append(VectorResult(vector.id, verdict.status, verdict.sentence, vector.flags))
        problem = visit.part()
    finally:
        visit.end()
    return VectorReport(
        command=tuple(command), name=visit.name, digest=digest(), results=tuple(results), problem=problem
    )


class _Visit:
    """One run: the program as far as it is running, and why it is not asked any more."""

    def __init__(self, command: Sequence[str], patience: Patience) -> None:
        self._command, self._patience, self._until = command, patience, monotonic() + patience.whole
        self._peer: Peer | None = None
        self._greeted: Greeting | None = None
        self._starts = 0
        self._given_up = self._late = ""

    @property
    def name(self) -> str:
        return self._greeted.name if self._greeted is not None else ""

    def ask(self, operation: str, vector: AnyVector) -> Verdict:
        """The verdict on one vector."""
        if not self._given_up and monotonic() > self._until:
            self._given_up = self._late = f"the {self._patience.whole:g} s for the whole run are used up"
        if self._given_up:
            return Verdict(Status.NOT_OBSERVABLE, f"not asked: {self._given_up}")
        try:
            return self._asked(operation, vector)
        except AdapterError as error:
            self.end()
            self._given_up = "the program broke the protocol before"
            return Verdict(Status.ERROR, str(error))

    def part(self) -> str:
        """Say good-bye; what is wrong with the run as a whole, which should be nothing."""
        if self._late:
            return f"not all vectors were asked: {self._late}"
        more = self._peer.farewell() if self._peer is not None else b""
        return f"the program spoke after its last answer: {more[:80]!r}" if more else ""

    def end(self) -> None:
        """Leave nothing of the program."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None

    def _asked(self, operation: str, vector: AnyVector) -> Verdict:
        if self._peer is None:
            verdict = self._start()
            if verdict is not None:
                return verdict
        assert self._peer is not None
        assert self._greeted is not None
        lacking = self._greeted.lacks(operation, vector)
        if lacking:
            return Verdict(Status.NOT_OBSERVABLE, lacking)
        if self._peer.unasked():
            raise AdapterError(f"the program spoke without being asked: {self._peer.unasked()[:80]!r}")
        line = self._peer.ask(request(operation, vector), self._at_most(self._patience.answer))
        if isinstance(line, End):
            return self._ended(line)
        return judge(operation, vector, read_reply(line, vector.id))

    def _start(self) -> Verdict | None:
        """Start it and greet; a verdict if it does not come to that."""
        self._starts += 1
        self._peer = Peer(self._command)
        line = self._peer.ask(greeting(), self._at_most(self._patience.start))
        if isinstance(line, End):
            verdict = self._ended(line)
            self._given_up = "the program did not get as far as its greeting"
            return Verdict(Status.ERROR, f"at its greeting {verdict.sentence}")
        self._greeted = read_greeting(line)
        return None

    def _ended(self, end: End) -> Verdict:
        self.end()
        if end.flood:
            raise AdapterError(end.sentence)
        if self._starts >= self._patience.starts:
            self._given_up = f"the program was started {self._starts} times and ended each time"
        return Verdict(Status.FAILED, end.sentence)

    def _at_most(self, seconds: float) -> float:
        return min(seconds, max(self._until - monotonic(), 0))
