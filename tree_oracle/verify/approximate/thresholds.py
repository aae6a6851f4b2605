"""Approximate: target-only acceptance with thresholds (SGLang).

    one u for all children: accept the first x_i with  u < (p(x_1) + .. + p(x_i)) / accumulated  or  p(x_i) >= single
    else draw from norm(p, x_1..x_m -> 0) with another coin

With both thresholds 1 and distinct siblings it is R1 in its single-coin form, and exact. Lower ones accept more than p allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The node rule.

    Raises:
        UsageError: a threshold is outside (0, 1].
    """

    single: Number = Fraction(1)
    accumulated: Number = Fraction(1)

    def __post_init__(self) -> None:
        if not (0 < self.single <= 1 and 0 < self.accumulated <= 1):
            raise UsageError(f"thresholds {self.single} and {self.accumulated}; expected numbers above 0 and up to 1")

    def __call__(self, coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        """See ``NodeRule``."""
        marks: list[Number] = [Fraction(0)]  # child i is accepted where mark i-1 <= u < mark i
        tested: Number = Fraction(0)
        for token in siblings.tokens:
            tested += target[token]
            mark = Fraction(1) if target[token] >= self.single else tested / self.accumulated
            marks.append(max(marks[-1], min(mark, 1)))
        child = coin.draw([*(high - low for low, high in zip(marks, marks[1:], strict=False)), 1 - marks[-1]])
        if child < len(siblings.tokens):
            return accepted(child)
        return drawn_from(target.untried(frozenset(siblings.tokens)))
