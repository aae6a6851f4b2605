"""Planted faults that trees of two siblings and two levels do not show: what is done for two of something, and not for a third.

Loops that are unrolled for two, buffers sized for a pair, and a row looked up one level too high from the third level on are
right on every pair and on every chain of two.
"""

from __future__ import annotations

from tree_oracle.faults.laws.fault import LawFault
from tree_oracle.faults.laws.trees import SeenTree
from tree_oracle.record.names import by_name
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.law import GOLDEN, INSTANCES, Declaration, NodeScheme, TreeScheme
from tree_oracle.verify.probabilities import Law, ratio
from tree_oracle.verify.rules import (
    PROPOSALS,
    ByDepth,
    DraftTree,
    Outcome,
    Siblings,
    Verdict,
    Walk,
    multi_round,
    ratio_chain,
)
from tree_oracle.verify.rules.protocol import ROOT, accepted, drawn_from

_INDEPENDENT = PROPOSALS["independent"]
_ZEROS = by_name(INSTANCES)["zeros"].models  # whose residual has several tokens left after two siblings
_TRIPLE, _THREE_LEVELS = ByDepth((3,)), ByDepth((1, 1, 1))


def updated_twice(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Multi-round sampling whose target is updated after the first and the second rejection only."""
    for child, token in enumerate(siblings.tokens):
        if coin.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
        target = target.minus(siblings.draft) if child < 2 else target
    return drawn_from(target)


class RowAbove(SeenTree):
    """A tree whose third level is tested by the row of its grandparents, where its parents' is due."""

    def __init__(self, tree: DraftTree) -> None:
        super().__init__(tree)
        self._paths: dict[int, tuple[int, ...]] = {ROOT: ()}  # the nodes above each node, the root first

    def children(self, node: int) -> tuple[int, ...]:
        """See ``DraftTree``."""
        found = super().children(node)
        self._paths |= dict.fromkeys(found, (*self._paths[node], node))
        return found

    def target(self, node: int) -> Law:
        """The parent's row for a node of the second level that has children."""
        above = self._paths[node]
        tests = len(above) == 2 and super().children(node)
        return super().target(above[-1] if tests else node)


def third_level_by_the_row_above(coin: Coin, tree: DraftTree) -> Outcome:
    """The ratio rule along a chain, one row too high at the third test."""
    return Walk(ratio_chain)(coin, RowAbove(tree))


WIDE_FAULTS = (
    LawFault(
        name="residual-updated-twice-at-most",
        check="LAW-01",
        sentence="the residual is updated after the first and the second rejected sibling, and not after the third",
        wakes="three siblings",
        seen_in="loops over siblings that are unrolled for a pair",
        scheme=NodeScheme(updated_twice, _INDEPENDENT, _TRIPLE),
        twin_sentence="it is updated after every one",
        twin=NodeScheme(multi_round, _INDEPENDENT, _TRIPLE),
        declared=Declaration(rule="multi-round", proposal="independent", siblings=3),
        models=_ZEROS,
    ),
    LawFault(
        name="third-level-by-the-row-above",
        check="LAW-01",
        sentence="a draft of the third level is tested by its grandparent's row",
        wakes="three levels",
        seen_in="rows looked up by parent offsets that are right for two levels",
        scheme=TreeScheme(third_level_by_the_row_above, _INDEPENDENT, _THREE_LEVELS),
        twin_sentence="it is tested by its parent's row",
        twin=TreeScheme(Walk(ratio_chain), _INDEPENDENT, _THREE_LEVELS),
        declared=Declaration(rule="ratio-chain", proposal="independent", siblings=1),
        models=GOLDEN.models,
        tokens=3,
    ),
)
