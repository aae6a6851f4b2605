"""Groups ``malformed`` and ``malformed-trees``: one entry changed, and what was an encoding of a tree is one no more.

Which entry is to blame is not always certain: a mask in which v sees u and not u's parent may have a bit too many or one too
few. So ``at`` lists every entry whose change alone makes of it what an encoder writes for some tree with these tokens, found
by comparison with each tree of that size. The entry that was changed is always among them. A vector is kept if the reference
refuses it, and blames one of them or none in particular.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tree_oracle.record import TreeOracleError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import FORMATS, Format, InvalidEncoding, holds
from tree_oracle.tree.invalid import InvalidTree, TreeFault
from tree_oracle.vectors.answers import answer
from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.groups.kit import Kit
from tree_oracle.vectors.model import Decode, Encode, Encoded, LayOut, Place, Refused, Tree
from tree_oracle.vectors.neutral import LOWEST, MINUS_INFINITY
from tree_oracle.vectors.shapes import SHAPES, every, named

_EACH = 11  # for each encoding
_HUGE = 2**63
_ONCE = ("enter", "selected", "next_token", "next_sibling", "successors", "choices")  # where no number may stand twice
_FLAGS = {
    TreeFault.ORPHAN: "Orphan",
    TreeFault.SELF_PARENT: "Cycle",
    TreeFault.NO_ROOT: "Orphan",
    TreeFault.TWO_ROOTS: "Orphan",
    TreeFault.CYCLE: "Cycle",
    TreeFault.TOKEN: "OutOfRange",
    TreeFault.LENGTH: "WrongShape",
    TreeFault.DTYPE: "HugeNumber",
    TreeFault.PARENT_AFTER_CHILD: "Cycle",
}


def malformed_trees() -> Kit:
    """Arrays that are no tree with parents first."""
    kit = Kit("malformed-trees", "lay_out", "Tokens and parents that must be refused.")
    chance = Chance("malformed-trees")
    for number in range(60):
        tree = named(chance, SHAPES["any order"](chance, chance.between(1, 5)), 4)
        arrays: dict[str, list[int]] = {"tokens": list(tree.tokens), "parents": list(tree.parents)}
        name = chance.pick(["parents", "parents", "parents", "tokens"])
        place = chance.below(len(arrays[name]))
        n = len(arrays[name])
        arrays[name][place] = chance.pick([-2, -1, n - 1, n, place, place + 1, _HUGE])
        if chance.below(8) == 0:
            arrays[name] = arrays[name][:-1]
        asked = LayOut(tuple(arrays["tokens"]), tuple(arrays["parents"]), 2)
        try:
            answer(asked)
        except InvalidTree as error:
            kit.add(f"{error.kind}, case {number}", {_FLAGS[error.kind]}, asked, Refused(_repairs(asked)))
    return kit


def malformed() -> Kit:
    """Documents that must be refused, in every encoding."""
    kit = Kit("malformed", "decode", "Documents in which an entry is wrong, or a list too short.")
    for encoding in FORMATS.values():
        chance = Chance("malformed", encoding.name)
        before = len(kit.vectors)
        for _ in range(400):
            if len(kit.vectors) - before == _EACH:
                break
            _try(kit, chance, encoding)
    return kit


def _try(kit: Kit, chance: Chance, encoding: Format) -> None:
    tree = named(chance, SHAPES[chance.pick(list(SHAPES))](chance, chance.between(3, 5)), 6)
    if not holds(encoding, CandidateTree(tree.tokens, tree.parents)):
        return
    prefix_len = chance.between(1, 3)
    right = _documents(encoding, tree, prefix_len)
    wrong, place, kind = _changed(chance, right)
    if wrong == right:
        return
    asked = Decode(encoding.name, [_packed(encoding, one) for one in wrong], (prefix_len,))
    blamed = _blamed(asked)
    if blamed is None:
        return
    near = _in_maps(wrong, asked) if encoding.name == "child-maps" else _near(wrong, encoding, tree, prefix_len)
    at = _ordered(near)
    if kind != "WrongShape" and place not in at:
        return
    if not blamed or not at or any(there[: len(blamed)] == blamed for there in at):
        kit.add(f"{encoding.name}: {kind} at {'.'.join(map(str, place))}", {_flag(kind, place)}, asked, Refused(at))


def _documents(encoding: Format, tree: Tree, prefix_len: int) -> list[Any]:
    found = answer(Encode(encoding.name, (tree,), (prefix_len,)))
    assert isinstance(found, Encoded)
    return [json.loads(one) if encoding.name == "json" else one for one in found.documents]


def _packed(encoding: Format, document: Any) -> Any:
    """The document as it is handed over: plain JSON is a text."""
    return json.dumps(document) if encoding.name == "json" else document


def _changed(chance: Chance, right: list[Any]) -> tuple[list[Any], Place, str]:
    """A copy with one entry changed, or one list shortened."""
    wrong = copy.deepcopy(right)
    entries = [place for place in _entries(wrong) if place[1] not in ("format", "version")]
    place = chance.pick(entries)
    holder = _holder(wrong, place)
    listed = isinstance(holder, list)
    if chance.below(7) == 0 and listed:
        holder.pop()
        return wrong, place[:-1], "WrongShape"
    old, bits = holder[place[-1]], place[1] in ("mask", "attn_mask", "bias")
    if place[1] in _ONCE and listed and chance.below(2):
        holder[place[-1]] = chance.pick(holder)
        return wrong, place, "Duplicate"
    holder[place[-1]] = _other(chance, old, bits)
    if isinstance(holder[place[-1]], int) and abs(holder[place[-1]]) >= _HUGE:
        return wrong, place, "HugeNumber"
    return wrong, place, "MaskBit" if bits or place[1] == "packed" else "OutOfRange"


def _other(chance: Chance, old: Any, bits: bool) -> Any:
    if old in (LOWEST, MINUS_INFINITY):
        return 0
    if bits and old in (0, 1):
        return 1 - old if chance.below(4) else 2
    if bits:
        return old ^ (1 << chance.below(6))
    return chance.pick([old + 1, max(old - 1, -1), -2, 0, 7, 99, _HUGE])


def _flag(kind: str, place: Place) -> str:
    side = {"tree_indices", "retrieve_indices", "position_ids", "offsets", "paths", "retrieve_index", "indptr"}
    return "Contradiction" if kind == "OutOfRange" and place[1] in side else kind


def _blamed(asked: Decode) -> Place | None:
    """What the reference blames; empty: nothing in particular; None: it does not refuse."""
    try:
        answer(asked)
    except InvalidEncoding as error:
        return () if error.index is None else (0, error.field, *error.index)
    except InvalidTree:
        return ()
    except TreeOracleError:
        return None  # refused for what the encoding cannot hold, not for what is wrong with the document
    return None


def _near(wrong: list[Any], encoding: Format, tree: Tree, prefix_len: int) -> set[Place]:
    """Every entry whose change alone gives the document of some tree with these tokens."""
    found = set[Place]()
    for parents in every(len(tree.tokens)):
        other = Tree(tree.tokens, parents)
        if holds(encoding, CandidateTree(other.tokens, other.parents)):
            found |= _only_difference(wrong, _documents(encoding, other, prefix_len))
    return found


def _in_maps(wrong: list[Any], asked: Decode) -> set[Place]:
    """The same where tokens are keys: every entry that could be some node's number, or some token."""
    found = set[Place]()
    for place in _entries(wrong):
        for value in range(len(wrong[0]["maps"])):
            other = copy.deepcopy(wrong)
            _holder(other, place)[place[-1]] = value
            if _blamed(Decode(asked.format, other, asked.prefix_lens)) is None:
                found.add(place)
    return found


