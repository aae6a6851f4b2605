"""Wrong answers planted behind somebody else's adapter, one at a time, to see whether they are noticed.

The decoder runs as it is; only what it answers is changed on its way to us. The changed answer keeps the form that the
adapter chose, so that what is tried is the whole way from the adapter to the judge.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from tree_oracle.checks import answers
from tree_oracle.checks.encodings import laid_out
from tree_oracle.decoder import Seam
from tree_oracle.record import Round
from tree_oracle.tree.formats import Shown

Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Tampering:
    """One wrong answer."""

    seam: Seam
    check: str  # the check that must notice
    sentence: str
    change: Change


class Tampered:
    """A decoder whose answers through one seam are changed; everything else is handed on."""

    def __init__(self, decoder: Any, tampering: Tampering) -> None:
        self._decoder, self._tampering = decoder, tampering
        self.used = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._decoder, name)
        if name != self._tampering.seam.value:
            return found

        def changed(*arguments: Any) -> Any:
            self.used = True
            answer = _read(name, found(*arguments), arguments)
            return _Session(answer, self._tampering.change) if name == "open" else self._tampering.change(answer)

        return changed


class _Session:
    """A session whose first round is changed."""

    def __init__(self, session: Any, change: Change) -> None:
        self._session, self._change = session, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        return (lambda trees: self._change(found(trees))) if name == "step" else found


def _read(method: str, answer: Any, arguments: Sequence[Any]) -> Any:
    """The answer; where a layout is in an encoding, what its buffers show: there is no one place in them to change."""
    if method != Seam.LAY_OUT:
        return answer
    tree, prefix_len = arguments
    return laid_out(answer, tree.to_data(), prefix_len)


def _positions_late(answer: Any) -> Any:
    if isinstance(answer, Shown):
        return answer if answer.positions is None else replace(answer, positions=answer.positions + 1)
    positions = np.asarray(answers.array(answers.field(answer, "positions"), "positions")) + 1
    return {**_as_mapping(answer), "positions": positions}


def _one_more_visible(answer: Any) -> Any:
    """Show the first sibling pair to each other, in whichever way the mask is stated."""
    if isinstance(answer, Shown):
        visible = answer.visible.copy()
        visible[:, -1] = True
        return replace(answer, visible=visible)
    fields = _as_mapping(answer)
    name = next(name for name in ("visible", "hidden", "additive") if name in fields)
    mask = answers.array(fields[name], name).copy()
    mask[: len(mask), -1] = {"visible": True, "hidden": False, "additive": 0}[name]
    return {**fields, name: mask}


def _as_mapping(answer: Any) -> dict[str, Any]:
    names = ("positions", "visible", "hidden", "additive")
    return {name: answers.field(answer, name) for name in names if answers.field(answer, name) is not None}


def _last_row_of_root(answer: Any) -> Any:
    rows = answers.array(answer, "rows").copy()
    rows[-1] = rows[0]
    return rows


def _bonus_changed(answer: Any) -> Any:
    accepted, bonus = _decision(answer)
    return accepted, bonus - 1 if bonus else 1


def _last_not_accepted(answer: Any) -> Any:
    accepted, bonus = _decision(answer)
    return accepted[:-1], bonus


def _decision(answer: Any) -> tuple[list[int], int]:
    accepted, bonus = answers.field(answer, "accepted"), answers.field(answer, "bonus")
    accepted, bonus = (accepted, bonus) if accepted is not None else answer
    return [int(node) for node in accepted], int(bonus)


def _one_row_longer(answer: Any) -> Any:
    """A length that is told, in whichever way, is one too large."""
    if answer is None or isinstance(answer, int):
        return None if answer is None else answer + 1
    told = {name: answers.field(answer, name) for name in ("length", "pages", "pools")}
    known = {name: value for name, value in told.items() if value is not None}
    return {**known, "length": int(told["length"]) + 1} if "length" in known else known


def _last_node_as_root(answer: Any) -> Any:
    """Every head answers for the last node what it answers for the root."""
    out = answers.array(answer, "attend").copy()
    out[:, -1] = out[:, 0]
    return out


def _token_changed(answer: Any) -> Any:
    """Change the first token that is emitted, in rounds or in plain tokens."""
    whole = list(copy.copy(answer))
    first = whole[0]
    whole[0] = _changed_text(first) if isinstance(first, Sequence) else _changed_round(first)
    return whole


def _changed_text(text: Sequence[Any]) -> Any:
    if not text:
        return text
    head = text[0]
    new = (
        _changed_round(head)
        if isinstance(head, Round | Mapping)
        else (int(head) + 1 if int(head) == 0 else int(head) - 1)
    )
    return [new, *text[1:]]


def _changed_round(round_: Any) -> Any:
    emitted = [int(token) for token in answers.field(round_, "emitted")]
    if emitted:
        emitted[0] = emitted[0] - 1 if emitted[0] else 1
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
