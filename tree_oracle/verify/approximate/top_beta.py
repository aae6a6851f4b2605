"""Approximate: top-beta acceptance with a gap (Xia et al., SpecDec).

    accept the first child among the beta most probable tokens of p with log p(top) - log p(x) <= tau;  else emit the top token

With beta = 1 only the top token is accepted and only the top token is emitted: greedy decoding, exactly. It samples from p in
no case but that of a p that leaves no choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


@dataclass(frozen=True, slots=True)
class TopBeta:
    """The node rule, with the parameters of the published scripts. It tosses no coin.

    Raises:
        UsageError: ``beta`` is below 1, or ``tau`` is negative.
    """

    beta: int = 5
    tau: float = 3.0

    def __post_init__(self) -> None:
        if self.beta < 1 or self.tau < 0:
            raise UsageError(
                f"beta {self.beta} and tau {self.tau}; expected 1 or more, and a number that is not negative"
            )

    def __call__(self, coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        """See ``NodeRule``."""
        best = target.top(self.beta)
        for child, token in enumerate(siblings.tokens):
            if token in best and self._near(target, best[0], token):
                return accepted(child)
        return drawn_from(best[0])

    def _near(self, target: Law, top: int, token: int) -> bool:
        return target[token] > 0 and math.log(target[top] / target[token]) <= self.tau
