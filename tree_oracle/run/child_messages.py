"""What a parent and the child that it watches tell each other: JSON, one message a line.

The pipe is no wall. A decoder that wants to can write to it; isolation is against accidents, not against attacks.
"""

from __future__ import annotations

import msgspec

from tree_oracle.record import Case, CheckResult, Planted
from tree_oracle.run.plan import Plan
from tree_oracle.run.tally import Finished, Head


class Deadly(msgspec.Struct, frozen=True):
    """A case that ended a process before: it is not driven again."""

    seam: str
    case_id: str
    sentence: str


class Request(msgspec.Struct, frozen=True):
    """From the parent, whole and once."""

    plan: Plan
    missing: tuple[str, ...]  # checks to do, in this order
    isolation: str  # the limits in words, for the report
    deadly: tuple[Deadly, ...] = ()
    cases: tuple[Case, ...] | None = None  # judged instead of the checks' own
    broken: int | None = None  # the lowest rung on which a check has failed so far


class Opened(msgspec.Struct, frozen=True, tag=True):
    """The target and its truth stand; what comes next is the decoder's own code."""

    head: Head


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The decoder was made."""


class Started(msgspec.Struct, frozen=True, tag=True):
    """A check begins."""

    check: str
    scenes: dict[str, str]


class Driving(msgspec.Struct, frozen=True, tag=True):
    """The decoder is handed a case."""

    seam: str
    case: Case


class Driven(msgspec.Struct, frozen=True, tag=True):
    """It gave an answer or raised."""


class Failing(msgspec.Struct, frozen=True, tag=True):
    """What stands if the process does not live to make this failure smaller."""

    result: CheckResult


class Done(msgspec.Struct, frozen=True, tag=True):
    """A check is done."""

    finished: Finished


class Measured(msgspec.Struct, frozen=True, tag=True):
    """What became of wrong answers that were planted behind the adapter."""

    power: tuple[Planted, ...]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The run ends in one of our own errors, by the name of its class in ``tree_oracle.record``."""

    kind: str
    text: str


class Ended(msgspec.Struct, frozen=True, tag=True):
    """Everything asked for was done."""


Message = Opened | Ready | Started | Driving | Driven | Failing | Done | Measured | Refused | Ended


def encode(message: Message | Request) -> bytes:
    """One line."""
    return msgspec.json.encode(message) + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(line, type=Message)


def decode_request(data: bytes) -> Request:
    """What the parent sent."""
    return msgspec.json.decode(data, type=Request)
