"""RANK: a decoder that is spread over several ranks decides once.

Law: after every round all ranks of a group have the same tree, accepted path, emitted tokens and lengths, bit for bit. Their
logits are not the same bits, so a rank that decides by itself strays at the first near tie, and from then on the collective
operations mix two texts. The scene ``near`` forces near ties. What a decoder shows of its other ranks is ``peers`` in a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_oracle.checks.check import Source, check
from tree_oracle.checks.near import NEAR
from tree_oracle.checks.say import NothingToJudge, fail
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.checks.view import View
from tree_oracle.checks.witness import need_witness
from tree_oracle.decoder.seams import Seam
from tree_oracle.record import Finding, Status

_SOURCES = (Source(Seam.SESSION, NEAR), Source(Seam.GENERATE, PROMPTS))
_SOURCE = "tensor-parallel decoders that broadcast what rank 0 decides"


@dataclass(frozen=True, slots=True)
class _Difference:
    """Where a rank first has something else than rank 0."""

    round: int
    rank: int
    field: str
    own: object
    first: object


def _differences(view: View, fields: Sequence[str]) -> Iterator[_Difference]:
    """In the order of rounds; a field that one side does not show is not compared.

    Raises:
        NothingToJudge: no rank shows any of the fields beside rank 0.
    """
    need_witness(view)
    compared = False
    for index, round_ in enumerate(view.rounds):
        for peer in round_.peers or ():
            for field in fields:
                first, own = getattr(round_, field), getattr(peer, field)
                compared = compared or (first is not None and own is not None)
                if first is not None and own is not None and first != own:
                    yield _Difference(index, peer.rank, field, own, first)
    if not compared:
        raise NothingToJudge(Status.NOT_OBSERVABLE, f"no other rank shows {' or '.join(fields)}")


def _alike(view: View, fields: Sequence[str], what: str) -> Iterator[Finding]:
    for found in _differences(view, fields):
        yield fail(
            f"rank {found.rank} has another {what} than rank {_rank(view, found.round)}",
            expected=f"{found.field} {found.first}",
            seen=f"{found.field} {found.own}",
            round=found.round,
        )
        return


def _rank(view: View, index: int) -> int:
    return view.rounds[index].rank


@check("RANK-01", rung=3, needs=("peers",), sources=_SOURCES, source=_SOURCE)
def ranks_verify_the_same_tree(view: View) -> Iterator[Finding]:
    """All ranks of a group verify the same tree in every round.

    Woken by a draft that every rank samples, or whose top k every rank takes, for itself.
    """
    yield from _alike(view, ("tokens", "parents"), "tree")


@check("RANK-02", rung=3, needs=("peers",), sources=_SOURCES, source=_SOURCE)
def ranks_decide_alike(view: View) -> Iterator[Finding]:
    """All ranks of a group accept the same path, emit the same tokens and end for the same reason in every round.

    Woken by a near tie on the path: a rank whose own logits break it the other way has to take the decision that was broadcast.
    """
    yield from _alike(view, ("accepted", "bonus", "emitted", "end"), "decision")


@check("RANK-03", rung=3, needs=("peers",), sources=_SOURCES, source=_SOURCE)
def ranks_keep_the_same_rows(view: View) -> Iterator[Finding]:
    """All ranks of a group keep the rows of the same nodes, and begin every round with the same text.

    Woken by any accepted draft, where the count of accepted tokens is not passed on.
    """
    yield from _alike(view, ("kept", "prefix"), "length of text or cache")
