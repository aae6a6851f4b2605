"""The declared-mode contract: which proposal, which rule, which processed law; proven, or flagged with a counterexample.

Exactness is never inferred from how much is accepted. A declaration is *proven* where theory says that it is exact and the law
by enumeration agrees on every pair of ``INSTANCES``; *approximate* where the mode is one by name; and *flagged* in every other
case, with the reason and the smallest pair of laws on which the text does not follow the target, found by search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product, starmap

from tree_oracle.record import UsageError
from tree_oracle.verify.approximate.registry import APPROXIMATE, REDUCED
from tree_oracle.verify.law.exact import ROUNDED, ExactLaw, exact_law
from tree_oracle.verify.law.instances import INSTANCES
from tree_oracle.verify.law.processing import UNPROCESSED, Processing, Temperature, processed
from tree_oracle.verify.law.schemes import Scheme, scheme_of
from tree_oracle.verify.law.uses import Sampled, with_bonus_from
from tree_oracle.verify.probabilities import InvalidLaw, Number
from tree_oracle.verify.rules.card import COMMON_ASSUMPTIONS, Card
from tree_oracle.verify.rules.drawn_tree import ByDepth, Context, Models
from tree_oracle.verify.rules.registry import PROPOSALS, RULES

_GREEDY = Temperature(Fraction(0))
_SEARCHED = ((2, range(2, 6)), (3, range(2, 8)))  # tokens, and the denominators that are tried
_COMMITTED = (0,)  # where the search begins, so that a penalty for committed tokens has one to look at
_DEPTH = 2  # a wrong second token needs a second level


class Standing(StrEnum):
    """What may be said of a declaration."""

    PROVEN = "proven"
    APPROXIMATE = "approximate"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a decoder says of itself. ``judged_with`` and ``bonus_from`` default to ``processing``, as they should."""

    rule: str
    proposal: str
    siblings: int = 2  # of each node that has any
    processing: Processing = UNPROCESSED  # of the target: what the text must follow
    judged_with: Processing | None = None  # of the target, in acceptance tests and residuals
    bonus_from: Processing | None = None  # of the target, after a fully accepted path
    sampled_from: Processing = UNPROCESSED  # of the reported draft law: what siblings are really drawn from


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two laws, the same after every context, on which the text does not follow the target."""

    target: tuple[Number, ...]
    draft: tuple[Number, ...]
    law: ExactLaw


@dataclass(frozen=True, slots=True)
class Ruling:
    """What may be said, and why."""

    standing: Standing
    mode: str
    reasons: tuple[str, ...]  # why not proven, or why proven
    evidence: str
    counterexample: Counterexample | None = None
    refuted: bool = False  # flagged or approximate, and shown to be wrong: not merely unproven


def rule_on(declaration: Declaration) -> Ruling:
    """What may be said of a declaration.

    Raises:
        UsageError: the rule or the proposal does not exist, or they do not fit the number of siblings.
    """
    card = _checked(declaration)
    mode = f"{_mode(declaration)}, for the target as {declaration.processing}"
    reasons = _reasons(declaration, card)
    if not reasons:
        return _examined(declaration, card, mode)
    standing = Standing.APPROXIMATE if card.approximate and len(reasons) == 1 else Standing.FLAGGED
    found, tried = _counterexample(declaration, card)
    if found is None:
        return Ruling(
            standing, mode, reasons, f"no counterexample among {tried} pairs of laws: not refuted, and not proven"
        )
    where = f"p = {_written(found.target)}, q = {_written(found.draft)}"
    said = f"total variation {found.law.total_variation} at {where}"
    return Ruling(standing, mode, reasons, said, found, refuted=True)


def declarations(processing: Processing = UNPROCESSED) -> Iterator[Declaration]:
    """Every rule and approximate mode on every proposal that it fits, with two siblings where it takes any number."""
    for card in {**RULES, **REDUCED, **APPROXIMATE}.values():
        for proposal in PROPOSALS:
            declaration = Declaration(
                rule=card.name, proposal=proposal, siblings=card.siblings or 2, processing=processing
            )
            if _misfit(declaration, card) is None:
                yield declaration


def _mode(declaration: Declaration) -> str:
    return f"{declaration.rule} on {declaration.proposal} siblings, {declaration.siblings} each"


def _checked(declaration: Declaration) -> Card:
    cards = {**RULES, **REDUCED, **APPROXIMATE}
    if declaration.rule not in cards:
        raise UsageError(f"there is no rule {declaration.rule!r}; expected one of {', '.join(cards)}")
    if declaration.proposal not in PROPOSALS:
        raise UsageError(f"there is no proposal {declaration.proposal!r}; expected one of {', '.join(PROPOSALS)}")
    card = cards[declaration.rule]
    if (expected := _misfit(declaration, card)) is not None:
        raise UsageError(f"{_mode(declaration)}; expected {expected}")
    return card


def _misfit(declaration: Declaration, card: Card) -> str | None:
    """What a rule would need instead of siblings that it refuses, or cannot be given."""
    if card.name == "spec-hub" and declaration.proposal != "hub-pairs":
        return "hub-pairs, as spec-hub refuses all others"
    for wanted in (card.siblings, 2 if declaration.proposal == "hub-pairs" else None, max(declaration.siblings, 1)):
        if wanted not in (None, declaration.siblings):
            return str(wanted)
    return None


def _reasons(declaration: Declaration, card: Card) -> tuple[str, ...]:
    found = []
    if not card.exact_for(declaration.proposal, declaration.siblings):
        under = " or ".join(sorted(card.exact_under))
        found.append(
            f"{card.name} is an approximate mode: {card.formula}"
            if card.approximate
            else f"{card.name} is exact under {under} siblings, not {declaration.proposal}"
        )
    if card.greedy and declaration.processing != _GREEDY:
        found.append(f"{card.name} is greedy decoding, the text must follow {declaration.processing}")
    if declaration.judged_with not in (None, declaration.processing):
        found.append(
            f"tests and residuals use {declaration.judged_with}, the text must follow {declaration.processing}"
        )
    if declaration.bonus_from not in (None, declaration.processing):
        found.append(f"the bonus is drawn from {declaration.bonus_from}, the text must follow {declaration.processing}")
    if declaration.sampled_from != UNPROCESSED and not card.ignores_draft:
        found.append(f"siblings are drawn from {declaration.sampled_from} of the law that is reported as theirs")
    return tuple(found)


def _examined(declaration: Declaration, card: Card, mode: str) -> Ruling:
    pairs = (instance.models for instance in INSTANCES)
    laws = [law for _, law in _laws(declaration, card, pairs, ())]
    worst = max(law.total_variation for law in laws)
    rational = all(law.exact for law in laws)
    if worst > (0 if rational else ROUNDED):
        return Ruling(
            Standing.FLAGGED,
            mode,
            (f"{card.name} is said to be exact here",),
            f"total variation {worst} by enumeration",
            refuted=True,
        )
    found = "0" if rational else f"{worst:.1g}, in floats,"
    theory = (f"{card.formula} ({card.source})", *card.assumptions, *COMMON_ASSUMPTIONS)
    return Ruling(Standing.PROVEN, mode, theory, f"total variation {found} on {len(laws)} pairs of laws")


def _counterexample(declaration: Declaration, card: Card) -> tuple[Counterexample | None, int]:
    tried = 0
    for models, law in _laws(declaration, card, starmap(Models.constant, _pairs()), _COMMITTED):
        tried += 1
        if law.total_variation > (0 if law.exact else ROUNDED):
            return Counterexample(models.target(()).values, models.draft(()).values, law), tried
    return None, tried


def _laws(
    declaration: Declaration, card: Card, pairs: Iterable[Models], context: Context
) -> Iterator[tuple[Models, ExactLaw]]:
    for models in pairs:
        try:
            yield models, _law(declaration, card, models, context)
        except InvalidLaw:  # processing leaves no token of these laws
            continue


def _law(declaration: Declaration, card: Card, models: Models, context: Context) -> ExactLaw:
    proposal = PROPOSALS[declaration.proposal]
    truth = processed(models.target, declaration.processing)
    judged = truth if declaration.judged_with is None else processed(models.target, declaration.judged_with)
    bonus = truth if declaration.bonus_from is None else processed(models.target, declaration.bonus_from)
    sampled = proposal if declaration.sampled_from == UNPROCESSED else Sampled(proposal, declaration.sampled_from)
    depth = 1 if card.node is not None else _DEPTH
    scheme = scheme_of(card, sampled, ByDepth((declaration.siblings,) * depth))
    played: Scheme = scheme if bonus is judged else with_bonus_from(scheme, bonus)
    return exact_law(played, Models(judged, models.draft), tokens=depth + 1, rounds=1, truth=truth, context=context)


def _pairs() -> Iterator[tuple[tuple[Number, ...], tuple[Number, ...]]]:
    """Pairs of laws, the shortest and of the smallest denominators first."""
    for size, denominators in _SEARCHED:
        for denominator in denominators:
            laws = [
                tuple(Fraction(weight, denominator) for weight in weights)
                for weights in product(range(denominator + 1), repeat=size)
                if sum(weights) == denominator
            ]
            yield from product(laws, laws)


def _written(law: tuple[Number, ...]) -> str:
    return f"({', '.join(map(str, law))})"
