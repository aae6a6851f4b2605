"""Ways to decode whose law can be computed: a node rule, a whole-tree rule, or any program of coins with a memory.

All three play one round on any coin: on an enumerated one for the exact law, on a seeded one to sample, on a script to see one
case again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.rules.card import Card
from tree_oracle.verify.rules.drawn_tree import Context, DrawnTree, Models, Widths
from tree_oracle.verify.rules.proposals import Proposal
from tree_oracle.verify.rules.protocol import ROOT, Bonus, DraftTree, NodeRule, TreeRule, Walk

Memory: TypeAlias = Hashable  # what a decoder carries from round to round; None before the first


class Played(NamedTuple):
    """One round."""

    accepted: tuple[int, ...]  # tokens
    bonus: Bonus
    memory: Memory = None


class Scheme(Protocol):
    """A way to decode."""

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        """One round after ``context``. It must be a function of its arguments and of what the coin answers."""
        ...


@dataclass(frozen=True, slots=True)
class NodeScheme:
    """A node rule on trees that are drawn node by node. Its law is found node by node too."""

    rule: NodeRule
    proposal: Proposal
    widths: Widths

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        """See ``Scheme``."""
        tree = DrawnTree(coin, models, context, self.proposal, self.widths)
        return _played(Walk(self.rule), coin, tree)


@dataclass(frozen=True, slots=True)
class TreeScheme:
    """A whole-tree rule on trees that are drawn as it asks for them."""

    rule: TreeRule
    proposal: Proposal
    widths: Widths

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        """See ``Scheme``."""
        tree = DrawnTree(coin, models, context, self.proposal, self.widths)
        return _played(self.rule, coin, tree)


@dataclass(frozen=True, slots=True)
class BuiltScheme:
    """A whole-tree rule on trees of a builder of its own, which may look at whatever it likes before it decides."""

    rule: TreeRule
    build: Callable[[Coin, Models, Context], DraftTree]

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        """See ``Scheme``."""
        return _played(self.rule, coin, self.build(coin, models, context))


def scheme_of(card: Card, proposal: Proposal, widths: Widths) -> NodeScheme | TreeScheme:
    """The rule of a card on trees of one proposal."""
    if card.node is not None:
        return NodeScheme(card.node(proposal), proposal, widths)
    assert card.tree is not None
    return TreeScheme(card.tree(proposal), proposal, widths)


def _played(rule: TreeRule, coin: Coin, tree: DraftTree) -> Played:
    outcome = rule(coin, tree)
    for parent, node in zip((ROOT, *outcome.accepted), outcome.accepted, strict=False):
        if node not in tree.children(parent):
            raise UsageError(f"the rule accepted nodes {outcome.accepted}; expected a path from the root")
    return Played(tuple(map(tree.token, outcome.accepted)), outcome.bonus)
