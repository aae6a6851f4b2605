"""Acceptance and emission of each rule against sums written out by hand, without coins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

from hypothesis import assume, given
from hypothesis import strategies as st
from law_grounds import Numbers, left_over, overlap, pairs, struck

from tree_oracle.verify.law import NodeLaw, node_law
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import PROPOSALS, RULES, joint_of
from tree_oracle.verify.rules.k_seq import GRID, tune

Accepted = dict[int, Fraction]


def law_of(rule: str, proposal: str, laws: tuple[Numbers, Numbers], siblings: int) -> NodeLaw:
    card = RULES[rule]
    assert card.node is not None
    p, q = map(Law, laws)
    return node_law(card.node(PROPOSALS[proposal]), PROPOSALS[proposal], p, q, siblings)


def accepted(law: NodeLaw) -> Accepted:
    return {token: Fraction(share) for token, share in law.accepted.items() if share}


def total(law: NodeLaw) -> Fraction:
    return sum(accepted(law).values(), Fraction(0))


def tops(law: Sequence[Fraction], count: int) -> list[int]:
    return sorted(range(len(law)), key=lambda token: -law[token])[:count]


@given(pairs(), st.integers(1, 3))
def test_sample_match_accepts_what_was_drafted(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """R0 accepts x with p(x) times the chance that x is among the drafts."""
    p, q = laws
    expected = {x: p[x] * (1 - (1 - q[x]) ** siblings) for x in range(len(p)) if p[x] * q[x]}
    assert accepted(law_of("sample-match", "independent", laws, siblings)) == expected


@given(pairs(), st.integers(1, 3))
def test_point_masses_are_accepted_with_their_probability(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """R1, in either form, accepts each of the distinct candidates with p(x)."""
    p, q = laws
    expected = {x: p[x] for x in tops(q, siblings) if p[x]}
    for rule in ("point-mass", "single-coin"):
        assert accepted(law_of(rule, "deterministic", laws, siblings)) == expected


@given(pairs())
def test_the_ratio_rule_accepts_the_overlap(laws: tuple[Numbers, Numbers]) -> None:
    """R2 accepts x with min(p(x), q(x))."""
    expected = {x: min(a, b) for x, (a, b) in enumerate(zip(*laws, strict=True)) if min(a, b)}
    assert accepted(law_of("ratio-chain", "independent", laws, 1)) == expected


@given(pairs(), st.integers(1, 3))
def test_multi_round_sampling_accepts_overlap_after_overlap(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """R3 rejects all with the product of 1 - sum min(p_i, q) over its residuals."""
    p, q = laws
    rejected = Fraction(1)
    for _ in range(siblings):
        rejected, p = rejected * (1 - overlap(p, q)), left_over(p, q)
    assert total(law_of("multi-round", "independent", laws, siblings)) == 1 - rejected


@given(pairs(), st.integers(1, 3))
def test_without_replacement_every_order_is_summed(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """R4 accepts each token with the sum over all ordered draws that reach it, rejections multiplied out."""
    p, q = laws
    assume(sum(share > 0 for share in q) >= siblings)
    expected: Accepted = {}
    for order in permutations(range(len(q)), siblings):
        drawn, rest = Fraction(1), q
        for token in order:
            drawn, rest = drawn * rest[token], struck(rest, token)
        reached, target, rest = drawn, p, q
        for token in order:
            chance = min(Fraction(1), target[token] / rest[token]) if reached and target[token] else Fraction(0)
            expected[token] = expected.get(token, Fraction(0)) + reached * chance
            reached *= 1 - chance
            target, rest = left_over(target, rest), struck(rest, token)
    law = law_of("without-replacement", "without-replacement", laws, siblings)
    assert accepted(law) == {token: share for token, share in expected.items() if share}


@given(pairs(), st.integers(1, 3))
def test_k_seq_accepts_with_the_smallest_admissible_parameter(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """R5 accepts 1 - (1 - beta)^k; its parameter is admissible and one step less is not."""
    p, q = laws

    def admissible(rho: Fraction) -> bool:
        beta = overlap([share / rho for share in p], q)
        return 1 - (1 - beta) ** siblings <= rho * beta

    rho = tune(Law(p), Law(q), siblings).rho
    assert 1 <= rho <= siblings
    assert admissible(rho)
    assert rho == 1 or not admissible(rho - GRID)
    beta = overlap([share / rho for share in p], q)
    assert total(law_of("k-seq", "independent", laws, siblings)) == 1 - (1 - beta) ** siblings


@given(pairs())
def test_spec_hub_fills_every_token_from_its_two_pairs(laws: tuple[Numbers, Numbers]) -> None:
    """R6 accepts min(p(x), Q(x, a) + Q(a, x)) of every token but the hub, and the hub from all that is left."""
    p, q = laws
    hub = tops(q, 1)[0]
    assume(q[hub] < 1)
    others = {x: min(p[x], q[x] + q[hub] * q[x] / (1 - q[hub])) for x in range(len(p)) if x != hub}
    expected = others | {hub: min(p[hub], 1 - sum(others.values()))}
    assert accepted(law_of("spec-hub", "hub-pairs", laws, 2)) == {x: share for x, share in expected.items() if share}


@given(pairs())
def test_the_hybrid_accepts_its_favourite_and_then_the_overlap(laws: tuple[Numbers, Numbers]) -> None:
    """R8 with two children accepts p(f) and, on what is left, the overlap of both laws without f."""
    p, q = laws
    favourite = tops(q, 1)[0]
    assume(q[favourite] < 1)
    expected = p[favourite] + (1 - p[favourite]) * overlap(struck(p, favourite), struck(q, favourite))
    assert total(law_of("hybrid", "favourites-and-one", laws, 2)) == expected


@given(pairs(2, 3), st.integers(1, 3))
def test_proposals_have_their_published_laws(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """Independent draws multiply; draws without replacement renormalise after each token."""
    _, q = laws
    independent = joint_of(PROPOSALS["independent"], Law(q), siblings)
    for tokens in product(range(len(q)), repeat=siblings):
        share = Fraction(1)
        for token in tokens:
            share *= q[token]
        assert independent.get(tokens, 0) == share
    ordered = joint_of(PROPOSALS["without-replacement"], Law(q), siblings)
    assert sum(ordered.values()) == 1
    assert all(len(set(tokens)) == len(tokens) == min(siblings, len(q)) for tokens in ordered)
