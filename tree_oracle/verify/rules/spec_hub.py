"""R6, SpecHub: two drafts from a sparse joint law around the hub a, the draft's most probable token.

    proposal   Q(x, a) = q(x),   Q(a, x) = q(a) q(x) / (1 - q(a))                            for x != a
    coupling   p(x) is filled from (x, a), then from (a, x);  p(a) from what is left of (a, .), then of (., a)
    else       draw from what is left of p

Exact only for drafts from exactly that joint law.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from


class Coupling(NamedTuple):
    """For each pair of drafts the probability that the first and the second are accepted, given the pair."""

    shares: Mapping[tuple[int, ...], tuple[Number, Number]]
    residual: Law


def hub_pairs(draft: Law, count: int = 2) -> Mapping[tuple[int, ...], Number]:
    """The joint law of the two drafts. Where the hub has all probability its companion is uniform.

    Raises:
        UsageError: ``count`` is not 2, or there is only one token.
    """
    if count != 2 or len(draft) < 2:
        raise UsageError(f"SpecHub was asked for {count} drafts of {len(draft)} tokens; expected 2 of 2 or more")
    (hub,) = draft.top(1)
    others = draft.untried(frozenset({hub}))
    pairs: dict[tuple[int, ...], Number] = {}
    for token in range(len(draft)):
        if token != hub:
            pairs[token, hub], pairs[hub, token] = draft[token], draft[hub] * others[token]
    return {pair: weight for pair, weight in pairs.items() if weight > 0}


def spec_hub(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module.

    Raises:
        UsageError: the siblings are no pair that the joint law can propose.
    """
    coupling = target.derived(("hub", siblings.draft), lambda: _couple(target, siblings.draft))
    if siblings.tokens not in coupling.shares:
        raise UsageError(f"siblings {siblings.tokens} are no pair that SpecHub's joint law proposes")
    first, second = coupling.shares[siblings.tokens]
    child = coin.draw([first, second, max(0 * first, 1 - first - second)])
    return accepted(child) if child < 2 else drawn_from(coupling.residual)


def _couple(target: Law, draft: Law) -> Coupling:
    pairs, (hub,) = hub_pairs(draft), draft.top(1)
    left, need = dict(pairs), list(target.values)
    taken: dict[tuple[tuple[int, ...], int], Number] = {}
    for pair in sorted(pairs, key=lambda pair: pair[0] == hub):  # (x, a) before (a, x)
        token = pair[1] if pair[0] == hub else pair[0]
        amount = min(need[token], left[pair])
        taken[pair, token] = amount
        left[pair], need[token] = left[pair] - amount, _less(need[token], amount)
    for hub_first in (True, False):
        group = [pair for pair in pairs if (pair[0] == hub) is hub_first]
        have = sum(left[pair] for pair in group)
        share = min(need[hub], have) / have if have else have
        for pair in group:
            taken[pair, hub] = left[pair] * share
        need[hub] = _less(need[hub], have * share)
    shares = {pair: (taken[pair, pair[0]] / weight, taken[pair, pair[1]] / weight) for pair, weight in pairs.items()}
    return Coupling(shares, Law.normalised(need, otherwise=target))


def _less(need: Number, amount: Number) -> Number:
    return max(need - amount, 0 * need)  # in floats a product can exceed what it is a part of
