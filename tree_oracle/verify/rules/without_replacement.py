"""R4, recursive rejection without replacement (Sequoia, EAGLE-1): the ratio rule with each child's own draft law.

    accept x_i with min(1, p_i(x_i) / q_i(x_i))
    on reject  p_{i+1} = norm((p_i - q_i)_+),  q_{i+1} = norm(q, x_1..x_i -> 0), uniform over the untried tokens if empty
    at the end draw from p_{m+1}

Exact if the siblings are one draw without replacement from q, tested in the order of the draw. An equal sibling, which no such
draw holds, reads 0 / 0: it is rejected and both laws are updated again.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, ratio
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


def without_replacement(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module."""
    tried: frozenset[int] = frozenset()
    for child, token in enumerate(siblings.tokens):
        draft = siblings.draft.untried(tried)
        if coin.accept(ratio(target[token], draft[token])):
            return accepted(child)
        target, tried = target.minus(draft), tried | {token}
    return drawn_from(target)
