"""Reading a round that the decoder hands over itself: a ``Round``, or a mapping with the same names and plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import EnumType
from typing import Any

import msgspec
import numpy as np

from tree_oracle.checks import answers
from tree_oracle.record import (
    AdapterError,
    Array,
    DraftLaw,
    EndReason,
    Peer,
    Round,
    RowKind,
    ScoreKind,
    TreeData,
    Work,
)

# Fields that hold plain values, and what each must be.
_PLAIN: dict[str, Any] = {
    "row_kind": RowKind,
    "score_kind": ScoreKind,
    "draft_law": DraftLaw,
    "end": EndReason,
    "started_ns": int,
    "ended_ns": int,
    "rank": int,
    "request": int,
    "control": bool,
    "kernel": str,
    "graph": str,
}
_RECORDS: dict[str, Any] = {"work": Work, "peers": tuple[Peer, ...], "pool": TreeData}


def are_rounds(entry: Any) -> bool:
    """Whether a text is told in rounds, and is not a row of tokens."""
    return isinstance(entry, Sequence) and bool(entry) and isinstance(entry[0], Round | Mapping)


def read_round(shown: Any, prefix: tuple[int, ...] | None, tree: TreeData | None, vocab_size: int) -> Round:
    """The round, checked field by field.

    Args:
        shown: what the decoder handed over.
        prefix: the tokens that are committed, from what it emitted before; None: they are not kept, and no mask can be read.
        tree: the tree that it was given, if it was given one.
        vocab_size: tokens must lie below this.

    Raises:
        AdapterError: a field has the wrong shape or dtype, is unknown, or contradicts what the driver knows.
        DecoderError: a row holds NaN.
    """
    given = _fields(shown)
    if given.get("emitted") is None:
        raise AdapterError("a round without emitted tokens; they are the one field that every round must have")
    if given.pop("calls", None) is not None:
        raise AdapterError("a round shows calls of the target; they are counted at the target and not told")
    shown_prefix = given.pop("prefix", None)
    if prefix is not None:
        _same("prefix", shown_prefix, prefix)
    known: dict[str, Any] = {"prefix": prefix, "emitted": answers.tokens(given.pop("emitted"), "emitted", vocab_size)}
    known |= _tree(given, tree, vocab_size)
    count = len(known["tokens"]) if "tokens" in known else None
    for name, value in given.items():
        if value is not None:
            known[name] = _read(name, value, count, None if prefix is None else len(prefix), vocab_size)
    return without_remains(_with_bonus(Round(**known)))


def without_remains(round_: Round) -> Round:
    """A request that has ended owes nothing of its cache: what its last round leaves there is for nobody to judge."""
    return round_ if round_.end is None else msgspec.structs.replace(round_, kept=None, cache=None)


def _with_bonus(round_: Round) -> Round:
    """The bonus stands at the end of what is emitted, behind the accepted tokens, whether or not it is said again."""
    if round_.bonus is not None or round_.accepted is None or len(round_.emitted) != len(round_.accepted) + 1:
        return round_
    return msgspec.structs.replace(round_, bonus=round_.emitted[-1])


def _fields(shown: Any) -> dict[str, Any]:
    if isinstance(shown, Round):
        return {name: getattr(shown, name) for name in Round.__struct_fields__}
    if not isinstance(shown, Mapping):
        raise AdapterError(f"a round is {type(shown).__name__}; expected a Round or a mapping with its fields")
    unknown = sorted(str(name) for name in shown if name not in Round.__struct_fields__)
    if unknown:
        raise AdapterError(f"a round has no field {unknown[0]!r}; it has {', '.join(Round.__struct_fields__)}")
    return dict(shown)


def _tree(given: dict[str, Any], tree: TreeData | None, vocab_size: int) -> dict[str, Any]:
    """Tokens and parents: from the driver if it gave the tree, otherwise as shown."""
    tokens, parents = given.pop("tokens", None), given.pop("parents", None)
    if tree is not None:
        _same("tokens", tokens, tree.tokens)
        _same("parents", parents, tree.parents)
        return {"tokens": tree.tokens, "parents": tree.parents}
    if tokens is None or parents is None:
        return {}
    if len(tokens) == len(parents) == 0:  # nothing was drafted, and the root is no draft
        if given.get("accepted") is not None and len(given["accepted"]) == 0:
            del given["accepted"]
        return {}
    found = answers.tokens(tokens, "tokens", vocab_size)
    return {"tokens": found, "parents": _links(parents, "parents", len(found))}


def _links(parents: Any, what: str, count: int) -> tuple[int, ...]:
    links = tuple(answers.integers(parents, what, count).tolist())
    for node, parent in enumerate(links):
        if not (parent == -1 if node == 0 else 0 <= parent < node):
            raise AdapterError(
                f"{what}[{node}] is {parent}; expected -1 for the root, node 0, and an earlier node for others"
            )
    return links


def _same(name: str, shown: Any, known: tuple[int, ...]) -> None:
    if shown is None:
        return
    found = tuple(answers.integers(shown, name).tolist())
    if found != known:
        raise AdapterError(
            f"the round shows {name} {list(found)[-8:]}; the driver knows {list(known)[-8:]} (last entries)"
        )


def _read(name: str, value: Any, count: int | None, length: int | None, vocab_size: int) -> Any:
    """One field, in the form that ``Round`` keeps."""
    if name in _PLAIN:
        return _plain(name, value)
    if name in _RECORDS:
        return _record(name, value, vocab_size)
    if name == "coins":
        return tuple(answers.array(value, name).astype(float).ravel().tolist())
    if name == "bonus":
        return answers.tokens([value], name, vocab_size)[0]
    if name == "cache":
        return answers.layers(value, name)
    if count is None:
        raise AdapterError(f"a round shows {name} but no tokens and parents to read it by")
    return _by_node(name, value, count, length, vocab_size)


def _by_node(name: str, value: Any, count: int, length: int | None, vocab_size: int) -> Any:
    if name == "accepted":
        return answers.accepted(value, count)
    if name == "kept":
        return answers.nodes(value, name, count)
    if name in ("depths", "positions"):
        return tuple(answers.integers(value, name, count).tolist())
    if name == "visible":
        if length is None:
            raise AdapterError("a round shows visible where nobody keeps what was committed before it")
        return Array.of(answers.visible({"visible": value}, count, length - 1 + count))
    if name in ("rows", "processed"):
        return Array.of(answers.rows(value, name, count, vocab_size))
    found = answers.array(value, name)
    if found.shape != (count,):
        raise AdapterError(f"{name} has shape {found.shape}; expected ({count},), one per node, root first")
    return Array.of(found.astype(np.float64))


def _record(name: str, value: Any, vocab_size: int) -> Any:
    try:
        found = msgspec.convert(_builtin(value), _RECORDS[name])
    except msgspec.ValidationError as error:
        raise AdapterError(f"{name} is {answers.short(value)}, which cannot be read: {error}") from error
    if isinstance(found, TreeData):
        count = len(answers.tokens(found.tokens, f"{name}.tokens", vocab_size))
        _links(found.parents, f"{name}.parents", count)
    return found


def _builtin(value: Any) -> Any:
    """Arrays and numbers of numpy and torch as plain lists and numbers, at any depth."""
    if isinstance(value, Mapping):
        return {name: _builtin(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_builtin(entry) for entry in value]
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def _plain(name: str, value: Any) -> Any:
    wanted = _PLAIN[name]
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        expected = f"one of {', '.join(wanted)}" if isinstance(wanted, EnumType) else wanted.__name__
        raise AdapterError(f"{name} is {answers.short(value)}; expected {expected}") from error
