"""The reference of the two seams by chance: any way to decode of ``tree_oracle.verify.law``, on coins that are handed over.

Trees are drawn whole before they are verified, so that what is shown is what was drafted, and not what the rule looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from tree_oracle.record import Unsupported
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.coin import Coin, UniformCoin
from tree_oracle.verify.law import (
    UNPROCESSED,
    BuiltScheme,
    Declaration,
    Memory,
    NodeScheme,
    Played,
    Processing,
    Scheme,
    TreeScheme,
    processed,
)
from tree_oracle.verify.probabilities import Number, laws_of
from tree_oracle.verify.rules import (
    PROPOSALS,
    ByDepth,
    Context,
    DraftTree,
    DrawnTree,
    GivenTree,
    Laws,
    Models,
    TreeRule,
    Walk,
    token_of,
    without_replacement,
)
from tree_oracle.verify.rules.drawn_tree import Source

NextLaw = Callable[[Sequence[int]], Any]
DEFAULT_MODE = Declaration(rule="without-replacement", proposal="without-replacement")
DEFAULT_SCHEME = NodeScheme(without_replacement, PROPOSALS["without-replacement"], ByDepth((2, 1)))


class StreamCoin(UniformCoin):
    """A coin that takes its numbers from somebody else."""

    def __init__(self, coins: Iterator[float]) -> None:
        self._coins = coins

    def uniform(self) -> Number:
        """The next number."""
        return next(self._coins)


@dataclass(slots=True, eq=False)
class SampledDecoder:
    """One way to decode behind both seams.

    Args:
        scheme: how a round is drafted and verified.
        declared_mode: what it says of itself; its processing is applied to the target.
        draft_processing: applied to the draft, before and where it is reported.
    """

    scheme: Scheme = DEFAULT_SCHEME
    declared_mode: Declaration = DEFAULT_MODE
    draft_processing: Processing = UNPROCESSED
    _known: tuple[NextLaw, NextLaw, Models] | None = field(default=None, repr=False, compare=False)

    def accept_sampled(
        self,
        tree: CandidateTree,
        target: Float[np.ndarray, "n vocab"],
        draft: Float[np.ndarray, "n vocab"],
        coins: Iterator[float],
    ) -> tuple[tuple[int, ...], int]:
        """See ``AcceptsSampled``.

        Raises:
            Unsupported: the scheme verifies trees of its own builder alone.
            InvalidLaw: a row is no law.
        """
        if not isinstance(self.scheme, NodeScheme | TreeScheme):
            raise Unsupported("this way to decode verifies no trees but its own")
        coin = StreamCoin(coins)
        given = GivenTree(tree, laws_of(target, "target row"), laws_of(draft, "draft row"))
        outcome = _rule(self.scheme)(coin, given)
        return outcome.accepted, token_of(coin, outcome.bonus)

    def open_sampled(self, target: NextLaw, draft: NextLaw) -> SampledText:
        """See ``OpensSampled``."""
        if self._known is None or (self._known[0], self._known[1]) != (target, draft):
            raw = Models.of(_source(target), _source(draft))
            laws = _through(raw.target, self.declared_mode.processing), _through(raw.draft, self.draft_processing)
            self._known = (target, draft, Models(*laws))
        return SampledText(self.scheme, self._known[2])


class SampledText:
    """See ``SampledSession``."""

    def __init__(self, scheme: Scheme, models: Models) -> None:
        self._scheme, self._models = scheme, models
        self._text: Context = ()
        self._memory: Memory = None

    def step(self, coins: Iterator[float]) -> dict[str, Any]:
        """One round."""
        coin, shown = StreamCoin(coins), dict[str, Any]()
        built = self._built(coin)
        if built is None:
            played = self._scheme.play(coin, self._models, self._text, self._memory)
        else:
            rule, tree = built
            shown["tokens"], shown["parents"] = flat(tree)
            outcome = rule(coin, tree)
            played = Played(tuple(map(tree.token, outcome.accepted)), outcome.bonus)
        emitted = (*played.accepted, token_of(coin, played.bonus))
        self._text, self._memory = self._text + emitted, played.memory
        return {"emitted": emitted, **shown}

    def _built(self, coin: Coin) -> tuple[TreeRule, DraftTree] | None:
        scheme = self._scheme
        if isinstance(scheme, BuiltScheme):
            return scheme.rule, scheme.build(coin, self._models, self._text)
        if isinstance(scheme, NodeScheme | TreeScheme):
            return _rule(scheme), DrawnTree(coin, self._models, self._text, scheme.proposal, scheme.widths)
        return None


def flat(tree: DraftTree) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Tokens and parents in level order, siblings in the order of the draw; the root's token is 0, as a text may be empty."""
    nodes, parents = [0], [-1]
    for slot, node in enumerate(nodes):
        for child in tree.children(node):
            nodes.append(child)
            parents.append(slot)
    return (0, *map(tree.token, nodes[1:])), tuple(parents)


def _rule(scheme: NodeScheme | TreeScheme) -> TreeRule:
    return Walk(scheme.rule) if isinstance(scheme, NodeScheme) else scheme.rule


def _source(law: NextLaw) -> Source:
    return lambda context: np.asarray(law(context)).tolist()


def _through(laws: Laws, processing: Processing) -> Laws:
    return laws if processing == UNPROCESSED else processed(laws, processing)
