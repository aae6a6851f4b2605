"""Decoders that look at a law which is not the one that the text must follow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.law import BuiltScheme, LeafTree, NodeScheme, PresencePenalty, Processing, processed
from tree_oracle.verify.rules import Context, DraftTree, DrawnTree, Laws, Models, Walk

HALF = Fraction(1, 2)


def tests_from(scheme: NodeScheme, laws: Laws) -> BuiltScheme:
    """Tests and residuals from ``laws``, the bonus after a fully accepted path from the target."""

    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        return LeafTree(coin, Models(laws, models.draft), context, scheme, models.target)

    return BuiltScheme(Walk(scheme.rule), build)


def through(scheme: NodeScheme, processing: Processing) -> BuiltScheme:
    """Everything from ``processing`` of the target."""
    return _seeing(scheme, lambda models, _: processed(models.target, processing))


def penalised(scheme: NodeScheme, raw: Laws, *, tree_tokens_count: bool) -> BuiltScheme:
    """Everything from ``raw`` with a penalty for tokens of the text so far, those of the tree included if they count."""

    @cache
    def counting(committed: int | None) -> Laws:
        return processed(raw, PresencePenalty(HALF, committed))

    return _seeing(scheme, lambda _, context: counting(None if tree_tokens_count else len(context)))


def _seeing(scheme: NodeScheme, laws: Callable[[Models, Context], Laws]) -> BuiltScheme:
    def build(coin: Coin, models: Models, context: Context) -> DraftTree:
        seen = Models(laws(models, context), models.draft)
        return DrawnTree(coin, seen, context, scheme.proposal, scheme.widths)

    return BuiltScheme(Walk(scheme.rule), build)
