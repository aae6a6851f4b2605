"""Approximate: every row is resampled on its own and the longest one wins (Medusa's nucleus mode).

    for each path from the root to a leaf: draw t ~ p at every node, anew for each path, until t is not the path's next token
    emit the longest of these texts, its own last draw included; among equals the first

Each row alone is sample-match and right. Choosing the longest prefers texts that were drafted, more so the more rows there are:
with a single row it is R0, and exact.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome, paths_of


def longest_row(coin: Coin, tree: DraftTree) -> Outcome:
    """See the module."""
    return max((_row(coin, tree, path) for path in paths_of(tree)), key=lambda outcome: len(outcome.accepted))


def _row(coin: Coin, tree: DraftTree, path: tuple[int, ...]) -> Outcome:
    here = ROOT
    for length, node in enumerate(path):
        target, token = tree.target(here), tree.token(node)
        if not coin.accept(target[token]):  # t is some other token; which one matters only if this row wins
            return Outcome(path[:length], target.untried(frozenset({token})))
        here = node
    return Outcome(path, tree.target(here))
