"""The exact law itself: two ways to compute it agree, samples follow it, and its report is right."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_grounds import fractions, joint_law, model

from tree_oracle.record import Unsupported, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.coin import Coin, ScriptedCoin, SeededCoin
from tree_oracle.verify.law import GOLDEN, Memory, NodeScheme, Played, Scheme, TreeScheme, exact_law, steps, steps_of
from tree_oracle.verify.probabilities import InvalidLaw, Law
from tree_oracle.verify.rules import (
    PROPOSALS,
    RULES,
    ByDepth,
    Context,
    DraftTree,
    GivenTree,
    Models,
    Outcome,
    Siblings,
    TreeRule,
    Verdict,
    Walk,
    block,
    multi_round,
    point_mass,
    ratio_chain,
    token_of,
    traversal,
    without_replacement,
)
from tree_oracle.verify.rules.protocol import accepted

NODE_SCHEMES = [
    NodeScheme(multi_round, PROPOSALS["independent"], ByDepth((2, 1))),
    NodeScheme(without_replacement, PROPOSALS["without-replacement"], ByDepth((2, 2))),
    NodeScheme(point_mass, PROPOSALS["deterministic"], ByDepth((3,))),
    NodeScheme(
        multi_round, PROPOSALS["without-replacement"], ByDepth((2,))
    ),  # not exact, and the law is the same all the same
]

IN_FLOATS = Models.of(
    lambda text: tuple(map(float, GOLDEN.models.target(text).values)),
    lambda text: tuple(map(float, GOLDEN.models.draft(text).values)),
)


class AsProgram:
    """A scheme whose kind is hidden, so that it is enumerated as any program is."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        return self.scheme.play(coin, models, context, memory)


class Counting:
    """Counts its rounds in its memory: the first emits token 0, the later ones follow the target."""

    def play(self, coin: Coin, models: Models, context: Context, memory: Memory) -> Played:
        rounds = memory if isinstance(memory, int) else 0
        return Played((), models.target(context) if rounds else 0, rounds + 1)


