"""R1, point-mass (target-only): each child is a draft that was proposed with certainty.

    sequential:   accept x_i with p_i(x_i);  on reject p_{i+1} = norm(p_i, x_i -> 0);  at the end draw from p_{m+1}
    single coin:  one u for all children: accept the first x_i with u < p(x_1) + ... + p(x_i);  else draw as above, afresh

Exact for any candidates chosen without looking at the target's draw. The sequential form is exact with equal siblings too, as
the second has probability 0 by then; the single-coin form counts the same probability twice and is exact only for distinct
siblings. Used by EAGLE-2 and EAGLE-3, HASS, SGLang, TensorRT-LLM, vLLM's chain.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


def point_mass(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The sequential form."""
    tried: frozenset[int] = frozenset()
    for child, token in enumerate(siblings.tokens):
        if coin.accept(target.untried(tried)[token]):
            return accepted(child)
        tried |= {token}
    return drawn_from(target.untried(tried))


def single_coin(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The single-coin form."""
    shares: list[Number] = []
    for token in siblings.tokens:
        shares.append(min(target[token], 1 - sum(shares)))  # past 1 there is no u left
    child = coin.draw([*shares, max(0 * target[0], 1 - sum(shares))])
    if child < len(shares):
        return accepted(child)
    return drawn_from(target.untried(frozenset(siblings.tokens)))
