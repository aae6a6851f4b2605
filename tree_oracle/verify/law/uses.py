"""Decoders that use one law in one place and another in the next.

tests, residual    the target of the models
bonus              after a fully accepted path, a law of its own
proposal           samples from a law that is not the one it reports
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import DraftLaw
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.law.processing import Processing
from tree_oracle.verify.law.schemes import BuiltScheme, NodeScheme, TreeScheme
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules.drawn_tree import Context, DrawnTree, Laws, Models
from tree_oracle.verify.rules.proposals import Proposal
from tree_oracle.verify.rules.protocol import Walk


@dataclass(frozen=True, slots=True)
class Sampled:
    """A proposal that draws from ``processing`` of the draft law and reports the draft law."""

    proposal: Proposal
    processing: Processing

    @property
    def declared(self) -> DraftLaw:
        """What the proposal inside declares."""
        return self.proposal.declared

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return self.proposal(coin, draft.derived(self.processing, lambda: self.processing(draft, ())), count)


class LeafTree(DrawnTree):
    """A drawn tree whose leaves have target laws of their own."""

    def __init__(
        self, tree_coin: Coin, models: Models, context: Context, scheme: NodeScheme | TreeScheme, leaf: Laws
    ) -> None:
        super().__init__(tree_coin, models, context, scheme.proposal, scheme.widths)
        self._start, self._leaf = context, leaf

    def target(self, node: int) -> Law:
        """See ``DraftTree``."""
        return super().target(node) if self.children(node) else self._leaf(self._start + self.path(node))


def with_bonus_from(scheme: NodeScheme | TreeScheme, leaf: Laws) -> BuiltScheme:
    """The same scheme, except that after a fully accepted path the last token is drawn from ``leaf``."""
    rule = Walk(scheme.rule) if isinstance(scheme, NodeScheme) else scheme.rule
    return BuiltScheme(rule, lambda coin, models, context: LeafTree(coin, models, context, scheme, leaf))
