"""Wrong whole-tree rules, and builders that decide about a node after they have seen its token."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.coin_kept import KeptCoin
from tree_oracle.verify.law import BuiltScheme
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules import (
    Context,
    DraftTree,
    DrawnTree,
    Models,
    NodeRule,
    Outcome,
    Proposal,
    Siblings,
    TreeRule,
    Verdict,
    Walk,
    Widths,
)
from tree_oracle.verify.rules.block import chain_of, kept_weight, path_weights
from tree_oracle.verify.rules.protocol import ROOT


class SeenTree:
    """A drafted tree as a wrong rule sees it; those below see some of it otherwise."""

    def __init__(self, tree: DraftTree) -> None:
        self._tree = tree

    def children(self, node: int) -> tuple[int, ...]:
        """See ``DraftTree``."""
        return self._tree.children(node)

    def token(self, node: int) -> int:
        """See ``DraftTree``."""
        return self._tree.token(node)

    def target(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._tree.target(node)

    def draft(self, node: int) -> Law:
        """See ``DraftTree``."""
        return self._tree.draft(node)


class FilteredTree(SeenTree):
    """A tree of which only some nodes are left."""

    def __init__(self, tree: DraftTree, kept: Collection[int]) -> None:
        super().__init__(tree)
        self._kept = kept

    def children(self, node: int) -> tuple[int, ...]:
        """Those that are left."""
        return tuple(child for child in super().children(node) if child in self._kept)


def filtered(
    rule: TreeRule, proposal: Proposal, widths: Widths, keep: Callable[[DrawnTree], Collection[int]]
) -> BuiltScheme:
    """A scheme that draws whole trees, and verifies what ``keep`` leaves of them."""

    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        tree = DrawnTree(coin, models, context, proposal, widths)
        return FilteredTree(tree, keep(tree))

    return BuiltScheme(rule, build)


def most_probable(count: int) -> Callable[[DrawnTree], Collection[int]]:
    """Keep the nodes of largest path probability under the draft, the ones that were drawn first among equals."""

    def keep(tree: DrawnTree) -> Collection[int]:
        scores: dict[int, Number] = {ROOT: Fraction(1)}
        for node in tree.grow():
            for child in tree.children(node):
                scores[child] = scores[node] * tree.draft(node)[tree.token(child)]
        del scores[ROOT]
        return frozenset(sorted(scores, key=lambda node: -scores[node])[:count])

    return keep


def up_to_first_other_than(token: int) -> Callable[[DrawnTree], Collection[int]]:
    """Cut a chain before the first node that does not hold ``token``: that node has been seen by then."""

    def keep(tree: DrawnTree) -> Collection[int]:
        nodes = tree.grow()[1:]
        wrong = [place for place, node in enumerate(nodes) if tree.token(node) != token]
        return nodes[: wrong[0]] if wrong else nodes

    return keep


def all_but_the_last_level(tree: DrawnTree) -> Collection[int]:
    """Cut by depth, which was known before."""
    nodes = tree.grow()
    return [node for node in nodes[1:] if tree.children(node)]


def unscaled_block(coin: Coin, tree: DraftTree) -> Outcome:
    """Block verification whose residual is norm((p - q)_+), as that of the ratio rule."""
    chain = chain_of(tree)
    weights = path_weights(tree, chain)
    if coin.accept(weights[-1]):
        return Outcome(tuple(chain[1:]), tree.target(chain[-1]))
    length = len(chain) - 2
    while length and not coin.accept(_kept(tree, chain[length], weights[length])):
        length -= 1
    return Outcome(tuple(chain[1 : length + 1]), tree.target(chain[length]).minus(tree.draft(chain[length])))


def _kept(tree: DraftTree, node: int, weight: Number) -> Number:
    return kept_weight(tree.target(node).excess(tree.draft(node), weight).mass, weight)


@dataclass(frozen=True, slots=True)
class CoinsByNode:
    """A walk on kept coins, which at every node are used from the first on if ``again``."""

    rule: NodeRule
    again: bool

    def __call__(self, coin: Coin, tree: DraftTree) -> Outcome:
        """See ``TreeRule``."""
        fresh, kept = coin, KeptCoin(coin)

        def at_node(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
            if self.again:
                kept.again()
            return self.rule(kept, target, siblings)

        return Walk(at_node)(fresh, tree)
