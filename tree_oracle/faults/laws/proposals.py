"""Proposals that are not what their verification takes them for, and ones that put a wrong one right."""

from __future__ import annotations

from dataclasses import dataclass

from tree_oracle.record import DraftLaw
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import Independent, Proposal, WithoutReplacement


@dataclass(frozen=True, slots=True)
class Sorted:
    """Siblings in the order of falling draft probability, whatever order they were drawn in."""

    proposal: Proposal
    declared: DraftLaw = DraftLaw.CUSTOM

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return tuple(sorted(self.proposal(coin, draft, count), key=lambda token: (-draft[token], token)))


@dataclass(frozen=True, slots=True)
class Distinct:
    """Independent draws with later duplicates left out: the order of first appearance of a draw without replacement."""

    declared: DraftLaw = DraftLaw.CUSTOM

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return tuple(dict.fromkeys(Independent()(coin, draft, count)))


@dataclass(frozen=True, slots=True)
class LikelierOf:
    """One sibling: the more probable of two that were drawn without replacement."""

    declared: DraftLaw = DraftLaw.CUSTOM

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return (max(WithoutReplacement()(coin, draft, 2), key=lambda token: draft[token]),)


@dataclass(frozen=True, slots=True)
class FirstOf:
    """One sibling: the first of two that were drawn without replacement."""

    declared: DraftLaw = DraftLaw.CUSTOM

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return WithoutReplacement()(coin, draft, 2)[:1]
