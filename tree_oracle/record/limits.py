"""When a generation ends, as one value handed to every decoder and to the plain loop alike.

Convention: the end token is emitted and is the last one emitted; ``max_new_tokens`` counts every emitted token, the end
token included; ``max_length`` bounds prompt plus emitted tokens.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where generation must stop. ``eos_ids`` may hold none, one or several end tokens."""

    max_new_tokens: int
    eos_ids: tuple[int, ...] = ()
    max_length: int | None = None


class EndReason(StrEnum):
    """Why nothing more is emitted."""

    EOS = "eos"
    CAP = "cap"  # max_new_tokens reached
    CONTEXT = "context"  # max_length reached


class Continuation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens after a prompt, end token included, and why they end (None: they do not end here)."""

    tokens: tuple[int, ...]
    end: EndReason | None = None
