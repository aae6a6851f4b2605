"""Pairs of laws that do not hide faults, each named for the condition it brings about, with exact answers beside it.

Many wrong rules are right on many pairs: where the first residual is a single token, or in proportion to q, three of the
published violations have distance 0 (``HIDING`` keeps two such pairs). Laws after other contexts are the same numbers, rotated,
so that a history that is forgotten shows.

``instances.json`` holds distance, acceptance and bound of every rule on every pair, as fractions; ``answers`` makes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import resources
from typing import TypeAlias

from tree_oracle.verify.law.exact import exact_law
from tree_oracle.verify.law.schemes import NodeScheme, scheme_of
from tree_oracle.verify.probabilities import Number
from tree_oracle.verify.rules.card import Card
from tree_oracle.verify.rules.drawn_tree import ByDepth, Context, Models
from tree_oracle.verify.rules.proposals import joint_of
from tree_oracle.verify.rules.registry import PROPOSALS, RULES
from tree_oracle.verify.rules.transport import most_accepted

Answers: TypeAlias = dict[str, dict[str, dict[str, dict[str, str]]]]  # pair, proposal, rule, figure


@dataclass(frozen=True)
class Instance:
    """A target, a draft and a number of siblings."""

    name: str
    why: str
    target: tuple[int, ...]  # weights, to be divided by their sum
    draft: tuple[int, ...]
    siblings: int

    @cached_property
    def models(self) -> Models:
        """The laws as weighted, rotated by the history."""
        return Models.of(
            lambda context: _rotated(self.target, context, 1), lambda context: _rotated(self.draft, context, 2)
        )


GOLDEN = Instance(
    "golden", "the first residual has two tokens and is not in proportion to q", (1, 5, 9, 5), (8, 6, 2, 4), 2
)
INSTANCES = (
    GOLDEN,
    Instance("golden-of-three", "a second residual, and a third test", (1, 5, 9, 5), (8, 6, 2, 4), 3),
    Instance("equal", "p = q: whatever is rejected is a fault", (51, 49), (51, 49), 2),
    Instance("equal-of-four", "p = q with tokens that are not drafted", (4, 3, 2, 1), (4, 3, 2, 1), 2),
    Instance("zeros", "tokens of probability 0 on either side", (0, 3, 4, 3), (5, 0, 2, 3), 2),
    Instance("exhausted", "the draft has fewer tokens than siblings are wanted", (1, 2, 3, 4), (3, 1, 0, 0), 3),
    Instance("disjoint", "the draft proposes nothing that the target allows", (1, 3, 0, 0), (0, 0, 1, 2), 2),
    Instance("repeating", "independent draws are mostly equal", (2, 3, 5), (8, 1, 1), 2),
    Instance(
        "near-degenerate", "both laws are almost certain, of different tokens", (1, 999990, 5, 4), (999990, 1, 4, 5), 2
    ),
)
HIDING = (
    Instance("hiding-point", "the first residual is a single token", (5, 3, 2), (6, 3, 1), 2),
    Instance("hiding-ratio", "the first residual hides how the second draft was drawn", (1, 3, 4, 2), (4, 3, 2, 1), 2),
)


def fits(card: Card, proposal: str, instance: Instance) -> bool:
    """True if the rule is defined for that many siblings and never handed siblings that it refuses."""
    if card.siblings not in (None, instance.siblings):
        return False
    if card.name == "spec-hub":
        return proposal == "hub-pairs"
    return proposal != "hub-pairs" or instance.siblings == 2


def answers(instance: Instance) -> dict[str, dict[str, dict[str, str]]]:
    """Figures of every rational node rule that fits, for one round and one token, by proposal and rule."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, proposal in PROPOSALS.items():
        if name == "hub-pairs" and instance.siblings != 2:
            continue
        joint = joint_of(proposal, instance.models.draft(()), instance.siblings)
        bound = most_accepted(instance.models.target(()), joint)
        found[name] = {"any": {"bound": str(bound)}} | {
            card.name: _figures(card, name, instance)
            for card in RULES.values()
            if card.node is not None and card.name != "transport" and fits(card, name, instance)
        }
    return found


def stored_answers() -> Answers:
    """What ``instances.json`` holds."""
    text = (resources.files(__package__) / "instances.json").read_text(encoding="utf-8")
    stored: Answers = json.loads(text)
    return stored


def _figures(card: Card, proposal: str, instance: Instance) -> dict[str, str]:
    scheme = scheme_of(card, PROPOSALS[proposal], ByDepth((instance.siblings,)))
    assert isinstance(scheme, NodeScheme)
    law = exact_law(scheme, instance.models, tokens=1, rounds=1)
    return {"total_variation": str(law.total_variation), "acceptance": str(law.acceptance)}


def _rotated(weights: tuple[int, ...], context: Context, step: int) -> tuple[Number, ...]:
    shift = sum(step * (place + 1) * (token + 1) for place, token in enumerate(context)) % len(weights)
    turned = weights[shift:] + weights[:shift]
    return tuple(Fraction(weight, sum(weights)) for weight in turned)
