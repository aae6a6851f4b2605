"""Recording a decoder that runs under another Python interpreter, where this package need not be installed.

There it is handed the prompts of the oracle's own cases by ``foreign_runner``, which writes what it answers, or what it records
round by round, into a trace. What no trace can tell (it raised, hung, answered twice differently) stands beside it as a mishap.

A process that dies is not started again: what was recorded until then is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from tree_oracle.record import Case, Status, UsageError
from tree_oracle.run.child_process import ChildProcess, End
from tree_oracle.run.child_visit import Caps
from tree_oracle.run.driver import asked_twice
from tree_oracle.run.foreign_messages import MAX_LINE, Declined, Misfit, Request, asked
from tree_oracle.run.foreign_python import find_python
from tree_oracle.run.foreign_visit import ForeignVisit
from tree_oracle.run.last_words import last_words
from tree_oracle.trace import Requests, TraceReader

_OURS = (
    "PYTHONHOME",
    "PYTHONEXECUTABLE",
    "__PYVENV_LAUNCHER__",
)  # they would lead another interpreter to this one's library
_TWICE = 8  # prompts that are asked a second time at most


@dataclass(frozen=True, slots=True)
class Mishap:
    """What a prompt came to that no trace can tell. ``case`` None: it was none of them."""

    status: Status
    sentence: str
    expected: str
    seen: str
    case: Case | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A run in another interpreter: ``cases`` and, behind them in the trace, some of them again."""

    trace: Path
    cases: tuple[Case, ...]
    again: tuple[int, ...]
    visit: ForeignVisit
    end: End | None

    @property
    def asked(self) -> tuple[Case, ...]:
        """The case of each request."""
        return (*self.cases, *(self.cases[place] for place in self.again))

    @property
    def refusals(self) -> dict[int, str]:
        """Why a request was refused, by its number."""
        return {told.case: told.text for told in self.visit.told if isinstance(told, Declined)}

    def mishaps(self) -> Iterator[Mishap]:
        """All of them, in order."""
        for told in self.visit.told:
            if not isinstance(told, Declined):
                status = Status.ERROR if isinstance(told, Misfit) else Status.FAILED
                wanted = "tokens or rounds" if isinstance(told, Misfit) else "an answer on valid input"
                yield Mishap(status, told.text, wanted, told.text, self.asked[told.case])
        if self.end is not None:
            case = self.asked[self.visit.begun - 1] if self.visit.busy else None
            seen = last_words(self.end.output) or "no output"
            yield Mishap(
                Status.FAILED, self.visit.sentence(self.end), "an answer, and a process that goes on", seen, case
            )
        yield from self._contradictions()

    def _contradictions(self) -> Iterator[Mishap]:
        reader = TraceReader(self.trace, partial=self.end is not None)
        texts = {request.number: request.emitted for request in Requests(reader) if request.done}
        for number, place in enumerate(self.again, len(self.cases)):
            first, second = texts.get(place), texts.get(number)
            if first is not None and second is not None and first != second:
                said = "generate answered differently the second time, on the same input"
                yield Mishap(Status.FAILED, said, str(list(first)), str(list(second)), self.cases[place])


def record_abroad(decoder: str, target: str, python: str, cases: Sequence[Case], trace: Path, caps: Caps) -> Recording:
    """Run ``decoder`` under the interpreter ``python``, handing it the prompt and limits of every case.

    Args:
        decoder: ``module:attribute``, imported there: an object with ``generate``, or a factory that is called with ``target``.
        trace: the file to write.
        caps: what the process may take; its time is for each prompt.

    Raises:
        UsageError: no such interpreter, module, attribute or method, or the file is there already.
        DecoderError: the factory raised.
    """
    found = find_python(python)
    if trace.exists():
        raise UsageError(f"{str(trace)!r} is there already; a trace is never overwritten")
    again = tuple([place for place, case in enumerate(cases) if asked_twice(case)][:_TWICE]) or (0,)[: len(cases)]
    sent = (*cases, *(cases[place] for place in again))
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    visit = ForeignVisit(decoder, caps, len(sent))
    package = files("tree_oracle")
    with (
        as_file(package / "run/foreign_runner.py") as runner,
        as_file(package / "trace/tree_oracle_record.py") as recorder,
    ):
        request = Request(str(recorder), str(trace.absolute()), decoder, target, tuple(map(asked, sent)))
        command, data = (found, "-u", str(runner)), msgspec.json.encode(request)
        with ChildProcess(command, data, memory=caps.memory, environment=environment, max_line=MAX_LINE) as child:
            end = visit.follow(child)
    if end is not None and not visit.python:
        raise UsageError(f"python {python!r} could not run the recorder: {last_words(end.output) or end.cause.value}")
    return Recording(trace, tuple(cases), again, visit, end)
