"""The lines of a trace: one JSON object each, told apart by ``kind``.

    trace     the head, always first: format, version, what was recorded and where
    request   a new request, numbered 0, 1, 2, ... : its prompt and limits
    round     one round of a request that is open
    done      the request has returned; nothing of it follows
    end       nothing follows at all

``n`` counts the lines from 0. ``crc`` may be the last member of a line: the CRC-32, in eight hex digits, of all bytes before
its comma. A round holds no prefix: it is the prompt and what was emitted since. Its arrays stand in it, or ``beside`` names
those in the file ``TRACE.arrays/N.safetensors`` (``n`` in nine digits); rows may be summarised in place of either.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from tree_oracle.record import Array, Count, Limits, Round, Token

TRACE_FORMAT = "tree-oracle-trace"
TRACE_VERSION = 1


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    n: Count
    crc: str | None = None


class Head(_Line, frozen=True, kw_only=True, tag="trace"):
    """What was recorded and where. One file for each rank."""

    format: str
    version: int
    decoder: str = ""
    target: str = ""
    engine: str = ""  # what runs the target
    rank: Count = 0
    ranks: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 1
    environment: dict[str, str] = {}


class RequestLine(_Line, frozen=True, kw_only=True, tag="request"):
    """A request begins. Without limits nothing is known of where its text must end."""

    request: Count
    prompt: tuple[Token, ...]
    limits: Limits | None = None
    greedy: bool = True  # false where tokens are drawn by chance


class Summary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of rows over ``vocab`` tokens, per row."""

    vocab: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    tokens: (
        Array  # int32, n x top: the tokens of the largest values, largest first, of equal ones the smaller token first
    )
    values: Array  # float32 or float64, n x top
    maximum: Array  # the same dtype, n
    log_sum_exp: Array  # float64, n
    sha256: tuple[str, ...]  # of all values of the row, little-endian in that dtype


class RoundLine(_Line, frozen=True, kw_only=True, tag="round"):
    """One round, with its arrays or the names of those in a file of their own."""

    round: Round
    beside: tuple[str, ...] = ()
    summary: Summary | None = None


class DoneLine(_Line, frozen=True, kw_only=True, tag="done"):
    """The decoder has returned the text of a request."""

    request: Count


class EndLine(_Line, frozen=True, kw_only=True, tag="end"):
    """Everything was written."""

    requests: Count
    rounds: Count


Line: TypeAlias = Head | RequestLine | RoundLine | DoneLine | EndLine
