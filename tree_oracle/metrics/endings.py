"""Why a round ended where it did, and how far what was drafted held the text that came.

Verification follows the target's own tokens down the packed tree to a node u, below which no child holds the next one, y:

    end token, stop sequence, cap   the limits end the text: no draft could have made the round longer
    at the full depth               u is as deep as anything was drafted
    cut at the frontier             u was drafted and kept, and never proposed: it was not among the best of its level
    below the parent's top k        u proposed, and y was not among what it proposed
    dropped by the budget           u proposed y, and packing left it out
    no draft                        nothing was drafted in this round

The first three lines of the tree's own making need the pool, everything that was drafted. Without it two things can be told
apart: that u is a leaf of the tree, and that it has other children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from tree_oracle.metrics.counts import MetricError, count_round
from tree_oracle.record import EndReason, Round, TreeData


class WhyEnded(StrEnum):
    """Why a round accepts no further token."""

    END_TOKEN = "end token"
    STOP = "stop sequence"
    CAP = "cap"
    DEPTH = "at the full depth"
    FRONTIER = "cut at the frontier"
    TOP_K = "below the parent's top k"
    BUDGET = "dropped by the budget"
    NO_DRAFT = "no draft"
    LEAF = "at a leaf (pool not shown)"
    NO_CHILD = "not among the children (pool not shown)"


_LIMITS = {
    EndReason.EOS: WhyEnded.END_TOKEN,
    EndReason.STOP: WhyEnded.STOP,
    EndReason.CAP: WhyEnded.CAP,
    EndReason.CONTEXT: WhyEnded.CAP,
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """One depth: rounds whose text is known so far, and how many of them hold it in the pool and in the packed tree."""

    known: int
    pool: int
    packed: int


def why_ended(round_: Round) -> WhyEnded:
    """The reason, as the module's first lines have it; what the limits ended is theirs, whatever was drafted.

    Raises:
        MetricError: the round does not show its tree, path or bonus; its last node is not in its pool; or a child holds the
            next token, so that nothing ended the round but its verification.
    """
    counts = count_round(round_)
    if round_.end is not None:
        return _LIMITS[round_.end]
    if round_.tokens is None or round_.bonus is None:
        raise MetricError(f"a round does not show {'tokens' if round_.tokens is None else 'bonus'}, by which it ended")
    tree, last = TreeData(round_.tokens, counts.parents), (0, *counts.accepted)[-1]
    offered = _below(tree, [last])
    if round_.bonus in {tree.tokens[v] for v in offered}:
        raise MetricError(f"a round goes on with token {round_.bonus}, which a child of its last node {last} holds")
    if round_.pool is None:
        return WhyEnded.NO_DRAFT if not counts.drafted else WhyEnded.NO_CHILD if offered else WhyEnded.LEAF
    path = [tree.tokens[v] for v in counts.accepted]
    return _in_pool(round_.pool, path, round_.bonus)


def _in_pool(pool: TreeData, path: Sequence[int], token: int) -> WhyEnded:
    here = _follow(pool, path)
    if len(here) <= len(path):
        raise MetricError(f"a round follows {list(path)}, of which its pool holds {len(here) - 1} tokens")
    if len(pool.tokens) == 1:
        return WhyEnded.NO_DRAFT
    proposed = {pool.tokens[v] for v in _below(pool, here[-1])}
    if token in proposed:
        return WhyEnded.BUDGET
    if proposed:
        return WhyEnded.TOP_K
    return WhyEnded.DEPTH if len(path) == max(_depths(pool)) else WhyEnded.FRONTIER


def coverage(requests: Sequence[Sequence[Round]]) -> tuple[Coverage, ...]:
    """By depth from 1 on, how often the tokens that came were drafted at all, and how often they were packed.

    The text that a round is held against is what it emits and what later rounds of the request emit: the target's own choices,
    where decoding is greedy. Rounds that show no pool are left out; depths that nobody drafted have no entry.

    Raises:
        MetricError: a round that shows a pool does not show its tree.
    """
    found = [one for rounds in requests for one in _covered(rounds)]
    return tuple(
        Coverage(
            sum(known >= depth for known, _, _ in found),
            sum(pool >= depth for _, pool, _ in found),
            sum(packed >= depth for _, _, packed in found),
        )
        for depth in range(1, max((known for known, _, _ in found), default=0) + 1)
    )


def _covered(rounds: Sequence[Round]) -> list[tuple[int, int, int]]:
    """For each round with a pool: tokens known, as deep as it was drafted, and how many of them pool and tree hold in a row."""
    found, behind = [], list[int]()  # what is emitted from here on, the last token first
    for round_ in reversed(rounds):
        behind += reversed(round_.emitted)
        if round_.pool is None:
            continue
        if round_.tokens is None or round_.parents is None:
            raise MetricError("a round shows its pool and not its tree; coverage needs both")
        known = tuple(islice(reversed(behind), max(_depths(round_.pool))))
        packed = TreeData(round_.tokens, round_.parents)
        found.append((len(known), len(_follow(round_.pool, known)) - 1, len(_follow(packed, known)) - 1))
    return found


def _follow(tree: TreeData, text: Sequence[int]) -> list[list[int]]:
    """The nodes that hold the first 0, 1, 2, ... tokens, as far as there are any; equal siblings are followed together."""
    levels = [[0]]
    for token in text:
        following = [v for v in _below(tree, levels[-1]) if tree.tokens[v] == token]
        if not following:
            break
        levels.append(following)
    return levels


def _below(tree: TreeData, nodes: Sequence[int]) -> list[int]:
    return [v for v, parent in enumerate(tree.parents) if parent in nodes]


def _depths(tree: TreeData) -> list[int]:
    found: list[int] = []
    for parent in tree.parents:
        found.append(found[parent] + 1 if found else 0)
    return found
