"""What is known of one runner in another interpreter: how far it has come, and what came of each prompt.

Its messages have one order, which is held to: started, ready, then for each prompt in turn that the decoder has it and what
became of it. A runner that says anything else is ended as one that wrote nonsense.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import msgspec

from tree_oracle.record import AdapterError, DecoderError, TreeOracleError, UsageError
from tree_oracle.run.child_death import how_it_ended
from tree_oracle.run.child_process import Cause, ChildProcess, End
from tree_oracle.run.child_visit import Caps
from tree_oracle.run.foreign_messages import (
    Broken,
    Declined,
    Driven,
    Driving,
    Ended,
    Message,
    Misfit,
    Ready,
    Refused,
    Started,
    Told,
    decode,
)

_KINDS = {"usage": UsageError, "adapter": AdapterError, "decoder": DecoderError}


class _OutOfTurn(Exception):
    """A message that does not belong here."""


@dataclass(slots=True)
class ForeignVisit:
    """One runner, from its first message to its end."""

    decoder: str
    caps: Caps
    cases: int
    python: str = ""  # implementation and version, once it is started
    ready: bool = False
    tie_rule: str | None = None
    begun: int = 0  # prompts that the decoder was handed
    busy: bool = False  # it has the last of them in hand
    told: list[Told] = field(default_factory=list)
    deadline: float = 0.0

    def follow(self, child: ChildProcess) -> End | None:
        """Take everything that the runner says; how it ended, or None if it did all that was asked.

        Raises:
            UsageError, AdapterError, DecoderError: why the run cannot begin.
        """
        self._allow(self.caps.setup)
        while True:
            line = child.line(self.deadline)
            if isinstance(line, End):
                return line
            try:
                message = decode(line)
                if isinstance(message, Ended) and self.begun == self.cases and not self.busy:
                    return None
                self._take(message)
            except (msgspec.DecodeError, _OutOfTurn):
                return child.stop(Cause.NONSENSE)

    def sentence(self, end: End) -> str:
        """What ended, where, and how."""
        where = "in its set-up" if not self.ready else "in generate" if self.busy else "between two prompts"
        seconds = self.caps.timeout if self.ready else self.caps.setup
        return how_it_ended(end, where, seconds, self.caps.memory)

    def _take(self, message: Message) -> None:
        match message:
            case Started(python) if not self.python:
                self.python = python[:100]
            case Refused(kind, text) if self.python and not self.ready:
                raise self._refusal(kind, text)
            case Ready(tie_rule) if self.python and not self.ready:
                self.ready, self.tie_rule = True, tie_rule
            case Driving(case) if self.ready and not self.busy and case == self.begun < self.cases:
                self.begun, self.busy = self.begun + 1, True
            case Driven(case) if self._has(case):
                self.busy = False
            case Broken(case) | Declined(case) | Misfit(case) if self._has(case):
                self.busy = False
                self.told.append(message)
            case _:
                raise _OutOfTurn
        self._allow(self.caps.timeout if self.ready else self.caps.setup)

    def _has(self, case: int) -> bool:
        return self.busy and case == self.begun - 1

    def _refusal(self, kind: str, text: str) -> TreeOracleError:
        return _KINDS.get(kind, TreeOracleError)(f"decoder {self.decoder!r} under {self.python}: {text}")

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
