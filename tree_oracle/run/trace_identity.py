"""Which trace was judged and how, as it stands in the environment of a report: so that it is known again, and judged again.

    trace file N            its path, as it was given
    trace sha256 N          of its bytes, as they were read
    trace arrays sha256 N   of the array files beside it, if there are any (``trace.digests``)
    trace requests          how many requests were judged at most, if somebody said so
    trace ties              which of equal maxima was right, if it was not the smallest

N counts the files from 1: those of several ranks are judged together. The digest of a report on a trace is the SHA-256 over the
lines ``number case greedy`` of the requests that were judged, the case being prompt and limits: reports with the same digest
judged the same requests, whatever was answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from tree_oracle.record import Case, TieRule, case_id
from tree_oracle.trace import Request, Requests, TraceReader, arrays_digest

FILE, SHA256, ARRAYS = "trace file", "trace sha256", "trace arrays sha256"
MOST, TIES = "trace requests", "trace ties"


def identity(readers: Sequence[TraceReader], most: int | None, tie_rule: TieRule) -> dict[str, str]:
    """The entries of traces that were read to their ends.

    Raises:
        NotATrace: an array file cannot be read.
    """
    found = dict[str, str]()
    for number, reader in enumerate(readers, 1):
        arrays = arrays_digest(reader.path)
        found |= {f"{FILE} {number}": str(reader.path), f"{SHA256} {number}": reader.sha256}
        found |= {f"{ARRAYS} {number}": arrays} if arrays else {}
    found |= {MOST: str(most)} if most is not None else {}
    return found | ({TIES: tie_rule.value} if tie_rule is not TieRule.SMALLEST else {})


def told_of(requests: Requests, judged: int) -> dict[str, str]:
    """What a trace that was read says of its run, and how much of it was judged."""
    head, reader = requests.head, requests.reader
    assert head is not None
    told = "whole" if reader.complete else f"broken off after line {reader.line}"
    return {
        **{f"recorded {name}": value for name, value in head.environment.items()},
        "engine": head.engine or "not said",
        "trace": f"{told}: {reader.requests} requests, {judged} judged, {reader.rounds} rounds",
    }


def trace_files(environment: Mapping[str, str]) -> list[str]:
    """The paths of the traces that a report is on; none if it is on something else."""
    found = list[str]()
    while (path := environment.get(f"{FILE} {len(found) + 1}")) is not None:
        found.append(path)
    return found


class RequestsDigest:
    """The digest of requests, one after the other."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._any = False

    def take(self, request: Request) -> None:
        """The next request."""
        case = case_id(Case(prefix=request.prompt, limits=request.limits))
        self._sha256.update(f"{request.number} {case} {request.greedy}\n".encode())
        self._any = True

    @property
    def hex(self) -> str:
        """Of those that were taken; empty if none was."""
        return self._sha256.hexdigest() if self._any else ""
