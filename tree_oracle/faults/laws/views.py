"""Decoders that look at a law which is not the one that the text must follow.

A view makes the law that is looked at of the one that must be followed. Every view takes any laws, so a fault can be driven
with whatever a check hands over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.law import BuiltScheme, LeafTree, NodeScheme, PresencePenalty, ProcessedLaws, processed
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import Context, DraftTree, DrawnTree, Laws, Models, Outcome, Walk
from tree_oracle.verify.rules.protocol import ROOT

HALF = Fraction(1, 2)
END = 0  # a token that every vocabulary has
View: TypeAlias = Callable[[Laws], Laws]


def due(laws: Laws) -> Laws:
    """The laws that the text must follow."""
    return laws


def raw(laws: Laws) -> Laws:
    """What they were before processing."""
    return laws.raw if isinstance(laws, ProcessedLaws) else laws


@dataclass(frozen=True, slots=True)
class FirstTokens:
    """A processing: the first ``size`` tokens alone, equally likely where the law gives them nothing."""

    size: int

    def __call__(self, law: Law, context: Context) -> Law:
        """See ``Processing``."""
        return law.untried(frozenset(range(self.size, len(law))))


def tests_from(scheme: NodeScheme, view: View) -> BuiltScheme:
    """Tests and residuals from a view of the target, the bonus after a fully accepted path from the target."""
    return _seeing(scheme, tests=view, bonus=due)


def bonus_from(scheme: NodeScheme, view: View) -> BuiltScheme:
    """The bonus after a fully accepted path from a view of the target, tests and residuals from the target."""
    return _seeing(scheme, tests=due, bonus=view)


def through_first_tokens(scheme: NodeScheme, size: int) -> BuiltScheme:
    """Everything from the target renormalised over its first tokens."""

    @cache
    def cut(laws: Laws) -> Laws:
        return processed(laws, FirstTokens(size))

    return _seeing(scheme, tests=cut, bonus=cut)


def penalised(scheme: NodeScheme, *, tree_tokens_count: bool) -> BuiltScheme:
    """Everything from the raw target with a penalty for tokens of the text so far, those of the tree included if they count."""

    @cache
    def counting(laws: Laws, committed: int | None) -> Laws:
        return processed(raw(laws), PresencePenalty(HALF, committed))

    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        target = counting(models.target, None if tree_tokens_count else len(context))
        return DrawnTree(coin, Models(target, models.draft), context, scheme.proposal, scheme.widths)

    return BuiltScheme(Walk(scheme.rule), build)


def unended(scheme: NodeScheme, end: int, *, cut: bool) -> BuiltScheme:
    """Everything from laws that know of no end within the round, or, if ``cut``, end where the token comes up."""

    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        ended = cut or end in context  # a round that begins behind the end is right in both
        target = models.target if ended else raw(models.target)
        return DrawnTree(coin, Models(target, models.draft), context, scheme.proposal, scheme.widths)

    return BuiltScheme(Walk(scheme.rule), build)


class _TwoTargets(DrawnTree):
    """A drawn tree that knows a second target law for every node."""

    def __init__(self, coin: Coin, models: Models, context: Context, scheme: NodeScheme, other: Laws) -> None:
        super().__init__(coin, models, context, scheme.proposal, scheme.widths)
        self._start, self._other = context, other

    def other(self, node: int) -> Law:
        """The second law."""
        return self._other(self._start + self.path(node))


@dataclass(frozen=True, slots=True)
class _ResidualOfOther:
    """The walk of a node rule, whose residual is what the *other* law leaves after draws without replacement."""

    rule: Walk

    def __call__(self, coin: Coin, tree: DraftTree) -> Outcome:
        """See ``TreeRule``."""
        assert isinstance(tree, _TwoTargets)
        outcome = self.rule(coin, tree)
        node = outcome.accepted[-1] if outcome.accepted else ROOT
        target, tried = tree.other(node), frozenset[int]()
        for child in tree.children(node):
            target, tried = target.minus(tree.draft(node).untried(tried)), tried | {tree.token(child)}
        return Outcome(outcome.accepted, target if tried else outcome.bonus)


def residual_from(scheme: NodeScheme, view: View) -> BuiltScheme:
    """Tests and the bonus after a fully accepted path from the target, the residual of R4 from a view of it."""

    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        return _TwoTargets(coin, models, context, scheme, view(models.target))

    return BuiltScheme(_ResidualOfOther(Walk(scheme.rule)), build)


def _seeing(scheme: NodeScheme, *, tests: View, bonus: View) -> BuiltScheme:
    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        seen = Models(tests(models.target), models.draft)
        return LeafTree(coin, seen, context, scheme, bonus(models.target))

    return BuiltScheme(Walk(scheme.rule), build)
