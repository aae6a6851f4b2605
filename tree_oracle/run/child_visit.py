"""What a parent knows of one child: how far it has come, which case the decoder has in hand, and what stands already."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from tree_oracle import record
from tree_oracle.checks import CHECKS, Check
from tree_oracle.record import Case, CheckResult, TreeOracleError, case_id
from tree_oracle.run.child_messages import (
    Done,
    Driven,
    Driving,
    Ended,
    Failing,
    Measured,
    Message,
    Opened,
    Ready,
    Refused,
    Started,
    decode,
)
from tree_oracle.run.child_process import Cause, ChildProcess, End
from tree_oracle.run.tally import Tally


@dataclass(frozen=True, slots=True)
class Caps:
    """What a child may take."""

    timeout: float = 600.0  # seconds per check, the oracle's own work included
    memory: int | None = None  # MiB, resident, of the child and all that it starts
    setup: float = 600.0  # seconds to load the target, and again to make the decoder

    @property
    def words(self) -> str:
        """For a report."""
        return f"child process, {self.words_for('check')}"

    def words_for(self, unit: str) -> str:
        """The limits alone, which hold for each ``unit``."""
        memory = "" if self.memory is None else f" and {self.memory} MiB"
        return f"at most {self.timeout:g} s{memory} for each {unit}"


@dataclass(slots=True)
class Visit:
    """One child, from its first message to its end."""

    tally: Tally
    caps: Caps
    opened: bool = False  # the target stands; the decoder's own code begins
    ready: bool = False  # the decoder was made
    check: Check | None = None
    scenes: dict[str, str] = field(default_factory=dict)
    driving: Driving | None = None
    since: float = 0.0  # when the decoder was handed the last case
    cases: set[str] = field(default_factory=set)  # what it was handed during this check
    failing: CheckResult | None = None
    deadline: float = 0.0

    def follow(self, child: ChildProcess) -> End | None:
        """Take everything that the child says; how it ended, or None if it did all that was asked.

        Raises:
            TreeOracleError: what the child refused with.
        """
        self._allow(self.caps.setup)
        while True:
            line = child.line(self.deadline)
            if isinstance(line, End):
                return line
            try:
                message = decode(line)
            except msgspec.DecodeError:
                return child.stop(Cause.NONSENSE)
            if isinstance(message, Ended):
                return None
            self._take(message)

    @property
    def case(self) -> Case | None:
        """The case that the decoder has in hand."""
        return self.driving.case if self.driving is not None else None

    @property
    def hung(self) -> bool:
        """Whether the case in hand took so much of the time limit that the check is not merely slow."""
        return self.driving is not None and time.monotonic() - self.since > self.caps.timeout / 2

    def _take(self, message: Message) -> None:
        match message:
            case Opened(head):
                self.tally.head, self.opened = head, True
                self._allow(self.caps.setup)
            case Ready():
                self.ready = True
                self._allow(self.caps.timeout)
            case Started(name, scenes):
                self._begin(CHECKS[name], scenes)
            case Driving(_, case):
                self.driving, self.since = message, time.monotonic()
                self.cases.add(case_id(case))
            case Driven():
                self.driving = None
            case Failing(result):
                self.failing = result
            case Done(finished):
                self._begin(None, {})
                self.tally.add(finished)
            case Measured(power):
                self.tally.power = power
            case Refused(kind, text):
                raise _error(kind)(text)

    def _begin(self, check: Check | None, scenes: dict[str, str]) -> None:
        self.check, self.scenes, self.driving, self.failing, self.cases = check, scenes, None, None, set()
        self._allow(self.caps.timeout)

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds


def _error(kind: str) -> Callable[[str], TreeOracleError]:
    found = getattr(record, kind, None)
    return found if isinstance(found, type) and issubclass(found, TreeOracleError) else TreeOracleError
