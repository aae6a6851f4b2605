"""Position-wise acceptance: of the rounds that propose position j, the share that accepts at least j tokens.

Positions count from 1 here (TreeSpark and DeepSpec write j from 0: their j is ours less one). "A round proposes position j"
has two readings, which agree on full trees and differ where branches end early:

    in the tree    some node has depth j                           DeepSpec's ``accept_rate@j``
    on the path    the node accepted at depth j - 1 has a child    the chance of one more step, once this far

Source: the position-wise acceptance of the TreeSpark paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction

from tree_oracle.metrics.counts import MetricError, RoundCounts, count_round
from tree_oracle.record import Round


class Proposes(StrEnum):
    """When a round is said to propose a position."""

    IN_TREE = "in the tree"
    ON_PATH = "on the path"


def position_rates(
    requests: Iterable[Sequence[Round]], reading: Proposes = Proposes.IN_TREE
) -> tuple[tuple[int, int], ...]:
    """For each position from 1 on: rounds that accept at least so many tokens, and rounds that propose the position.

    The pairs are integers, so that they can be added up over runs; ``rate`` divides one. No pair is (0, 0).

    Raises:
        MetricError: a round does not show its tree and its accepted path.
    """
    rounds = [count_round(round_) for rounds in requests for round_ in rounds]
    reach = [_reach(round_, reading) for round_ in rounds]
    return tuple(
        (sum(r.matched >= j for r in rounds), sum(most >= j for most in reach))
        for j in range(1, max(reach, default=0) + 1)
    )


def rate(pair: tuple[int, int]) -> Fraction:
    """Accepting over proposing rounds.

    Raises:
        MetricError: no round proposes the position.
    """
    if not pair[1]:
        raise MetricError(f"{pair[0]} of {pair[1]} rounds; expected at least one that proposes the position")
    return Fraction(*pair)


def _reach(round_: RoundCounts, reading: Proposes) -> int:
    """The largest position that the round proposes; it proposes every smaller one too."""
    if reading is Proposes.IN_TREE:
        return round_.levels
    last = round_.accepted[-1] if round_.accepted else 0
    return round_.matched + (last in round_.parents)
