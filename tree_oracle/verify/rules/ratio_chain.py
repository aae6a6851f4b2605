"""R2, the ratio rule of a chain (Leviathan et al. 2023, Chen et al. 2023): one child x, drawn from q.

    accept x with min(1, p(x) / q(x));  on reject draw from norm((p - q)_+)

Exact if x ~ q. It accepts with probability sum_x min(p(x), q(x)), the most that any rule can with one draft from q. Used by
DSpark, OSD and most chain decoders.
"""

from __future__ import annotations

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, ratio
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


def ratio_chain(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module.

    Raises:
        UsageError: there is more than one child.
    """
    if len(siblings.tokens) != 1:
        raise UsageError(f"the ratio rule of a chain was given {len(siblings.tokens)} siblings; expected one")
    (token,) = siblings.tokens
    if coin.accept(ratio(target[token], siblings.draft[token])):
        return accepted(0)
    return drawn_from(target.minus(siblings.draft))
