"""What a request that several ranks recorded gives RANK to judge: the whole text, each round beside those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from tree_oracle.record import Peer, Round, Status, counted
from tree_oracle.run.outcome import Outcome
from tree_oracle.run.trace_cases import Reader, Recounted
from tree_oracle.trace import Head, Replay, Request, peer_of

_NAMED = 8  # ranks without a file that are named


@dataclass(frozen=True, slots=True)
class Ranks:
    """The same request as ``others`` recorded it; the text as ``reader`` reads it."""

    reader: Reader
    others: Sequence[Request]

    def texts(self, request: Request) -> Iterator[Recounted]:
        """The whole text. A rank that is done while another goes on runs rounds that emit nothing.

        The prompt is the same, and so are the texts until a rank emits something else: what was committed before it is shown
        in the first round, and in the first one before which the texts part. To show it in all would take the square of them.
        """
        (found,) = self.reader.texts(request)
        count = max(len(one.rounds) for one in (request, *self.others)) if request.done else len(request.rounds)
        missing = (Round(emitted=(), rank=request.rank),) * (count - len(request.rounds))
        place = self._parted(request, count)
        rounds = tuple(
            msgspec.structs.replace(round_, peers=self._peers(number, prefix=number in (0, place)))
            for number, round_ in enumerate((*found.replay.rounds, *missing))
        )
        parted = None if place is None else (place, tuple(request.text[: _before(request, place)]))
        yield replace(found, replay=Replay(request.prompt, rounds), parted=parted)

    def _peers(self, number: int, *, prefix: bool) -> tuple[Peer, ...]:
        found = (peer_of(one, number, prefix=prefix) for one in self.others)
        return tuple(peer for peer in found if peer is not None)

    def _parted(self, request: Request, count: int) -> int | None:
        """The first round before which some rank has another text."""
        return next((number for number in range(1, count) if self._part(request, number)), None)

    def _part(self, request: Request, number: int) -> bool:
        """Whether texts that were the same before the last round are not before this one."""
        begin, end = _before(request, number - 1), _before(request, number)
        return any(
            _before(one, number) != end or one.text[begin:end] != request.text[begin:end]
            for one in self.others
            if number < len(one.rounds) or one.done
        )


def without_files(heads: Sequence[Head]) -> str:
    """That a run had more ranks than the traces that were named, and which, in words; empty if it had no others."""
    count, here = heads[0].ranks, {head.rank for head in heads}
    if len(here) == count:
        return ""
    missing = [str(rank) for rank in islice((rank for rank in range(count) if rank not in here), _NAMED)]
    more = count - len(here) - len(missing)
    listed = ", ".join([*missing, *([f"and {more} more"] if more else [])])
    return f"{len(here)} of {counted(count, 'rank')} agree; the files of the others are not named: {listed}"


def of_all_ranks(outcome: Outcome, missing: str) -> Outcome:
    """That ranks agree is said of all of them or of none; ``missing``: as of ``without_files``."""
    if not missing or outcome.status is not Status.PASSED:
        return outcome
    return replace(outcome, status=Status.UNDECIDED, reason=missing)


def _before(request: Request, number: int) -> int:
    """How many tokens were committed before a round; all, where there is no such round."""
    return request.rounds[number].before if number < len(request.rounds) else len(request.text)
