"""Step records that a project hands to a callback, read as the rounds of one text.

The callback is called once a round, with one record (an object or a mapping) or with keywords. ``rounds`` says where its
values are: the project's name of each field of a ``Round``, or a function that makes a mapping of such fields from a record.
Values are copied at once, since a project may write its buffers anew. The first token may come from the run over the prompt,
before there is a round; what the last round decided beyond the end of the text was not emitted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tree_oracle.adapters.convention import Convention
from tree_oracle.checks import answers
from tree_oracle.record import AdapterError, EndReason, Round, UsageError

Fields = Mapping[str, str] | Callable[[Any], Any]
_FIELDS = tuple(name for name in Round.__struct_fields__ if name not in ("prefix", "calls", "request"))


def check_fields(rounds: Fields) -> None:
    """Return if every name is that of a field.

    Raises:
        UsageError: one is not.
    """
    unknown = [] if callable(rounds) else sorted(set(rounds) - set(_FIELDS))
    if unknown:
        raise UsageError(f"a round has no field {unknown[0]!r} to be told; expected some of {', '.join(_FIELDS)}")


class Recorder:
    """The callback of one text."""

    def __init__(
        self, convention: Convention, rounds: Fields, prompt: Sequence[int], cap: EndReason = EndReason.CAP
    ) -> None:
        self._convention, self._fields, self._prompt, self._cap = convention, rounds, tuple(prompt), cap
        self._told: list[dict[str, Any]] = []

    def __call__(self, record: Any = None, /, **named: Any) -> None:
        shown = named if record is None else record
        found = self._fields(shown) if callable(self._fields) else _picked(shown, self._fields)
        if not isinstance(found, Mapping) or found.get("emitted") is None:
            raise AdapterError(f"a record shows {answers.short(found)}; expected a mapping with the tokens emitted")
        emitted = answers.array(found["emitted"], "emitted").reshape(-1)
        self._told.append({**copy.deepcopy(dict(found)), "emitted": answers.integers(emitted, "emitted").tolist()})

    def rounds(self, text: list[int]) -> list[dict[str, Any]]:
        """The rounds that emitted this text.

        Raises:
            AdapterError: they emitted another one.
        """
        told = [token for one in self._told for token in one["emitted"]]
        last = len(self._told[-1]["emitted"]) if self._told else len(text)
        before = next((k for k in (0, 1) if _accounts(told, text[k:], last)), None) if told else len(text)
        if before is None:
            raise AdapterError(f"the callback was told of tokens {told[:12]}; the text is {text[:12]}")
        committed = [*self._prompt, *text[:before]]
        shown: list[dict[str, Any]] = [{"emitted": text[:before]}] if before or not told else []
        for one in self._told:
            shown.append(self._read(one, committed))
            committed += one["emitted"]
        shown[-1]["emitted"] = shown[-1]["emitted"][: last - max(before + len(told) - len(text), 0)]
        return shown

    def _read(self, told: dict[str, Any], committed: Sequence[int]) -> dict[str, Any]:
        """One round in our form, above the tokens committed before it."""
        read, convention, length = dict(told), self._convention, len(committed)
        if read.get("tokens") is not None and read.get("parents") is not None:
            read["tokens"], read["parents"] = convention.built(read["tokens"], read["parents"], committed[-1])
        if read.get("end") == EndReason.CAP:
            read["end"] = self._cap
        if read.get("accepted") is not None:
            read["accepted"] = convention.path(read["accepted"])
        if read.get("positions") is not None:
            read["positions"] = convention.placed(read["positions"], length)
        if read.get("visible") is not None and read.get("tokens") is not None:
            count, layout = len(read["tokens"]), {convention.mask: convention.whole(read["visible"], length)}
            read["visible"] = answers.visible(layout, count, length - 1 + count)
        return read


def _accounts(told: list[int], text: list[int], last: int) -> bool:
    """Whether what was told is this text, or goes on after it within its last round, of which some is emitted."""
    return told[: len(text)] == text and (told == text or len(told) - len(text) < last)


def _picked(shown: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields that are named, or without names those that a mapping has."""
    if names:
        return {ours: answers.field(shown, theirs) for ours, theirs in names.items()}
    if not isinstance(shown, Mapping):
        raise AdapterError(
            f"a record is {answers.short(shown)}; expected a mapping, or rounds=... that names its fields"
        )
    return dict(shown)
