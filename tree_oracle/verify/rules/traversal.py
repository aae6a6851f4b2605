"""R10, traversal verification (Weng et al.): leaves first, and what a rejected subtree leaves over goes to its parent.

    depth first, P as in R9: accept the path to a leaf with probability P and draw from the leaf's law
    on reject, at the parent:  M = (P p - q)_+,  S = sum M,  p <- norm M,  P <- S / (S + 1 - P),  q <- norm(q, x -> 0)
    then the next sibling's subtree; after the last one the parent is a leaf itself, and the root draws from its current p

Exact if siblings are draws without replacement in the order of the draw. On a chain it is R9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number, ratio
from tree_oracle.verify.rules.block import kept_weight
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome


@dataclass(slots=True)
class _Visit:
    """A node on the path that is being tried, with p and P as they stand."""

    node: int
    target: Law
    weight: Number
    children: Iterator[int]
    tried: frozenset[int] = frozenset()  # tokens of the children before the current one
    token: int = -1  # of the current one


def traversal(coin: Coin, tree: DraftTree) -> Outcome:
    """See the module. The path is kept in a list: no tree is too deep."""
    path = [_visit(tree, ROOT, 1)]
    while True:
        visit = path[-1]
        child = next(visit.children, None)
        if child is not None:
            visit.token = tree.token(child)
            draft = tree.draft(visit.node).untried(visit.tried)
            path.append(_visit(tree, child, ratio(visit.weight * visit.target[visit.token], draft[visit.token])))
        elif len(path) == 1 or coin.accept(visit.weight):
            return Outcome(tuple(visit.node for visit in path[1:]), visit.target)
        else:
            path.pop()
            _reject(tree, path[-1])


def _visit(tree: DraftTree, node: int, weight: Number) -> _Visit:
    return _Visit(node, tree.target(node), weight, iter(tree.children(node)))


def _reject(tree: DraftTree, visit: _Visit) -> None:
    """The subtree of the current child was rejected."""
    mass, visit.target = visit.target.excess(tree.draft(visit.node).untried(visit.tried), visit.weight)
    visit.weight = kept_weight(mass, visit.weight)
    visit.tried |= {visit.token}
