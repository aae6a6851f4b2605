"""R8, hybrid (Hu et al.): all but the last child are the draft's favourites, the last one is drawn from the rest.

    x_1..x_{m-1} = the most probable tokens of q, tested as point masses (R1)
    x_m ~ q' = norm(q, x_1..x_{m-1} -> 0), tested by the ratio rule (R2) with the p that R1 left over

Exact as a composition: R1 leaves a right residual whatever the favourites, and R2 is right for any p. So it is exact too where
the others were drawn, as long as the last one was drawn from the rest: for draws without replacement.
"""

from __future__ import annotations

from collections.abc import Mapping

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.point_mass import point_mass
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted
from tree_oracle.verify.rules.ratio_chain import ratio_chain


def favourites_and_one(draft: Law, count: int) -> Mapping[tuple[int, ...], Number]:
    """The joint law of the children: ``count - 1`` favourites and one draw."""
    favourites = draft.top(count - 1)
    rest = draft.untried(frozenset(favourites))
    return {(*favourites, token): rest[token] for token in range(len(draft)) if rest[token] > 0}


def hybrid(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module."""
    *favourites, last = siblings.tokens
    rest = siblings.draft.untried(frozenset(favourites))
    if favourites:
        verdict = point_mass(coin, target, Siblings(tuple(favourites), siblings.draft))
        if not isinstance(verdict.bonus, Law):
            return verdict
        target = verdict.bonus
    verdict = ratio_chain(coin, target, Siblings((last,), rest))
    return verdict if verdict.child is None else accepted(len(favourites))
