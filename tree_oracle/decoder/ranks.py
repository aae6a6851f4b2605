"""A simulated group of ranks: what every rank of a decoder that is spread over several devices would hold of a round.

Rule: rank 0 drafts and decides, and all others take the tree, the decision and the count of accepted tokens from it. They have
to, since their own logits are not the same bits. Here nothing is spread over anything: the ranks beyond 0 are simulated, with
the worst noise of its size, which takes ``NOISE`` of a row's spread off its largest logit:

    |second largest - largest| < NOISE x (largest - smallest)    is a near tie, which such a rank would break the other way
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.record import EndReason, Peer
from tree_oracle.tree import CandidateTree

if TYPE_CHECKING:
    from tree_oracle.decoder.parts import Decision, Keep, Walker

NOISE = 1 / 64

Rows: TypeAlias = Float[np.ndarray, "n vocab"]


def own_rows(rows: Rows) -> Rows:
    """The rows as another rank computes them."""
    noisy = rows.copy()
    spread = rows.max(axis=1) - rows.min(axis=1)
    noisy[np.arange(len(rows)), rows.argmax(axis=1)] -= (NOISE * spread).astype(rows.dtype)
    return noisy


def received_tree(tree: CandidateTree, rank: int) -> CandidateTree:
    """The tree of rank 0."""
    return tree


def received_decision(walk: Walker, tree: CandidateTree, rows: Rows, decision: Decision) -> Decision:
    """The decision of rank 0; what ``own_rows`` of its ``rows`` would say is not asked."""
    return decision


def received_count(count: int) -> int:
    """How many tokens rank 0 has emitted."""
    return count


Draft = Callable[[CandidateTree, int], CandidateTree]
Decide: TypeAlias = "Callable[[Walker, CandidateTree, Rows, Decision], Decision]"


@dataclass(frozen=True, slots=True)
class RankParts:
    """What the other ranks do. A planted fault replaces exactly one of them."""

    draft: Draft = field(default=received_tree)
    decide: Decide = field(default=received_decision)
    count: Callable[[int], int] = field(default=received_count)


@dataclass(slots=True)
class Rank:
    """One simulated rank beyond 0, and the text that it believes to have."""

    rank: int
    parts: RankParts
    committed: list[int]

    def follow(
        self,
        tree: CandidateTree,
        rows: Rows,
        decision: Decision,
        emitted: Sequence[int],
        end: EndReason | None,
        walk: Walker,
        keep: Keep,
    ) -> Peer:
        """Its record of a round that rank 0 has done."""
        prefix, own = tuple(self.committed), self.parts.draft(tree, self.rank)
        found = self.parts.decide(walk, own, rows, decision)
        told = (*(int(own.tokens[v]) for v in found.accepted), found.bonus)[: len(emitted)]
        self.committed += told
        return Peer(
            rank=self.rank,
            prefix=prefix,
            tokens=tuple(own.tokens.tolist()),
            parents=tuple(own.parents.tolist()),
            accepted=found.accepted,
            bonus=found.bonus,
            emitted=told,
            kept=tuple(keep(own, found, self.parts.count(len(told))).tolist()),
            end=end,
        )