def _repairs(asked: LayOut) -> tuple[Place, ...]:
    wrong: list[Any] = [{"tokens": list(asked.tokens), "parents": list(asked.parents)}]
    found = set[Place]()
    for parents in every(len(asked.parents)):
        tokens = [token if 0 <= token < _HUGE else 0 for token in asked.tokens]
        found |= _only_difference(wrong, [{"tokens": tokens, "parents": list(parents)}])
    return _ordered({place[1:] for place in found}) if len(asked.tokens) == len(asked.parents) else ()


def _only_difference(one: Any, other: Any) -> set[Place]:
    """The place of the only entry in which two documents differ; nothing if there are more, or none."""
    here, there = dict(_flat(one)), dict(_flat(other))
    places = [place for place in here if here[place] != there.get(place)]
    return set(places) if here.keys() == there.keys() and len(places) == 1 else set()


def _flat(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        yield at, sorted(value)
        for key, entry in value.items():
            yield from _flat(entry, (*at, key))
    elif isinstance(value, list):
        yield at, len(value)
        for index, entry in enumerate(value):
            yield from _flat(entry, (*at, index))
    else:
        yield at, value


def _entries(document: Any) -> list[Place]:
    return [place for place, value in _flat(document) if not isinstance(_at(document, place), dict | list)]


def _at(document: Any, place: Place) -> Any:
    for step in place:
        document = document[step]
    return document


def _holder(document: Any, place: Place) -> Any:
    return _at(document, place[:-1])


def _ordered(places: set[Place]) -> tuple[Place, ...]:
    def key(place: Place) -> list[tuple[bool, int | str]]:
        return [(isinstance(step, str), step) for step in place]

    return tuple(sorted(places, key=key))
