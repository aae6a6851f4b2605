"""How the siblings of one node are proposed: a declared law, drawn by the same abstract coin as the rules are.

    deterministic        a fixed choice given q, for instance its most probable tokens
    independent          x_i ~ q, equal siblings kept
    without replacement  x_i ~ norm(q, x_1..x_{i-1} -> 0) in that order, uniform over the untried tokens once q has nothing left
    custom joint         any law of ordered siblings that depends on q alone

Each enumerates as well: ``joint_of`` gives every outcome with its probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tree_oracle.record import DraftLaw, UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.coin_enumeration import bounded, outcomes
from tree_oracle.verify.probabilities import Law, Number

MOST_SIBLINGS = 200_000  # ordered siblings of one node: some seconds


class Proposal(Protocol):
    """A way to propose siblings. It looks at nothing but the draft law and the number wanted."""

    @property
    def declared(self) -> DraftLaw: ...

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """At most ``count`` tokens, at least one, in the order of the draw."""
        ...


@dataclass(frozen=True, slots=True)
class Deterministic:
    """The choice of ``choose(draft law, count)``; by default the most probable tokens."""

    choose: Callable[[Law, int], tuple[int, ...]] = Law.top
    declared: DraftLaw = DraftLaw.DETERMINISTIC

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return self.choose(draft, count)


@dataclass(frozen=True, slots=True)
class Independent:
    """Independent draws."""

    declared: DraftLaw = DraftLaw.INDEPENDENT

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        return tuple(coin.draw(draft) for _ in range(count))


@dataclass(frozen=True, slots=True)
class WithoutReplacement:
    """Draws without replacement, in order; fewer than ``count`` if there are fewer tokens."""

    declared: DraftLaw = DraftLaw.WITHOUT_REPLACEMENT

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        tokens: tuple[int, ...] = ()
        for _ in range(min(count, len(draft))):
            tokens = (*tokens, coin.draw(draft.untried(frozenset(tokens))))
        return tokens


@dataclass(frozen=True, slots=True)
class Joint:
    """Any joint law, as ``weights(draft law, count)``: ordered siblings to their probability."""

    weights: Callable[[Law, int], Mapping[tuple[int, ...], Number]]
    declared: DraftLaw = DraftLaw.CUSTOM

    def __call__(self, coin: Coin, draft: Law, count: int) -> tuple[int, ...]:
        """See ``Proposal``."""
        weights = draft.derived(("joint", self.weights, count), lambda: self.weights(draft, count))
        return list(weights)[coin.draw(list(weights.values()))]


def joint_of(proposal: Proposal, draft: Law, count: int) -> dict[tuple[int, ...], Number]:
    """The law of the siblings, by enumeration; outcomes of equal siblings are one.

    Raises:
        UsageError: the proposal gave no sibling, more than ``count``, or a token that does not exist.
        Unsupported: there are too many outcomes.
    """
    joint: dict[tuple[int, ...], Number] = {}
    found = outcomes(lambda coin: proposal(coin, draft, count))
    for tokens, probability in bounded(found, MOST_SIBLINGS, "the law of siblings"):
        checked_siblings(tokens, draft, count)
        joint[tokens] = joint.get(tokens, 0) + probability
    return joint


def checked_siblings(tokens: tuple[int, ...], draft: Law, count: int) -> tuple[int, ...]:
    """What a proposal gave.

    Raises:
        UsageError: no sibling, more than ``count``, or a token that does not exist.
    """
    if not 1 <= len(tokens) <= count or not all(0 <= token < len(draft) for token in tokens):
        raise UsageError(f"the proposal gave siblings {tokens}; expected 1 to {count} tokens below {len(draft)}")
    return tokens
