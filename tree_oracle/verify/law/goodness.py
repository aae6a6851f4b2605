"""Tests of a number of draws that was fixed before: exact for small supports, by G for large counts.

    exact multinomial   P = sum of P(c) over all counts c of n draws that are no more probable than those seen
    G                   2 sum_x n_x log(n_x / (n p_x)), about chi squared with K - 1 degrees of freedom

The first is valid for every n; the second is an approximation for expected counts of 5 or more (Cochran 1954), and refuses
fewer. Neither may be looked at again after more draws: ``tree_oracle.verify.law.evidence`` may.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tree_oracle.record import UsageError
from tree_oracle.verify.probabilities import Law

MOST_OUTCOMES = 200_000  # counts that are listed: about a second
LEAST_EXPECTED = 5.0
# Two equal probabilities that are computed in another order differ by rounding; the looser comparison can only raise P.
_ROUNDING = 1 + 1e-9


def p_value(counts: Sequence[int], law: Law) -> float:
    """How probable counts as improbable as these are under the law; exact where the outcomes can be listed, else by G.

    Raises:
        UsageError: not one count per token, none at all, a negative one, or too few draws for G and too many to be listed.
    """
    _refuse(counts, law)
    if any(count and not law[token] for token, count in enumerate(counts)):
        return 0.0
    kept = [(count, float(law[token])) for token, count in enumerate(counts) if law[token]]
    if len(kept) == 1:
        return 1.0
    seen, shares = [count for count, _ in kept], [share for _, share in kept]
    if math.comb(sum(seen) + len(seen) - 1, len(seen) - 1) <= MOST_OUTCOMES:
        return _exact(seen, shares)
    return _by_g(seen, shares)


def _exact(seen: list[int], shares: list[float]) -> float:
    mine = _probability(seen, shares) * _ROUNDING
    return min(1.0, math.fsum(p for c in _counts(sum(seen), len(seen)) if (p := _probability(c, shares)) <= mine))


def _probability(counts: Sequence[int], shares: Sequence[float]) -> float:
    logs = (count * math.log(share) - math.lgamma(count + 1) for count, share in zip(counts, shares, strict=True))
    return math.exp(math.lgamma(sum(counts) + 1) + math.fsum(logs))


def _counts(draws: int, tokens: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread the draws over the tokens."""
    if tokens == 1:
        yield (draws,)
        return
    for first in range(draws + 1):
        for rest in _counts(draws - first, tokens - 1):
            yield (first, *rest)


def _by_g(seen: list[int], shares: list[float]) -> float:
    expected = [sum(seen) * share for share in shares]
    if min(expected) < LEAST_EXPECTED:
        raise UsageError(
            f"a token is expected {min(expected):.3g} times in {sum(seen)} draws; expected at least {LEAST_EXPECTED:g}, "
            f"or draws few enough to list all outcomes"
        )
    from scipy.stats import chi2  # type: ignore[import-untyped, unused-ignore]

    g = 2 * math.fsum(n * math.log(n / due) for n, due in zip(seen, expected, strict=True) if n)
    return float(chi2.sf(g, len(seen) - 1))


def _refuse(counts: Sequence[int], law: Law) -> None:
    if len(counts) != len(law) or min(counts, default=0) < 0 or not any(counts):
        raise UsageError(f"counts are {list(counts)}; expected {len(law)} that are not negative, one of them positive")
