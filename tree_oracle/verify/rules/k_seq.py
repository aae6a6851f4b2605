"""R5, K-SEQ (SpecTr): k independent drafts, each tested against the same scaled ratio.

    accept x_i with min(1, p(x_i) / (rho q(x_i)));  nothing changes on reject
    beta = sum_x min(q(x), p(x) / rho)
    at the end draw in proportion to  p(x) - min(q(x), p(x) / rho) (1 - (1 - beta)^k) / beta

Exact for every rho of [1, k] with 1 - (1 - beta)^k <= rho beta, and rho = k always is one; the smallest accepts most. It is the
root of an equation and irrational, so it is rounded *up* to a multiple of ``GRID``: the rule then stays exact in rationals and
accepts less by no more than the step.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import NamedTuple

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law, Number, ratio
from tree_oracle.verify.rules.protocol import Siblings, Verdict, accepted, drawn_from

GRID = Fraction(1, 2**20)


class Tuned(NamedTuple):
    """The parameter for one pair of laws, and what follows from it."""

    rho: Fraction
    beta: Number  # probability that one draft is accepted
    tests: tuple[Number, ...]  # by token, the probability that a draft of it is accepted
    residual: Law


def k_seq(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """See the module."""
    tuned = tune(target, siblings.draft, len(siblings.tokens))
    for child, token in enumerate(siblings.tokens):
        if coin.accept(tuned.tests[token]):
            return accepted(child)
    return drawn_from(tuned.residual)


def tune(target: Law, draft: Law, count: int) -> Tuned:
    """The smallest admissible rho on the grid for ``count`` drafts."""
    return target.derived(("k-seq", draft, count), lambda: _tune(target, draft, count))


def _tune(target: Law, draft: Law, count: int) -> Tuned:
    first, last = int(1 / GRID), int(count / GRID)
    # Admissible values form an interval that ends at count, as beta falls and rho * beta grows with rho.
    steps = range(first, last)
    rho = GRID * (first + bisect_left(steps, True, key=lambda step: _admissible(target, draft, count, GRID * step)))
    beta = sum(_overlap(target, draft, rho))
    share = _any_of(beta, count) / beta if beta else 0 * beta
    left = [p - taken * share for p, taken in zip(target.values, _overlap(target, draft, rho), strict=True)]
    tests = tuple(ratio(p, rho * q) for p, q in zip(target.values, draft.values, strict=True))
    return Tuned(rho, beta, tests, Law.normalised([max(weight, 0 * weight) for weight in left], otherwise=target))


def _admissible(target: Law, draft: Law, count: int, rho: Fraction) -> bool:
    beta = sum(_overlap(target, draft, rho))
    return _any_of(beta, count) <= rho * beta


def _overlap(target: Law, draft: Law, rho: Fraction) -> list[Number]:
    return [min(q, p / rho) for p, q in zip(target.values, draft.values, strict=True)]


def _any_of(beta: Number, count: int) -> Number:
    return 1 - (1 - beta) ** count
