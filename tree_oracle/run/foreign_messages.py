"""What a runner in another interpreter is asked, and the lines of JSON that it answers with: few, short and strictly read.

The pipe is no wall, as in ``child_messages``; but nothing that comes through it is executed, unpickled or followed to a file.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tree_oracle.record import Case, Limits

MAX_LINE = 2**16  # bytes; no message of the runner comes near it


class Asked(msgspec.Struct, frozen=True):
    """One prompt, and where its text must end. Every field of the limits is sent, since the runner has no defaults."""

    prompt: tuple[int, ...]
    limits: dict[str, Any]


class Request(msgspec.Struct, frozen=True):
    """All that the runner is told."""

    recorder: str
    trace: str
    decoder: str
    target: str
    cases: tuple[Asked, ...]


class _Message(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    pass


class Started(_Message, frozen=True, tag=True):
    """The interpreter runs the runner."""

    python: str


class Ready(_Message, frozen=True, tag=True):
    """The decoder was made."""

    tie_rule: str | None


class Driving(_Message, frozen=True, tag=True):
    """The decoder is handed a prompt."""

    case: int


class Driven(_Message, frozen=True, tag=True):
    """Its answer is recorded."""

    case: int


class Broken(_Message, frozen=True, tag=True):
    """It raised, or changed what it was given."""

    case: int
    text: str


class Declined(_Message, frozen=True, tag=True):
    """It refused the prompt or its limits."""

    case: int
    text: str


class Misfit(_Message, frozen=True, tag=True):
    """It answered something that cannot be recorded."""

    case: int
    text: str


class Refused(_Message, frozen=True, tag=True):
    """The run cannot begin."""

    kind: str
    text: str


class Ended(_Message, frozen=True, tag=True):
    """Everything asked for was done."""


Told = Broken | Declined | Misfit
Message = Started | Ready | Driving | Driven | Broken | Declined | Misfit | Refused | Ended


def asked(case: Case) -> Asked:
    """What the runner is told of a case that holds a prompt and limits."""
    limits = case.limits or Limits(0)
    return Asked(case.prefix, {name: getattr(limits, name) for name in Limits.__struct_fields__})


def decode(line: bytes) -> Message:
    """The message of one line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(line, type=Message)
