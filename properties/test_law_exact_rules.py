"""Every exact rule emits the target's law, as a rational, under every proposal that its card names."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import Numbers, fractions, joint_law, model, pairs

from tree_oracle.verify.law import GOLDEN, ROUNDED, NodeScheme, TreeScheme, exact_law, scheme_of
from tree_oracle.verify.rules import PROPOSALS, RULES, ByDepth, Models, block, ratio_chain, traversal

RATIONAL = [name for name in RULES if name != "transport"]
NODE_RULES = [name for name in RATIONAL if RULES[name].node is not None]


def claims(name: str, siblings: int) -> list[str]:
    """The proposals under which a rule is claimed to be exact, as far as they can propose that many siblings."""
    card = RULES[name]
    if card.siblings not in (None, siblings):
        return []
    return [
        proposal
        for proposal in PROPOSALS
        if card.exact_for(proposal, siblings) and (proposal != "hub-pairs" or siblings == 2)
    ]


def law_at_root(name: str, proposal: str, models: Models, siblings: int) -> NodeScheme | TreeScheme:
    return scheme_of(RULES[name], PROPOSALS[proposal], ByDepth((siblings,)))


@pytest.mark.parametrize(
    ("rule", "proposal", "siblings", "acceptance", "written"),
    [
        ("multi-round", "independent", 2, Fraction(69, 100), "0.6900"),
        ("without-replacement", "without-replacement", 2, Fraction(601, 840), "0.7155"),
        ("spec-hub", "hub-pairs", 2, Fraction(43, 60), "0.7167"),
        ("point-mass", "deterministic", 2, Fraction(3, 10), "0.3000"),
        ("single-coin", "deterministic", 2, Fraction(3, 10), "0.3000"),
        ("hybrid", "favourites-and-one", 2, Fraction(17, 24), "0.7083"),
        ("ratio-chain", "independent", 1, Fraction(3, 5), "0.6000"),
        ("k-seq", "independent", 2, None, "0.7044"),
    ],
)
def test_the_golden_instance(
    rule: str, proposal: str, siblings: int, acceptance: Fraction | None, written: str
) -> None:
    """On the golden instance the law is the target's and the acceptance is the one written down."""
    law = exact_law(law_at_root(rule, proposal, GOLDEN.models, siblings), GOLDEN.models, tokens=1, rounds=1)
    assert law.total_variation == 0
    assert law.exact
    assert f"{float(law.acceptance):.4f}" == written
    assert acceptance in (None, law.acceptance)


@given(pairs(2, 4), st.integers(1, 3))
def test_one_token_follows_the_target(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """Whatever the two laws, zeros, equal laws and exhausted drafts included: distance exactly 0 for every claim, and never more accepted than the bound."""
    models = Models.constant(*laws)
    for name in NODE_RULES:
        for proposal in claims(name, siblings):
            law = exact_law(law_at_root(name, proposal, models, siblings), models, tokens=1, rounds=1)
            assert (name, proposal, law.total_variation) == (name, proposal, 0)
            assert law.bound is not None
            assert law.acceptance <= law.bound
            assert law.law == {(token,): share for token, share in enumerate(laws[0]) if share}


@given(st.integers(0, 10**6), st.integers(1, 2), st.data())
def test_two_rounds_follow_the_target(seed: int, siblings: int, data: st.DataObject) -> None:
    """Over trees of two levels, two rounds and laws that depend on the whole history, three tokens follow the target."""
    name = data.draw(st.sampled_from([name for name in NODE_RULES if claims(name, siblings)]))
    proposal = data.draw(st.sampled_from(claims(name, siblings)))
    target, draft = model(seed, 3), model(seed + 1, 3)
    law = exact_law(
        scheme_of(RULES[name], PROPOSALS[proposal], ByDepth((siblings,) * 2)), Models.of(target, draft), tokens=3
    )
    assert law.total_variation == 0
    assert law.law == joint_law(target, 3, 3)


@given(st.integers(0, 10**6))
def test_block_verification_follows_the_target(seed: int) -> None:
    """A chain of three is judged as a whole, and four tokens over two rounds follow the target."""
    target = model(seed, 2)
    law = exact_law(
        TreeScheme(block, PROPOSALS["independent"], ByDepth((1, 1, 1))), Models.of(target, model(seed + 1, 2))
    )
    assert law.total_variation == 0
    assert law.law == joint_law(target, 2, 4)


@given(st.integers(0, 10**6), st.sampled_from([(2, 2), (2, 1), (1, 2), (3,)]))
def test_traversal_follows_the_target(seed: int, counts: tuple[int, ...]) -> None:
    """Branching trees of draws without replacement are judged leaves first, and three tokens follow the target."""
    target = model(seed, 3)
    scheme = TreeScheme(traversal, PROPOSALS["without-replacement"], ByDepth(counts))
    law = exact_law(scheme, Models.of(target, model(seed + 1, 3)), tokens=3, rounds=1)
    assert law.total_variation == 0
    assert law.law == joint_law(target, 3, 3)


@given(st.integers(0, 10**6))
def test_on_a_chain_traversal_is_block_verification(seed: int) -> None:
    """Law and expected length agree exactly, and neither is shorter than the ratio rule's."""
    models = Models.of(model(seed, 3), model(seed + 1, 3))
    chain, proposal = ByDepth((1, 1)), PROPOSALS["independent"]
    one, other = (
        exact_law(TreeScheme(rule, proposal, chain), models, tokens=3, rounds=1) for rule in (block, traversal)
    )
    by_token = exact_law(NodeScheme(ratio_chain, proposal, chain), models, tokens=3, rounds=1)
    assert one.law == other.law
    assert one.expected_length == other.expected_length >= by_token.expected_length


def test_block_verification_accepts_more_than_the_ratio_rule() -> None:
    """On a stated chain it does: the inequality is not an equality in disguise."""
    chain, proposal = ByDepth((1, 1)), PROPOSALS["independent"]
    longer = exact_law(TreeScheme(block, proposal, chain), GOLDEN.models, tokens=1, rounds=1).expected_length
    assert (
        longer > exact_law(NodeScheme(ratio_chain, proposal, chain), GOLDEN.models, tokens=1, rounds=1).expected_length
    )


@given(pairs(2, 4), st.integers(1, 3))
def test_in_floats_the_distance_is_rounding(laws: tuple[Numbers, Numbers], siblings: int) -> None:
    """The same code on floats is within 1e-12 of the target: every rule, K-SEQ among them."""
    models = Models.constant(*(tuple(map(float, law)) for law in laws))
    for name in NODE_RULES:
        for proposal in claims(name, siblings)[:2]:
            law = exact_law(law_at_root(name, proposal, models, siblings), models, tokens=1, rounds=1)
            assert not law.exact
            assert (name, law.total_variation <= ROUNDED) == (name, True)


def test_the_ratio_rule_is_not_greedy_acceptance() -> None:
    """On the golden instance R2 accepts 3/5 of the drafts; a greedy walk accepts those that equal the argmax, 1/10."""
    p, q = fractions(1, 5, 9, 5), fractions(8, 6, 2, 4)
    law = exact_law(NodeScheme(ratio_chain, PROPOSALS["independent"], ByDepth((1,))), GOLDEN.models, tokens=1, rounds=1)
    assert law.acceptance == sum(map(min, p, q)) == Fraction(3, 5)
    assert q[p.index(max(p))] == Fraction(1, 10)
