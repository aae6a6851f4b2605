"""Where mask and positions of a target call are those of different trees, and no text tells which of the two was meant.

The tap reads a tree off a call: node v sees S(v), and its position says how deep it is.

    the mask's tree          S(v) = S(parent) + {v}
    the trees of positions   parent: an earlier node at the position before v's, one that v sees if there is one

Where only one of the two is a tree's the other is wrong. Where both are, of different trees, one of them is wrong, and the text
decides: a branch that was accepted is a branch of the tree that was meant. It decides for all calls of a request alike. A text
that both trees hold decides nothing: then no law of masks and none of positions is known to be broken, though one of them is,
and rows show that. Trees that were handed over, or that a decoder shows, are known, and leave no doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.checks.say import listing, unsure
from tree_oracle.checks.view import View
from tree_oracle.record import Finding, Round

Mask = Bool[np.ndarray, "n n"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """One call that two trees fit."""

    node: int  # the first whose depth they do not agree on
    by_mask: int  # its depth by the mask
    by_position: int
    masks: tuple[int, ...]  # parents by the mask
    above: tuple[tuple[int, ...], ...]  # nodes that may be the parent by position


@dataclass(frozen=True, slots=True)
class Told:
    """The rounds of a view, told apart by whether their tree is known."""

    rounds: tuple[Round, ...]
    doubts: dict[int, Doubt]

    @property
    def known(self) -> list[tuple[int, Round]]:
        """Those whose tree is known, by number."""
        return [(index, round_) for index, round_ in enumerate(self.rounds) if index not in self.doubts]

    def unsure(self) -> Iterator[Finding]:
        """What a law of masks or of positions has to say of the others, behind what it found in those that are known."""
        for index, doubt in self.doubts.items():
            yield _unsure(doubt, index, self.rounds[index])


def told_apart(view: View) -> Told:
    """The rounds that a law of masks or of positions judges."""
    return Told(view.rounds, doubts_of(view))


def doubts_of(view: View) -> dict[int, Doubt]:
    """The rounds of a tapped request, by number, whose tree is not known; empty where something tells it."""
    return doubts_in(view.rounds) if view.recovered else {}


def doubts_in(rounds: Sequence[Round]) -> dict[int, Doubt]:
    """The same of rounds that are known to be read off the calls of one request."""
    found = {number: doubt for number, round_ in enumerate(rounds) if (doubt := _doubt(round_)) is not None}
    read = [(rounds[number], doubt) for number, doubt in found.items()]
    by_mask = all(_holds(round_, [(parent,) for parent in doubt.masks]) for round_, doubt in read)
    by_position = all(_holds(round_, doubt.above) for round_, doubt in read)
    return found if by_mask and by_position else {}


def readings_of(rounds: Sequence[Round]) -> list[tuple[Round, ...]]:
    """Rounds as they are read off calls, and, where there is doubt, with the trees of their masks if these are others."""
    by_mask = list(rounds)
    for number, doubt in doubts_in(rounds).items():
        by_mask[number] = msgspec.structs.replace(rounds[number], parents=doubt.masks)
    other = any(mine.parents != theirs.parents for mine, theirs in zip(by_mask, rounds, strict=True))
    return [tuple(rounds), *([tuple(by_mask)] if other else [])]


def _unsure(doubt: Doubt, number: int, round_: Round) -> Finding:
    """What a law of masks or of positions has to say of such a round."""
    assert round_.positions is not None
    node = doubt.node
    return unsure(
        f"{contradiction_at(doubt)}: one of the two is wrong, and no emitted text goes there to tell which",
        expected="one tree, told alike by mask and positions",
        seen=f"node {node} is at position {round_.positions[node]}, the root at {round_.positions[0]}, and sees nodes "
        f"{listing(np.flatnonzero(_nodes(round_)[node]).tolist())}",
        round=number,
        node=node,
    )


def contradiction_at(doubt: Doubt) -> str:
    """The contradiction, in words."""
    depths = f"depth {doubt.by_mask} by what it sees, depth {doubt.by_position} by where it sits"
    return f"mask and positions contradict each other at node {doubt.node}, which has {depths}"


def _nodes(round_: Round) -> Mask:
    assert round_.visible is not None and round_.tokens is not None
    return np.asarray(round_.visible.numpy(), dtype=bool)[:, -len(round_.tokens) :]


def _doubt(round_: Round) -> Doubt | None:
    if round_.visible is None or round_.positions is None or len(round_.tokens or ()) < 2:
        return None
    seen, steps = _nodes(round_), np.asarray(round_.positions) - round_.positions[0]
    depths = np.count_nonzero(seen, axis=1) - 1
    if np.array_equal(depths, steps):
        return None
    masks, above = _parents_by_mask(seen), _above(seen, steps)
    if masks is None or not all(above[1:]):
        return None
    node = int(np.flatnonzero(depths != steps)[0])
    return Doubt(node, int(depths[node]), int(steps[node]), masks, above)


def _holds(round_: Round, above: Sequence[Sequence[int]]) -> bool:
    """Whether what was emitted before the last token is a branch, where each node has one of these parents."""
    assert round_.tokens is not None
    here = {0}
    for token in round_.emitted[:-1]:
        here = {v for v, nodes in enumerate(above) if v and round_.tokens[v] == token and here.intersection(nodes)}
    return bool(here)


def _parents_by_mask(seen: Mask) -> tuple[int, ...] | None:
    """Whose branch and itself each node sees; None where a node sees no such thing."""
    owner = {row.tobytes(): node for node, row in enumerate(seen)}
    others = seen & ~np.eye(len(seen), dtype=bool)
    parents = [owner.get(row.tobytes(), -1) for row in others[1:]]
    rooted = bool(seen.diagonal().all()) and not others[0].any() and min(parents, default=0) >= 0
    return (-1, *parents) if rooted else None


def _above(seen: Mask, steps: Int[np.ndarray, " n"]) -> tuple[tuple[int, ...], ...]:
    """The earlier nodes at the position before each node's, those that it sees if there are any."""
    levels = [tuple(u for u in range(v) if steps[u] + 1 == steps[v]) for v in range(len(seen))]
    return tuple(tuple(u for u in nodes if seen[v, u]) or nodes for v, nodes in enumerate(levels))
