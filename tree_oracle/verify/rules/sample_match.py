"""R0, sample-match: draw the target's token first, then look whether it was drafted.

    t ~ p;  accept the child that holds t, else emit t

Exact for any candidates that do not depend on the draw, duplicates included: what is emitted is t itself. Used by DFlash,
DDTree, CaDDTree, JetSpec, OPT-Tree and SpecInfer's naive sampling. Of equal siblings the first is followed.
"""

from __future__ import annotations

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


def sample_match(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module."""
    token = coin.draw(target)
    return accepted(siblings.tokens.index(token)) if token in siblings.tokens else drawn_from(token)
