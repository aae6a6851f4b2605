"""The declared-mode contract: proven where theory and enumeration agree, else flagged with laws that refute it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from law_grounds import overlap

from tree_oracle.record import UsageError
from tree_oracle.verify.approximate import APPROXIMATE, REDUCED
from tree_oracle.verify.law import (
    UNPROCESSED,
    Declaration,
    MinP,
    PresencePenalty,
    Processing,
    Ruling,
    Standing,
    Temperature,
    TopK,
    TopP,
    Vocabulary,
    contract,
    declarations,
    rule_on,
)
from tree_oracle.verify.rules import COMMON_ASSUMPTIONS, PROPOSALS, RULES

HALF = Fraction(1, 2)
PROCESSINGS = [
    Temperature(HALF),
    Temperature(Fraction(0)),
    TopK(2),
    TopP(Fraction(3, 4)),
    MinP(Fraction(2, 3)),
    PresencePenalty(HALF),
]
EXACT = [declaration for declaration in declarations() if declaration.rule in RULES]


def name_of(declaration: Declaration) -> str:
    return f"{declaration.rule}-{declaration.proposal}"


@pytest.mark.parametrize("declaration", EXACT, ids=name_of)
def test_the_table_is_right_in_both_directions(declaration: Declaration) -> None:
    """What a card claims is proven by enumeration; what it does not claim is refuted by two laws that were found."""
    ruling, rule = rule_on(declaration), declaration.rule
    if RULES[rule].exact_for(declaration.proposal, declaration.siblings):
        assert ruling.standing is Standing.PROVEN
        assert ruling.evidence.startswith("total variation 0 on" if rule != "transport" else "total variation ")
    else:
        assert ruling.standing is Standing.FLAGGED
        assert refuted(ruling)
        assert ruling.reasons[0] == f"{rule} is exact under {under(rule)} siblings, not {declaration.proposal}"


def test_the_table_is_whole() -> None:
    """Every rule and every approximate mode is in it, on every proposal that it can be given."""
    names = {name_of(declaration) for declaration in declarations()}
    assert {declaration.rule for declaration in declarations()} == {*RULES, *REDUCED, *APPROXIMATE}
    assert len(names) == len(list(declarations()))
    assert {"point-mass-hub-pairs", "spec-hub-hub-pairs", "block-favourites-and-one"} <= names
    assert not {"spec-hub-independent", "ratio-chain-hub-pairs"} & names


def under(rule: str) -> str:
    return " or ".join(sorted(RULES[rule].exact_under))


def refuted(ruling: Ruling) -> bool:
    found = ruling.counterexample
    return found is not None and found.law.total_variation > 0 and found.law.worst.total_variation > 0


def test_a_counterexample_can_be_checked_by_hand() -> None:
    """For a deterministic chain under the ratio rule: the draft's first token is emitted with min(1, p / q) and the rest is left."""
    found = rule_on(Declaration(rule="ratio-chain", proposal="deterministic", siblings=1)).counterexample
    assert found is not None
    p, q = ([Fraction(share) for share in law] for law in (found.target, found.draft))
    drafted = q.index(max(q))
    accepted = min(Fraction(1), p[drafted] / q[drafted])
    residual = [max(a - b, Fraction(0)) / (1 - overlap(p, q)) if p != q else a for a, b in zip(p, q, strict=True)]
    emitted = [(1 - accepted) * share for share in residual]
    emitted[drafted] += accepted
    first = [sum(share for text, share in found.law.law.items() if text[0] == token) for token in range(len(p))]
    assert first == emitted
    assert emitted != p


@pytest.mark.parametrize("name", APPROXIMATE)
def test_an_approximate_mode_is_never_proven(name: str) -> None:
    """It stands as approximate, with its distance at two laws."""
    ruling = rule_on(Declaration(rule=name, proposal="without-replacement", siblings=APPROXIMATE[name].siblings or 2))
    assert ruling.standing is Standing.APPROXIMATE
    assert ruling.reasons[0].startswith(f"{name} is an approximate mode: ")
    assert refuted(ruling)


@pytest.mark.parametrize("name", REDUCED)
def test_a_reduced_mode_is_proven(name: str) -> None:
    """Parameters that make an exact rule of a mode are proven by enumeration as every rule is."""
    card = REDUCED[name]
    processing: Processing = Temperature(Fraction(0)) if card.greedy else UNPROCESSED
    ruling = rule_on(Declaration(rule=name, proposal="independent", siblings=1, processing=processing))
    assert ruling.standing is Standing.PROVEN
    assert not card.approximate


def test_greedy_modes_are_flagged_where_sampling_is_declared() -> None:
    """Top-beta of one is greedy decoding and nothing else."""
    ruling = rule_on(Declaration(rule="top-beta-of-one", proposal="deterministic"))
    assert ruling.standing is Standing.FLAGGED
    assert ruling.reasons == ("top-beta-of-one is greedy decoding, the text must follow Unprocessed()",)
    assert refuted(ruling)


def test_a_single_resampled_row_is_proven() -> None:
    """The longest of one row is sample-match; of two it is an approximate mode."""
    assert rule_on(Declaration(rule="longest-row", proposal="independent", siblings=1)).standing is Standing.PROVEN


