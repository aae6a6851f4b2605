"""R10, traversal verification (Weng et al.): leaves first, and what a rejected subtree leaves over goes to its parent.

    depth first, P as in R9: accept the path to a leaf with probability P and draw from the leaf's law
    on reject, at the parent:  M = (P p - q)_+,  S = sum M,  p <- norm M,  P <- S / (S + 1 - P),  q <- norm(q, x -> 0)
    then the next sibling's subtree; after the last one the parent is a leaf itself, and the root draws from its current p

Exact if siblings are draws without replacement in the order of the draw. On a chain it is R9.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Number, ratio
from tree_oracle.verify.rules.block import kept_weight
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome


def traversal(coin: Coin, tree: DraftTree) -> Outcome:
    """See the module."""
    found = _visit(coin, tree, (), 1)
    assert found is not None, "the root is accepted with certainty"
    return found


def _visit(coin: Coin, tree: DraftTree, path: tuple[int, ...], weight: Number) -> Outcome | None:
    node = path[-1] if path else ROOT
    target, tried = tree.target(node), frozenset[int]()
    for child in tree.children(node):
        token, draft = tree.token(child), tree.draft(node).untried(tried)
        below = _visit(coin, tree, (*path, child), ratio(weight * target[token], draft[token]))
        if below is not None:
            return below
        mass, target = target.excess(draft, weight)
        weight, tried = kept_weight(mass, weight), tried | {token}
    if not path or coin.accept(weight):
        return Outcome(path, target)
    return None
