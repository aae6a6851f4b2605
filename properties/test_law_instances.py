"""Instances that do not hide faults: each meets the condition it is named for, and its stored answers are recomputed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tree_oracle.faults.laws import LAW_FAULTS
from tree_oracle.verify.law import (
    GOLDEN,
    HIDING,
    INSTANCES,
    Instance,
    NodeScheme,
    answers,
    exact_law,
    stored_answers,
)
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules import PROPOSALS, RULES, joint_of

BY_NAME = {instance.name: instance for instance in (*INSTANCES, *HIDING)}
STORED = stored_answers()


def laws(instance: Instance) -> tuple[Law, Law]:
    return instance.models.target(()), instance.models.draft(())


def residual_is_spread(instance: Instance) -> bool:
    """At least two tokens, and not in proportion to q on them."""
    p, q = laws(instance)
    residual = p.minus(q)
    support = [token for token in range(len(p)) if residual[token]]
    return (
        len(support) >= 2
        and len({residual[token] * q[support[0]] - residual[support[0]] * q[token] for token in support}) > 1
    )


@pytest.mark.parametrize("name", BY_NAME)
def test_stored_answers_are_what_is_computed(name: str) -> None:
    """Every stored distance, acceptance and bound is found again, digit for digit."""
    assert set(STORED) == set(BY_NAME)
    assert STORED[name] == answers(BY_NAME[name])


@pytest.mark.parametrize("name", [instance.name for instance in INSTANCES])
def test_stored_answers_say_what_the_cards_say(name: str) -> None:
    """The distance is 0 for every combination that a card claims, and no acceptance of those is above the bound."""
    for proposal, by_rule in STORED[name].items():
        for rule, figures in by_rule.items():
            if rule != "any" and RULES[rule].exact_for(proposal, BY_NAME[name].siblings):
                assert figures["total_variation"] == "0"
                assert Fraction(figures["acceptance"]) <= Fraction(by_rule["any"]["bound"])


@pytest.mark.parametrize("name", ["golden", "golden-of-three", "zeros", "repeating", "near-degenerate"])
def test_the_first_residual_is_spread(name: str) -> None:
    """It has at least two tokens and is not in proportion to q."""
    assert residual_is_spread(BY_NAME[name])


def test_each_instance_meets_its_condition() -> None:
    """Equal laws, zeros on either side, an exhausted draft, disjoint laws, likely duplicates, near-certain laws."""
    p, q = laws(BY_NAME["equal"])
    assert p.values == q.values
    p, q = laws(BY_NAME["zeros"])
    assert 0 in p.values
    assert 0 in q.values
    _, q = laws(BY_NAME["exhausted"])
    assert sum(share > 0 for share in q.values) < BY_NAME["exhausted"].siblings
    p, q = laws(BY_NAME["disjoint"])
    assert not any(a * b for a, b in zip(p.values, q.values, strict=True))
    joint = joint_of(PROPOSALS["independent"], laws(BY_NAME["repeating"])[1], 2)
    assert sum(share for tokens, share in joint.items() if len(set(tokens)) == 1) > Fraction(1, 2)
    p, q = laws(BY_NAME["near-degenerate"])
    assert max(p.values) > Fraction(9999, 10000) < max(q.values)


@pytest.mark.parametrize("instance", HIDING, ids=lambda instance: instance.name)
def test_the_hiding_pairs_hide(instance: Instance) -> None:
    """Three wrong rules that the golden instance shows have distance exactly 0 there."""
    for name in ("duplicates-skipped", "independent-as-without-replacement", "without-replacement-as-independent"):
        scheme = LAW_FAULTS[name].scheme
        assert isinstance(scheme, NodeScheme)
        assert exact_law(scheme, instance.models, tokens=1, rounds=1).total_variation == 0
        assert exact_law(scheme, GOLDEN.models, tokens=1, rounds=1).total_variation > 0


def test_laws_depend_on_the_whole_history() -> None:
    """The same tokens in another order lead to another law, and the first law is the one that is written down."""
    target = GOLDEN.models.target
    assert target((0, 1)).values != target((1, 0)).values
    assert target(()).values == tuple(Fraction(weight, 20) for weight in (1, 5, 9, 5))