@pytest.mark.parametrize("processing", PROCESSINGS, ids=str)
@pytest.mark.parametrize(("rule", "proposal"), [("multi-round", "independent"), ("point-mass", "deterministic")])
def test_one_processed_law_everywhere_is_proven(rule: str, proposal: str, processing: Processing) -> None:
    """Exactness holds for any target law, so for every processing of it that is used throughout."""
    ruling = rule_on(Declaration(rule=rule, proposal=proposal, processing=processing))
    assert ruling.standing is Standing.PROVEN
    assert ruling.mode == f"{rule} on {proposal} siblings, 2 each, for the target as {processing}"
    assert set(COMMON_ASSUMPTIONS) < set(ruling.reasons)


@pytest.mark.parametrize("processing", PROCESSINGS, ids=str)
@pytest.mark.parametrize("place", ["judged_with", "bonus_from"])
@pytest.mark.parametrize(
    ("rule", "proposal"), [("without-replacement", "without-replacement"), ("sample-match", "deterministic")]
)
def test_a_raw_law_in_one_place_is_flagged(rule: str, proposal: str, place: str, processing: Processing) -> None:
    """Tests or bonus from the unprocessed law are refuted, under rules that ignore the draft as well."""
    raw: dict[str, Any] = {place: UNPROCESSED}
    ruling = rule_on(replace(Declaration(rule=rule, proposal=proposal, processing=processing), **raw))
    assert ruling.standing is Standing.FLAGGED
    assert "Unprocessed()" in ruling.reasons[0]
    assert refuted(ruling)


@pytest.mark.parametrize("sampled", [Temperature(HALF), TopK(1), Vocabulary(2)], ids=str)
def test_an_undeclared_draft_law_matters_to_rules_that_use_it(sampled: Processing) -> None:
    """Drafts from a law that is not the reported one refute R3 and leave R0 and R1 as they are."""
    ruling = rule_on(Declaration(rule="multi-round", proposal="independent", sampled_from=sampled))
    assert ruling.standing is Standing.FLAGGED
    assert refuted(ruling)
    for rule in ("sample-match", "point-mass"):
        assert rule_on(Declaration(rule=rule, proposal="independent", sampled_from=sampled)).standing is Standing.PROVEN


def test_a_target_cut_to_the_draft_vocabulary_is_flagged() -> None:
    """A target that is renormalised over the draft's tokens is refuted."""
    declaration = Declaration(
        rule="multi-round", proposal="independent", judged_with=Vocabulary(2), bonus_from=Vocabulary(2)
    )
    ruling = rule_on(declaration)
    assert len(ruling.reasons) == 2
    assert refuted(ruling)


def test_penalties_that_ignore_the_tree_are_flagged() -> None:
    """Counting the committed tokens alone is another law than the one a sequential run has."""
    relaxed = PresencePenalty(HALF, counted=0)
    declaration = Declaration(
        rule="point-mass",
        proposal="deterministic",
        processing=PresencePenalty(HALF),
        judged_with=relaxed,
        bonus_from=relaxed,
    )
    assert refuted(rule_on(declaration))


def test_a_false_claim_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that claims too much is flagged by enumeration, not believed."""
    boastful = replace(RULES["multi-round"], exact_under=frozenset(PROPOSALS))
    monkeypatch.setattr(contract, "RULES", {**RULES, "multi-round": boastful})
    ruling = rule_on(Declaration(rule="multi-round", proposal="without-replacement"))
    assert ruling.standing is Standing.FLAGGED
    assert ruling.reasons == ("multi-round is said to be exact here",)


def test_a_search_without_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no pair of laws refutes it, it is neither called proven nor refuted, and the number of pairs is given."""
    modest = replace(RULES["sample-match"], exact_under=frozenset({"deterministic"}))
    monkeypatch.setattr(contract, "RULES", {**RULES, "sample-match": modest})
    monkeypatch.setattr(contract, "_SEARCHED", ((2, range(2, 4)),))
    ruling = rule_on(Declaration(rule="sample-match", proposal="independent"))
    assert ruling.standing is Standing.FLAGGED
    assert ruling.counterexample is None
    assert ruling.evidence == "no counterexample among 25 pairs of laws: not refuted, and not proven"


@pytest.mark.parametrize(
    ("rule", "proposal", "siblings", "message"),
    [
        ("r2", "independent", 1, "there is no rule 'r2'; expected one of sample-match"),
        ("point-mass", "beam", 1, "there is no proposal 'beam'; expected one of deterministic"),
        ("ratio-chain", "independent", 2, "ratio-chain on independent siblings, 2 each; expected 1"),
        ("point-mass", "hub-pairs", 3, "point-mass on hub-pairs siblings, 3 each; expected 2"),
        ("ratio-chain", "hub-pairs", 1, "ratio-chain on hub-pairs siblings, 1 each; expected 2"),
        ("spec-hub", "independent", 2, "spec-hub on independent siblings, 2 each; expected hub-pairs"),
        ("point-mass", "deterministic", 0, "point-mass on deterministic siblings, 0 each; expected 1"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(rule: str, proposal: str, siblings: int, message: str) -> None:
    """What cannot be is a usage error, not a ruling."""
    with pytest.raises(UsageError, match=re.escape(message)):
        rule_on(Declaration(rule=rule, proposal=proposal, siblings=siblings))
