"""Approximate: the best-scoring branch that happens to be drafted, whatever the target would have said outside the tree.

    per step   go to the child of largest p until there is none, then draw from p
    per path   go to the leaf whose path has the largest product of p, then draw from p

A search policy: it never leaves the tree while there is a child, so a token that was not drafted cannot be emitted there.
Equal scores: the first child, the first path depth first.
"""

from __future__ import annotations

from fractions import Fraction

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome, Siblings, Verdict, accepted, paths_of


def best_step(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module; a node rule that tosses no coin."""
    return accepted(max(range(len(siblings.tokens)), key=lambda child: target[siblings.tokens[child]]))


def best_path(coin: Coin, tree: DraftTree) -> Outcome:
    """See the module; a whole-tree rule that tosses no coin."""
    path = max(paths_of(tree), key=lambda path: _score(tree, path))
    return Outcome(path, tree.target(path[-1] if path else ROOT))


def _score(tree: DraftTree, path: tuple[int, ...]) -> Number:
    score: Number = Fraction(1)
    for parent, node in zip((ROOT, *path), path, strict=False):
        score *= tree.target(parent)[tree.token(node)]
    return score