def first_child(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
    return accepted(0)


@given(st.integers(0, 10**6), st.sampled_from(NODE_SCHEMES))
def test_node_by_node_is_the_same_as_all_at_once(seed: int, scheme: NodeScheme) -> None:
    """Putting a round together from node laws gives the steps that enumerating the whole walk gives."""
    models = Models.of(model(seed, 3), model(seed + 1, 3))
    whole = {step: share for step, share in steps_of(AsProgram(scheme), models, (), None, None).items() if share}
    assert dict(steps_of(scheme, models, (), None, None)) == whole


@given(st.integers(0, 10**6))
def test_two_rounds_are_one_round_after_another(seed: int) -> None:
    """The law over two rounds is that of the first, continued by the second, merged or not."""
    models = Models.of(model(seed, 2), model(seed + 1, 2))
    scheme = NodeScheme(multi_round, PROPOSALS["without-replacement"], ByDepth((2,)))
    by_hand: Counter[Context] = Counter()
    for first, reached in steps_of(scheme, models, (), None, None).items():
        for second, share in steps_of(scheme, models, first.tokens, None, None).items():
            by_hand[(first.tokens + second.tokens)[:2]] += Fraction(reached * share)  # type: ignore[assignment]
    law = exact_law(scheme, models, tokens=2, rounds=2).law
    assert {text: share for text, share in law.items() if share} == {
        text: share for text, share in by_hand.items() if share
    }


@pytest.mark.parametrize(
    "scheme",
    [
        *NODE_SCHEMES,
        TreeScheme(block, PROPOSALS["independent"], ByDepth((1, 1))),
        TreeScheme(traversal, PROPOSALS["without-replacement"], ByDepth((2, 1))),
    ],
)
def test_samples_follow_the_law(scheme: Scheme) -> None:
    """A seeded coin plays the same code: every first token is within five standard deviations of its exact probability."""
    rounds, coin = 2000, SeededCoin(20)
    counted = Counter(text_of(coin, scheme)[0] for _ in range(rounds))
    law = exact_law(scheme, GOLDEN.models, tokens=1, rounds=1).law
    for token in range(4):
        share = float(law.get((token,), 0))
        assert abs(counted[token] - rounds * share) <= 5 * (rounds * share * (1 - share)) ** 0.5


def text_of(coin: Coin, scheme: Scheme) -> Context:
    played = scheme.play(coin, IN_FLOATS, (), None)
    return (*played.accepted, token_of(coin, played.bonus))


def test_the_worst_context_is_reported() -> None:
    """A rule that is wrong after one token alone is reported there, with what it emits and what it should."""

    def wrong_after_one(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        return (first_child if target[2] == Fraction(1, 2) else point_mass)(coin, target, siblings)

    models = Models.of(
        lambda text: fractions(1, 1, 2) if text == (1,) else fractions(1, 1, 1), lambda _: fractions(2, 1, 0)
    )
    law = exact_law(
        NodeScheme(wrong_after_one, PROPOSALS["deterministic"], ByDepth((1, 1))), models, tokens=2, rounds=2
    )
    assert (law.worst.context, law.worst.reached) == ((1,), Fraction(1, 3))
    assert law.worst.emitted == (1, 0, 0)
    assert law.worst.target == fractions(1, 1, 2)
    assert law.worst.total_variation == Fraction(3, 4)
    assert law.total_variation == Fraction(1, 3) * Fraction(3, 4)


def test_a_right_rule_has_no_bad_context() -> None:
    """Where the law is right the worst context is the empty one, at distance 0."""
    law = exact_law(NODE_SCHEMES[0], GOLDEN.models, tokens=2)
    assert (law.worst.context, law.worst.total_variation) == ((), 0)


def test_acceptance_length_and_bound_are_those_of_the_first_round() -> None:
    """A rule that accepts everything accepts always, as many as the tree is deep, above any bound."""
    scheme = NodeScheme(first_child, PROPOSALS["deterministic"], ByDepth((1, 1, 1)))
    law = exact_law(scheme, GOLDEN.models, tokens=1, rounds=2)
    assert (law.acceptance, law.expected_length) == (1, 3)
    assert law.bound == Fraction(1, 20)  # the most probable drafted token alone, of target probability 1/20
    assert law.meets_bound
    chain = exact_law(NodeScheme(ratio_chain, PROPOSALS["independent"], ByDepth((1,))), GOLDEN.models, tokens=1)
    assert chain.meets_bound
    assert exact_law(NODE_SCHEMES[0], GOLDEN.models, tokens=1).meets_bound is False
    assert exact_law(AsProgram(scheme), GOLDEN.models, tokens=1).meets_bound is None


def test_memory_is_carried_from_round_to_round() -> None:
    """A decoder that is wrong in its first round only is right from the second token on, given the first."""
    target = model(3, 2)
    law = exact_law(Counting(), Models.of(target, target), tokens=3, rounds=3).law
    follow = joint_law(lambda text: target((0, *text)), 2, 2)
    assert law == {(0, *text): share for text, share in follow.items()}


def test_a_text_that_is_short_is_continued_by_the_target() -> None:
    """After the last round the target goes on, so a short text adds no distance of its own."""
    target = model(5, 2)
    law = exact_law(
        NodeScheme(point_mass, PROPOSALS["deterministic"], ByDepth((1,))), Models.of(target, target), tokens=4, rounds=1
    )
    assert law.law == joint_law(target, 2, 4)


def test_an_unexpected_amount_of_work_is_refused() -> None:
    """No tokens or no rounds is a usage error, and a broken model is named where it is first reached."""
    with pytest.raises(UsageError, match="0 tokens over 1 rounds; expected at least one of each"):
        exact_law(NODE_SCHEMES[0], GOLDEN.models, tokens=0, rounds=1)
    broken = Models.of(lambda text: fractions(1, 1) if not text else (Fraction(1, 3),) * 2, lambda _: fractions(1, 1))
    with pytest.raises(InvalidLaw, match=r"the target law after \(0,\) sums to 2/3"):
        exact_law(NodeScheme(point_mass, PROPOSALS["deterministic"], ByDepth((1,))), broken)


HUNDREDTH = Fraction(1, 100)


@pytest.mark.parametrize(
    ("percent", "path", "bonus"),
    [
        ([39, 49], (1, 3), (0, 0, 1)),
        ([39, 50], (1,), (Fraction(2, 5), 0, Fraction(3, 5))),
        ([40, 59], (2,), (0, 0, 1)),
        ([40, 60], (), (0, 0, 1)),
    ],
)
def test_a_given_tree_is_verified_by_script(percent: list[int], path: Context, bonus: tuple[Fraction, ...]) -> None:
    """Point masses on a tree of four nodes, at the thresholds and just below: siblings in slot order, residuals as laws."""
    tree = CandidateTree([2, 0, 1, 1], [-1, 0, 0, 1])
    root, after, leaf = Law(fractions(40, 36, 24)), Law(fractions(20, 50, 30)), Law(fractions(0, 0, 1))
    coin = ScriptedCoin([step * HUNDREDTH for step in percent])
    outcome = Walk(point_mass)(coin, GivenTree(tree, [root, after, leaf, leaf], [root] * 4))
    assert outcome.accepted == path
    assert isinstance(outcome.bonus, Law)
    assert outcome.bonus.values == bonus
    assert coin.used == 2


@pytest.mark.parametrize("verdict", [Verdict(None, None), Verdict(0, 1), Verdict(2, None), Verdict(-1, None)])
def test_a_rule_that_decides_nothing_is_refused(verdict: Verdict) -> None:
    """Neither child nor bonus, both, or a child that does not exist: refused by enumeration and by sampling."""

    def undecided(coin: Coin, target: Law, siblings: Siblings) -> Verdict:
        return verdict

    scheme = NodeScheme(undecided, PROPOSALS["deterministic"], ByDepth((2,)))
    for use in (lambda: exact_law(scheme, GOLDEN.models), lambda: scheme.play(SeededCoin(0), GOLDEN.models, (), None)):
        with pytest.raises(
            UsageError, match="the rule answered Verdict.*; expected a child below 2, or None and a bonus"
        ):
            use()


def test_accepted_nodes_must_be_a_path() -> None:
    """A whole-tree rule that accepts two siblings is refused with the nodes that it named."""

    def both(coin: Coin, tree: DraftTree) -> Outcome:
        return Outcome(tree.children(0), 0)

    with pytest.raises(UsageError, match=r"the rule accepted nodes \(1, 2\); expected a path from the root"):
        exact_law(TreeScheme(both, PROPOSALS["deterministic"], ByDepth((2,))), GOLDEN.models)


def test_a_round_with_too_many_outcomes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration stops with advice and does not run for hours."""
    monkeypatch.setattr(steps, "MOST_OUTCOMES", 100)
    scheme = TreeScheme(traversal, PROPOSALS["without-replacement"], ByDepth((2, 2)))
    with pytest.raises(
        Unsupported, match="one round has more than 100 outcomes; take fewer tokens, levels or children"
    ):
        exact_law(scheme, GOLDEN.models)


@pytest.mark.parametrize(
    ("script", "path", "bonus"),
    [
        ([Fraction(2, 15) - HUNDREDTH], (1, 2), (1, 0)),
        ([Fraction(2, 15), Fraction(3, 13) - HUNDREDTH], (1,), (0, 1)),
        ([Fraction(2, 15), Fraction(3, 13)], (), (0, 1)),
    ],
)
@pytest.mark.parametrize("rule", [block, traversal])
def test_a_given_chain_is_verified_from_its_end(
    rule: TreeRule, script: list[Fraction], path: Context, bonus: tuple[int, ...]
) -> None:
    """Worked by hand: P_1 = 2/3, P_2 = 2/15, S_1 = 1/10, h_1 = 3/13, at the thresholds and just below."""
    half, leaf = Law(fractions(1, 1)), Law(fractions(1, 0))
    targets, drafts = [half, Law(fractions(1, 9)), leaf], [Law(fractions(3, 1)), half, half]
    coin = ScriptedCoin(script)
    outcome = rule(coin, GivenTree(CandidateTree([1, 0, 0], [-1, 0, 1]), targets, drafts))
    assert outcome.accepted == path
    assert isinstance(outcome.bonus, Law)
    assert outcome.bonus.values == bonus
    assert coin.used == len(script)


def test_every_card_makes_one_kind_of_rule() -> None:
    """A card has a node rule or a whole-tree rule, and names the proposals it speaks of."""
    for card in RULES.values():
        assert (card.node is None) != (card.tree is None)
        assert card.exact_under <= set(PROPOSALS)
        assert card.exact_alone <= set(PROPOSALS)
