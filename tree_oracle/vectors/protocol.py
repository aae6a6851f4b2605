"""The line-JSON protocol between the runner and a program under test; ``docs/vectors.md`` says the same in words.

Runner to program, one line each; program to runner, one line in reply to each, in order:

    {"protocol": "tree-oracle-vectors", "version": 1}
    {"protocol": "tree-oracle-vectors", "version": 1, "name": ..., "operations": [...], "formats": [...], "policies": [...]}

    {"id": ..., "operation": ..., "input": {...}}
    {"id": ..., "answer": {...}}                     or "refused": why, "unsupported": why, "error": what

The last three members of the program's greeting may be left out: it is then asked everything. Members that nobody knows are
passed over, so that a program may say more.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tree_oracle.record import AdapterError
from tree_oracle.vectors.judge import Reply
from tree_oracle.vectors.model import FORMAT, VERSION, AnyVector

_SHOWN = 80  # characters of a line that is none


class Greeting(msgspec.Struct, frozen=True):
    """Who the program is, and what it does; None: everything, as far as it will say."""

    protocol: str
    version: int
    name: str = ""
    operations: tuple[str, ...] | None = None
    formats: tuple[str, ...] | None = None
    policies: tuple[str, ...] | None = None

    def lacks(self, operation: str, vector: AnyVector) -> str:
        """What this vector needs and the program does not name; empty if nothing."""
        wanted = (
            ("operation", operation, self.operations),
            ("encoding", getattr(vector.input, "format", None), self.formats),
            ("policy", getattr(vector.input, "policy", None), self.policies),
        )
        for kind, name, known in wanted:
            if name is not None and known is not None and name not in known:
                return f"the program does not name the {kind} {name!r}"
        return ""


def greeting() -> bytes:
    """The runner's first line."""
    return msgspec.json.encode({"protocol": FORMAT, "version": VERSION}) + b"\n"


def request(operation: str, vector: AnyVector) -> bytes:
    """The line that asks for one vector. What it expects, its flags and its comment stay here."""
    return msgspec.json.encode({"id": vector.id, "operation": operation, "input": vector.input}) + b"\n"


def read_greeting(line: bytes) -> Greeting:
    """What a program answers to the first line.

    Raises:
        AdapterError: no greeting, or one of another protocol or version.
    """
    found: Greeting = _read(line, Greeting, "greeting")
    if (found.protocol, found.version) != (FORMAT, VERSION):
        raise AdapterError(
            f"the program speaks {_shown(found.protocol.encode())} version {_short(found.version)};"
            f" expected {FORMAT!r} version {VERSION}"
        )
    return found


def read_reply(line: bytes, asked: str) -> Reply:
    """What a program answers to the request of this id.

    Raises:
        AdapterError: no reply, or one to another request.
    """
    found: Reply = _read(line, Reply, "reply")
    if found.id != asked:
        raise AdapterError(f"the program answers {_shown(found.id.encode())} where {asked!r} was asked")
    return found


def _read(line: bytes, kind: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise AdapterError(f"the program's {name} {_shown(line)} is none: {error}") from error


def _shown(line: bytes) -> str:
    text = line[: 4 * _SHOWN].decode("utf-8", "replace")
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else "of an enormous number"
