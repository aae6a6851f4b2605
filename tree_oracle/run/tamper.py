"""Wrong answers planted behind somebody else's adapter, one at a time, to see whether they are noticed.

The decoder runs as it is; only what it answers is changed on its way to us. The changed answer keeps the form that the
adapter chose, so that what is tried is the whole way from the adapter to the judge. Each has a twin, which takes the same way
and changes nothing: what becomes of that is no notice of anything.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec
import numpy as np

from tree_oracle.checks import answers
from tree_oracle.checks.encodings import laid_out
from tree_oracle.decoder import Seam
from tree_oracle.record import Round
from tree_oracle.tree.formats import Shown

Change = Callable[[Any, bool], Any]  # of an answer, wrong or as it is


@dataclass(frozen=True, slots=True)
class Tampering:
    """One wrong answer."""

    seam: Seam
    check: str  # the check that must notice
    sentence: str
    change: Change


class Tampered:
    """A decoder whose answers through one seam take the way of a tampering; everything else is handed on."""

    def __init__(self, decoder: Any, tampering: Tampering, *, wrong: bool = True) -> None:
        self._decoder, self._tampering, self._wrong = decoder, tampering, wrong
        self.used = False  # an answer was changed

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._decoder, name)
        if name != self._tampering.seam.value:
            return found

        def changed(*arguments: Any) -> Any:
            answer = _read(name, found(*arguments), arguments)
            return _Session(answer, self._answer) if name == "open" else self._answer(answer)

        return changed

    def _answer(self, answer: Any) -> Any:
        told = self._tampering.change(answer, self._wrong)
        self.used |= self._wrong and not _same(told, self._tampering.change(answer, False))
        return told


class _Session:
    """A session whose rounds are changed."""

    def __init__(self, session: Any, change: Callable[[Any], Any]) -> None:
        self._session, self._change = session, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        return (lambda trees: self._change(found(trees))) if name == "step" else found


def _same(some: Any, other: Any) -> bool:
    """Whether two answers in the same form say the same."""
    if some is other:
        return True
    if isinstance(some, Shown | Round):
        names = [field.name for field in fields(some)] if isinstance(some, Shown) else some.__struct_fields__
        return all(_same(getattr(some, name), getattr(other, name)) for name in names)
    if isinstance(some, Mapping):
        return some.keys() == other.keys() and all(_same(some[name], other[name]) for name in some)
    if isinstance(some, list | tuple):
        return len(some) == len(other) and all(map(_same, some, other))
    return bool(np.array_equal(some, other)) if isinstance(some, np.ndarray) else bool(np.all(some == other))


def _read(method: str, answer: Any, arguments: Sequence[Any]) -> Any:
    """The answer; where a layout is in an encoding, what its buffers show: there is no one place in them to change."""
    if method != Seam.LAY_OUT:
        return answer
    tree, prefix_len = arguments
    return laid_out(answer, tree.to_data(), prefix_len)


def _positions_late(answer: Any, wrong: bool) -> Any:
    if isinstance(answer, Shown):
        return answer if answer.positions is None else replace(answer, positions=answer.positions + int(wrong))
    positions = np.asarray(answers.array(answers.field(answer, "positions"), "positions")) + int(wrong)
    return {**_as_mapping(answer), "positions": positions}


def _one_more_visible(answer: Any, wrong: bool) -> Any:
    """Show the last node to every row, in whichever way the mask is stated."""
    if isinstance(answer, Shown):
        visible = answer.visible.copy()
        visible[:, -1] |= wrong
        return replace(answer, visible=visible)
    told = _as_mapping(answer)
    name = next(name for name in ("visible", "hidden", "additive") if name in told)
    mask = answers.array(told[name], name).copy()
    if wrong:
        mask[: len(mask), -1] = {"visible": True, "hidden": False, "additive": 0}[name]
    return {**told, name: mask}


def _as_mapping(answer: Any) -> dict[str, Any]:
    names = ("positions", "visible", "hidden", "additive")
    return {name: answers.field(answer, name) for name in names if answers.field(answer, name) is not None}


def _last_row_of_root(answer: Any, wrong: bool) -> Any:
    rows = answers.array(answer, "rows").copy()
    if wrong:
        rows[-1] = rows[0]
    return rows


def _bonus_changed(answer: Any, wrong: bool) -> Any:
    accepted, bonus = _decision(answer)
    return accepted, _other(bonus) if wrong else bonus


def _last_not_accepted(answer: Any, wrong: bool) -> Any:
    accepted, bonus = _decision(answer)
    return accepted[:-1] if wrong else accepted, bonus


def _decision(answer: Any) -> tuple[list[int], int]:
    accepted, bonus = answers.field(answer, "accepted"), answers.field(answer, "bonus")
    accepted, bonus = (accepted, bonus) if accepted is not None else answer
    return [int(node) for node in accepted], int(bonus)


def _other(token: int) -> int:
    return token - 1 if token else 1


def _one_row_longer(answer: Any, wrong: bool) -> Any:
    """A length that is told, in whichever way, is one too large."""
    if answer is None or isinstance(answer, int):
        return None if answer is None else answer + int(wrong)
    told = {name: answers.field(answer, name) for name in ("length", "pages", "pools")}
    known = {name: value for name, value in told.items() if value is not None}
    return {**known, "length": int(told["length"]) + int(wrong)} if "length" in known else known


def _last_node_as_root(answer: Any, wrong: bool) -> Any:
    """Every head answers for the last node what it answers for the root."""
    out = answers.array(answer, "attend").copy()
    if wrong:
        out[:, -1] = out[:, 0]
    return out


def _token_changed(answer: Any, wrong: bool) -> Any:
    """Change the first token that is emitted, in rounds or in plain tokens."""
    whole = list(copy.copy(answer))
    first = whole[0]
    whole[0] = _changed_text(first, wrong) if isinstance(first, Sequence) else _changed_round(first, wrong)
    return whole


def _changed_text(text: Sequence[Any], wrong: bool) -> Any:
    if not text:
        return text
    head = text[0]
    if isinstance(head, Round | Mapping):
        return [_changed_round(head, wrong), *text[1:]]
    return [_other(int(head)) if wrong else int(head), *text[1:]]


def _changed_round(round_: Any, wrong: bool) -> Any:
    emitted = [int(token) for token in answers.field(round_, "emitted")]
    if emitted and wrong:
        emitted[0] = _other(emitted[0])
    if isinstance(round_, Round):
        return msgspec.structs.replace(round_, emitted=tuple(emitted))
    return {**round_, "emitted": emitted}


TAMPERINGS = (
    Tampering(Seam.LAY_OUT, "POSITION-01", "a position one too large", _positions_late),
    Tampering(Seam.LAY_OUT, "VISIBLE-03", "the last node shown to every row", _one_more_visible),
    Tampering(Seam.TREE_LOGITS, "HISTORY-01", "the last row replaced by the root's", _last_row_of_root),
    Tampering(Seam.ACCEPT, "GREEDY-01", "another bonus token", _bonus_changed),
    Tampering(Seam.ACCEPT, "GREEDY-02", "the last accepted node left out", _last_not_accepted),
    Tampering(Seam.MOVE, "MOVE-04", "one row more", _one_row_longer),
    Tampering(Seam.ATTEND, "ATTEND-02", "the last node's row replaced by the root's", _last_node_as_root),
    Tampering(Seam.SESSION, "SEQUENCE-01", "another first token", _token_changed),
    Tampering(Seam.GENERATE, "SEQUENCE-01", "another first token", _token_changed),
)
