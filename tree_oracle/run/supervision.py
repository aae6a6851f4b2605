"""What somebody outside of a battery wants to know while it runs, and has to tell it. By default nobody watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from tree_oracle.checks import Source
from tree_oracle.record import Case, CheckResult


def _unwatched(source: Source, case: Case) -> AbstractContextManager[object]:
    return nullcontext()


def _unheard(result: CheckResult) -> None:
    """Nobody asked."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """Ears and orders."""

    watch: Callable[[Source, Case], AbstractContextManager[object]] = _unwatched  # entered around every drive
    on_failure: Callable[[CheckResult], None] = _unheard  # called with what is known before a failure is made smaller
    deadly: Mapping[tuple[str, str], str] = field(
        default_factory=dict
    )  # seam and case id: how it killed a process before
    as_found: frozenset[str] = frozenset()  # checks whose failure is neither shrunk nor diagnosed


NOBODY = Supervision()
