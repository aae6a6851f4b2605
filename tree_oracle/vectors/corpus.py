"""The installed corpus: read, found by id, and told apart by its digest.

Files are compact JSON with one vector a line: small enough to install, and a change shows as the lines that changed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from tree_oracle.record import FileError, UsageError
from tree_oracle.vectors.model import GROUPS, AnyGroup, AnyVector

SCHEMA = "vectors-1.schema.json"


def folder() -> Traversable:
    """Where the files are."""
    return files("tree_oracle.vectors") / "data"


def text_of(group: AnyGroup) -> str:
    """The file of a group."""
    head = msgspec.to_builtins(group)
    vectors = head.pop("vectors")
    lines = ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors)
    return f'{json.dumps(head, indent=1)[:-2]},\n "vectors": [\n{lines}\n]}}\n'


def group_of(text: str | bytes, name: str) -> AnyGroup:
    """The group that a file holds.

    Raises:
        FileError: it is no file of this group.
    """
    try:
        found: AnyGroup = msgspec.json.decode(text, type=GROUPS[name])
    except (msgspec.DecodeError, RecursionError) as error:
        raise FileError(f"{name}.json is no file of vectors: {error}") from error
    if found.group != name:
        raise FileError(f"{name}.json holds group {found.group!r}; expected {name!r}")
    return found


@cache
def load(name: str) -> AnyGroup:
    """One group.

    Raises:
        UsageError: there is none of this name.
        FileError: its file is damaged.
    """
    if name not in GROUPS:
        raise UsageError(f"no group {name!r}; expected one of {', '.join(GROUPS)}")
    return group_of(read_bytes(f"{name}.json"), name)


def load_all() -> tuple[AnyGroup, ...]:
    """Every group, in the order of the files."""
    return tuple(map(load, GROUPS))


def find(vector_id: str) -> tuple[AnyGroup, AnyVector]:
    """A vector and its group.

    Raises:
        UsageError: there is none of this id.
    """
    group = load(vector_id.rpartition("-")[0]) if vector_id.rpartition("-")[0] in GROUPS else None
    for vector in group.vectors if group is not None else ():
        if vector.id == vector_id:
            assert group is not None
            return group, vector
    raise UsageError(f"no vector {vector_id!r}; expected an id such as {load('trees').vectors[0].id}")


def digest() -> str:
    """SHA-256 in hex of all files, in their order."""
    total = hashlib.sha256()
    for name in GROUPS:
        total.update(hashlib.sha256(read_bytes(f"{name}.json")).digest())
    return total.hexdigest()


def read_bytes(name: str) -> bytes:
    """The bytes of one file.

    Raises:
        FileError: it cannot be read.
    """
    try:
        return (folder() / name).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {name}: {error.strerror or error}") from error
