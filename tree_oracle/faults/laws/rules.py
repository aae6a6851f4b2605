"""Wrong node rules."""

from __future__ import annotations

from fractions import Fraction

from tree_oracle.verify.coin import Coin
from tree_oracle.verify.coin_kept import KeptCoin
from tree_oracle.verify.probabilities import Law, ratio
from tree_oracle.verify.rules import Siblings, Verdict, multi_round
from tree_oracle.verify.rules.protocol import accepted, drawn_from

_SMALL = Fraction(1, 10**10)


def raw_ratio(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Every sibling is tested with the first p and q, and one residual is taken at the end."""
    for child, token in enumerate(siblings.tokens):
        if coin.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
    return drawn_from(target.minus(siblings.draft))


def skipping_duplicates(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Multi-round sampling, but a token that was rejected before is passed over without an update."""
    tried: frozenset[int] = frozenset()
    for child, token in enumerate(siblings.tokens):
        if token in tried:
            continue
        if coin.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
        target, tried = target.minus(siblings.draft), tried | {token}
    return drawn_from(target)


def rejected_kept(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Point-mass verification that leaves rejected siblings in the residual."""
    for child, token in enumerate(siblings.tokens):
        if coin.accept(target[token]):
            return accepted(child)
    return drawn_from(target)


def always_greedy(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The most probable token, whatever the temperature."""
    (best,) = target.top(1)
    return accepted(siblings.tokens.index(best)) if best in siblings.tokens else drawn_from(best)


def any_likely_child(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The ratio test compares the draft with itself, so the first child that the target allows is accepted."""
    for child, token in enumerate(siblings.tokens):
        if target[token] > 0:
            return accepted(child)
    return multi_round(coin, target, siblings)


def residual_by_acceptance_coin(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The ratio rule of a chain, but the u that rejected draws from the residual as well."""
    (token,) = siblings.tokens
    same = KeptCoin(coin)
    if same.accept(ratio(target[token], siblings.draft[token])):
        return accepted(0)
    same.again()
    return drawn_from(same.draw(target.minus(siblings.draft)))


def residual_by_own_coin(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """The same with a second u."""
    (token,) = siblings.tokens
    if KeptCoin(coin).accept(ratio(target[token], siblings.draft[token])):
        return accepted(0)
    return drawn_from(coin.draw(target.minus(siblings.draft)))


def one_coin_for_siblings(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Multi-round sampling with one u for all tests of a node."""
    same = KeptCoin(coin)
    for child, token in enumerate(siblings.tokens):
        same.again()
        if same.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
        target = target.minus(siblings.draft)
    return drawn_from(target)


def smoothed_residual(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Multi-round sampling with a small constant added to every entry of the last residual."""
    verdict = multi_round(coin, target, siblings)
    if not isinstance(verdict.bonus, Law):
        return verdict
    return drawn_from(Law.normalised([share + _SMALL for share in verdict.bonus.values], otherwise=verdict.bonus))


def residual_by_rank(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    """Multi-round sampling whose residual subtracts the n-th drafted token from the n-th token of the target."""
    drafted = [share for share in siblings.draft.values if share > 0]
    by_rank = Law([*drafted, *[0 * drafted[0]] * (len(siblings.draft) - len(drafted))])
    for child, token in enumerate(siblings.tokens):
        if coin.accept(ratio(target[token], siblings.draft[token])):
            return accepted(child)
        target = target.minus(by_rank)
    return drawn_from(target)
