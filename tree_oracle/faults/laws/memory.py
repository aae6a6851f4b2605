"""Decoders that draw their noise once and use it again in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.coin_kept import Interval, KeptCoin
from tree_oracle.verify.law import Memory, NodeScheme, Played
from tree_oracle.verify.rules import Context, Models, token_of


@dataclass(frozen=True, slots=True)
class KeptNoise:
    """A scheme whose n-th draw or test of a round uses the same u in every round; with neither kept it is harmless.

    Draws are those of the proposal and of the bonus. Rounds before the ``first`` have fresh noise, and none of it is kept.
    """

    scheme: NodeScheme
    draws: bool
    tests: bool
    first: int = 0

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        """See ``Scheme``; the memory is the number of rounds before the first, and what is known of every kept u."""
        number, kept = cast(tuple[int, tuple[Interval, ...]], memory or (0, ()))
        noise = KeptCoin(coin, kept, keep_draws=self.draws, keep_tests=self.tests)
        played = self.scheme.play(noise, models, context, None)
        known = noise.kept if number == self.first else ()
        return Played(played.accepted, token_of(noise, played.bonus), (min(number + 1, self.first), known))
