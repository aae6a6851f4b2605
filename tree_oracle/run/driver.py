"""Driving a decoder once per seam and case, however many checks judge the rounds; and asking some questions twice.

A decoder that answers the same question differently has failed. One listed case in two and one generated case in four is
driven a second time, by the id of the case, and of whole texts and sessions, which cost most, half as many; on a real model,
where a kernel may sum in another order, only decisions are compared.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from itertools import takewhile
from typing import Any

from tree_oracle.checks.drive import drive
from tree_oracle.checks.guard import agree
from tree_oracle.checks.passes import Passes, passes_of, texts_of
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import AdapterError, Case, DecoderError, Earlier, Round, TreeOracleError, Unsupported, case_id

_KEPT = 4096  # results held; a case with its cache rows takes some 50 kB
_ONE_IN_LISTED, _ONE_IN_GENERATED = 2, 4

_DECISIONS = (
    "tokens",
    "parents",
    "emitted",
    "accepted",
    "bonus",
    "kept",
    "positions",
    "visible",
    "end",
    "pools",
    "length",
    "pages",
)
_ALL = (*_DECISIONS, "rows", "processed", "scores", "cache")


def asked_twice(case: Case) -> bool:
    """Whether to ask twice: never where a text is sampled, which a decoder may do by chance of its own."""
    if case.law is not None and not case.trees:
        return False
    rarely = 1 if case.limits is None else 2
    return int(case_id(case), 16) % (rarely * (_ONE_IN_LISTED if case.note else _ONE_IN_GENERATED)) == 0


class Driver:
    """One decoder, with its answers kept."""

    def __init__(self, decoder: Any, vocab_size: int, *, exact: bool, model: Any = None, given: Any = None) -> None:
        """``model``: the module that is watched; ``given``: the one that the decoder was given, if that is another."""
        self._decoder, self._vocab_size, self._model = decoder, vocab_size, model
        self._beside = None if given is model else given
        self._compared = _ALL if exact else _DECISIONS
        self._passes: dict[str, Passes] = {}  # by case, what the target was seen to run while whole texts came about
        self._kept: OrderedDict[tuple[Seam, str], tuple[Round, ...] | TreeOracleError] = OrderedDict()
        self._history: dict[tuple[Seam, str], Case] = {}  # in the order in which they were asked first

    def rounds(self, seam: Seam, case: Case) -> tuple[Round, ...]:
        """What the decoder shows, from memory if it was asked before.

        Raises:
            DecoderError, AdapterError, Unsupported, NotTaken, Unexplained: as ``drive``; and DecoderError if two answers
                differ.
        """
        key = (seam, case_id(case))
        if key not in self._kept:
            self._history.setdefault(key, case)
            self._kept[key] = self._attempt(seam, case)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        found = self._kept[key]
        if isinstance(found, TreeOracleError):
            raise found.with_traceback(None)  # raised many times: it must not gather frames
        return found

    def passes(self, case: Case) -> Passes | None:
        """What the target was seen to run while the decoder generated; None where it did not, or nobody could watch."""
        return self._passes.get(case_id(case))

    def ask(self, seam: Seam, case: Case) -> None:
        """Drive it for what it leaves behind alone."""
        self._attempt(seam, case)

    def before(self, seam: Seam, case: Case) -> tuple[Earlier, ...]:
        """What the decoder was asked before this case came through this seam, in order; all, if it never did."""
        end = (seam, case_id(case))
        return tuple(
            Earlier(key[0].value, asked) for key, asked in takewhile(lambda one: one[0] != end, self._history.items())
        )

    def _attempt(self, seam: Seam, case: Case) -> tuple[Round, ...] | TreeOracleError:
        try:
            rounds = self._drive(seam, case)
            if asked_twice(case):
                agree(seam.value, self._compare(rounds), self._compare(self._again(seam, case)))
            return rounds
        except TreeOracleError as error:
            return error.with_traceback(None)

    def _drive(self, seam: Seam, case: Case) -> tuple[Round, ...]:
        if seam is not Seam.GENERATE or self._model is None:
            return drive(self._decoder, seam, case, self._vocab_size, model=self._model)
        from tree_oracle.decoder.tap_count import counted  # resolved here, since it loads torch

        with (
            counted(self._model) as calls,
            nullcontext(()) if self._beside is None else counted(self._beside) as others,
        ):
            rounds = drive(self._decoder, seam, case, self._vocab_size)
        # A module that is named and never run hides nothing.
        self._passes[case_id(case)] = passes_of(calls or others, texts_of(case, rounds))
        return rounds

    def _again(self, seam: Seam, case: Case) -> tuple[Round, ...]:
        try:
            return self._drive(seam, case)
        except (AdapterError, Unsupported) as other:
            raise DecoderError(f"{seam.value} answered once; the second time, on the same input: {other}") from other

    def _compare(self, rounds: tuple[Round, ...]) -> list[dict[str, Any]]:
        return [{name: getattr(round_, name) for name in self._compared} for round_ in rounds]
