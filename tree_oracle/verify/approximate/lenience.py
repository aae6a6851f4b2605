"""Approximate: the ratio rule with lenience (Leviathan et al., appendix).

    accept x with min(1, p(x) / (l q(x))),  l of (0, 1];  on reject draw from norm((p - q)_+)

With l = 1 it is R2, and exact. Lower values keep tokens that the draft prefers more often than the target does, up to p(x) / l.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number, ratio
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


@dataclass(frozen=True, slots=True)
class Lenience:
    """The node rule for one child.

    Raises:
        UsageError: ``factor`` is outside (0, 1].
    """

    factor: Number = Fraction(1)

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise UsageError(f"lenience {self.factor}; expected a number above 0 and up to 1")

    def __call__(self, coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        """See ``NodeRule``.

        Raises:
            UsageError: there is more than one child.
        """
        if len(siblings.tokens) != 1:
            raise UsageError(f"lenient verification was given {len(siblings.tokens)} siblings; expected one")
        (token,) = siblings.tokens
        if coin.accept(ratio(target[token], self.factor * siblings.draft[token])):
            return accepted(0)
        return drawn_from(target.minus(siblings.draft))
