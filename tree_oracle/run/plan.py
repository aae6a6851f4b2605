"""What is asked of a run, as plain data: it can be sent to another process, and two runs can be told apart by it."""

from __future__ import annotations

import msgspec

from tree_oracle.record import Earlier
from tree_oracle.run.budget import Budget


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decoder, one target, some checks. Everything here has a part in what the results are."""

    decoder: str  # reference, fault:NAME or module:attribute
    target: str | None = None  # None: what ``make_subject`` takes by default
    device: str = "cpu"
    dtype: str = "float32"
    attention: str = "sdpa"
    tolerance: str | None = None  # file of a tolerance report; None: the floor is measured on the spot
    checks: tuple[str, ...]
    budget: Budget = Budget()
    as_found: tuple[str, ...] = ()  # checks whose failure is neither shrunk nor diagnosed
    power: bool = False  # whether wrong answers are planted behind the adapter as well
    earlier: tuple[Earlier, ...] = ()  # requests that the decoder answers before each case that is handed to the run
