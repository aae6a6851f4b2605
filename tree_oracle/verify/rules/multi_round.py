"""R3, multi-round speculative sampling (SpecInfer): the ratio rule once per child, each on what the last one left over.

    accept x_i with min(1, p_i(x_i) / q(x_i));  on reject p_{i+1} = norm((p_i - q)_+), q unchanged
    at the end draw from p_{m+1}

Exact if the x_i are independent draws from q, tested in an order that does not depend on their values. Equal siblings are
drawn too: a duplicate that is left out is a test that is left out.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, ratio
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


def multi_round(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module."""
    for child, token in enumerate(siblings.tokens):
        if coin.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
        target = target.minus(siblings.draft)
    return drawn_from(target)
