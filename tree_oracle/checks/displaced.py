"""Whether rows had to be moved at all: the outcome that every check of a commit stands on.

Rule: a round *displaces* rows if its accepted nodes are not the nodes 1, 2, 3, ... of its pass, in this order. A commit that
keeps the first rows of the pass, whatever was accepted, is right everywhere else. Where trees are handed over the scenes see
to it; what a decoder drafts by itself may never bring it about, and then rows that are right say nothing about a commit. A
chain displaces nothing, ever: there an accepted node is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View, branches, by_request
from tree_oracle.record import Round, Status

_NOTHING_MOVED = (
    "no accepted node lies outside the next slot in these drafts of the decoder's own{}, so no row had to be moved"
)
_NOTHING_KEPT = "no node is accepted in these drafts of the decoder's own{}, so no row of a node was kept"


def accepted_in(round_: Round) -> tuple[int, ...]:
    """The accepted nodes; of a round that does not show them the branch that holds what it emitted before its last token."""
    if round_.accepted is not None:
        return round_.accepted
    tokens, parents = round_.tokens or (), round_.parents or ()
    path = [0]
    for token in round_.emitted[:-1]:
        below = (v for v in range(1, len(tokens)) if parents[v] == path[-1] and tokens[v] == token)
        child = next(below, None)
        if child is None:
            break
        path.append(child)
    return tuple(path[1:])


def displaces(round_: Round) -> bool:
    """Whether its accepted nodes lie elsewhere than in the first slots after the root."""
    accepted = accepted_in(round_)
    return accepted != tuple(range(1, len(accepted) + 1))


def followed(rounds: Sequence[Round]) -> Iterator[Round]:
    """The rounds after which their request has another."""
    for own in by_request(rounds):
        yield from own[:-1]


def need_displaced(view: View, built_on: Sequence[Round], *, after: str = "") -> None:
    """Called where nothing is wrong, before that is taken for a pass; ``built_on`` are the rounds whose commit was looked at.

    Raises:
        NothingToJudge: the decoder drafted by itself, and no commit had anything to move.
    """
    if view.case.trees or view.case.batch:
        return
    if any(branches(round_) for round_ in built_on):
        if not any(map(displaces, built_on)):
            raise NothingToJudge(Status.NOT_OBSERVABLE, _NOTHING_MOVED.format(after))
    elif not any(map(accepted_in, built_on)):
        raise NothingToJudge(Status.NOT_OBSERVABLE, _NOTHING_KEPT.format(after))
