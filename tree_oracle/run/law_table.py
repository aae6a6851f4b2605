"""The tables of verification laws as plain data: what may be declared, one rule, one pair of laws."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from tree_oracle.record import UsageError
from tree_oracle.record.names import by_name
from tree_oracle.verify.approximate import APPROXIMATE, REDUCED
from tree_oracle.verify.law import INSTANCES, Declaration, Instance, Ruling, declarations, exact_law, rule_on, scheme_of
from tree_oracle.verify.law.instances import fits
from tree_oracle.verify.probabilities import Number
from tree_oracle.verify.rules import PROPOSALS, RULES, ByDepth, Card

CARDS = {**RULES, **REDUCED, **APPROXIMATE}


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """One declaration and what may be said of it."""

    rule: str
    number: str
    proposal: str
    siblings: int
    standing: str
    reason: str  # why it is not proven; empty if it is
    evidence: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One rule on one pair of laws, as fractions where nothing is rounded. One level, one round, one token."""

    rule: str
    proposal: str
    instance: str
    total_variation: str
    acceptance: str  # probability that a child is accepted
    expected_length: str  # accepted tokens on average
    bound: str  # the most that any exact rule accepts here; empty for whole-tree rules
    exact: bool  # whether it is claimed to be


def ruled(rule: str | None = None) -> Iterator[Ruled]:
    """Every declaration, or those of one rule.

    Raises:
        UsageError: there is no such rule.
    """
    if rule is not None:
        find_card(rule)
    for declaration in declarations():
        if rule in (None, declaration.rule):
            yield _ruled(declaration, rule_on(declaration))


def find_card(rule: str) -> Card:
    """The card of an exact rule or of an approximate mode.

    Raises:
        UsageError: there is none.
    """
    if rule not in CARDS:
        raise UsageError(f"there is no rule {rule!r}; expected one of {', '.join(CARDS)}")
    return CARDS[rule]


def find_instance(name: str) -> Instance:
    """A pair of laws by name.

    Raises:
        UsageError: there is none.
    """
    found = by_name(INSTANCES)
    if name not in found:
        raise UsageError(f"there is no instance {name!r}; expected one of {', '.join(found)}")
    return found[name]


def measured(instance: Instance, rule: str | None = None) -> Iterator[Measured]:
    """Every rule, or one, on every proposal that fits."""
    for card in CARDS.values() if rule is None else (find_card(rule),):
        siblings = card.siblings or instance.siblings
        for proposal in PROPOSALS:
            if _takes(card, proposal, instance, siblings):
                yield _measured(card, proposal, instance, siblings)


def _takes(card: Card, proposal: str, instance: Instance, siblings: int) -> bool:
    return (card.siblings == 1 and proposal != "hub-pairs") or fits(card, proposal, instance)


def _measured(card: Card, proposal: str, instance: Instance, siblings: int) -> Measured:
    scheme = scheme_of(card, PROPOSALS[proposal], ByDepth((siblings,)))
    law = exact_law(scheme, instance.models, tokens=1, rounds=1)
    return Measured(
        rule=card.name,
        proposal=proposal,
        instance=instance.name,
        total_variation=written(law.total_variation),
        acceptance=written(law.acceptance),
        expected_length=written(law.expected_length),
        bound="" if law.bound is None else written(law.bound),
        exact=card.exact_for(proposal, siblings) and not card.greedy,
    )


def written(value: Number) -> str:
    """A fraction as it is, a float to three digits."""
    return str(value) if isinstance(value, int | Fraction) else f"{value:.3g}"


def _ruled(declaration: Declaration, ruling: Ruling) -> Ruled:
    return Ruled(
        rule=declaration.rule,
        number=CARDS[declaration.rule].number,
        proposal=declaration.proposal,
        siblings=declaration.siblings,
        standing=ruling.standing.value,
        reason="" if ruling.standing.value == "proven" else "; ".join(ruling.reasons),
        evidence=ruling.evidence,
    )
