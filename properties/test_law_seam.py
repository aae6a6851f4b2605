"""The seams by chance: what is scripted covers all of a rule, and a decoder that misbehaves is told in plain words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_decoders import judged, listed

from tree_oracle.checks.drive import drive
from tree_oracle.checks.law_plan import MARGIN, UNIT, laws_at, models_of, plan, weight_of
from tree_oracle.checks.mode import mode_of
from tree_oracle.decoder import Seam, seams_of
from tree_oracle.decoder.sampled import SampledDecoder
from tree_oracle.record import AdapterError, Case, DecoderError, LawData, Status, TreeData, UsageError, case_id
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.coin import ScriptedCoin
from tree_oracle.verify.law import Declaration, exact_law, scheme_of
from tree_oracle.verify.rules import PROPOSALS, RULES, ByDepth, GivenTree, Walk, find_rule, token_of

NODE_RULES = [name for name, card in RULES.items() if card.node is not None and name not in ("transport", "k-seq")]
weights = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any).map(tuple)
TURNED = LawData(target=(1, 5, 9, 5), draft=(8, 6, 2, 4))
PAIR = TreeData((0, 2, 3), (-1, 0, 0))
MODE = Declaration(rule="without-replacement", proposal="without-replacement")


@given(target=weights, draft=weights, rule=st.sampled_from(NODE_RULES))
def test_the_ways_of_chance_are_all_of_the_rule(target: tuple[int, ...], draft: tuple[int, ...], rule: str) -> None:
    """Over all trees the ways have probability 1 and, weighed by it, exactly the law that enumeration finds."""
    data, card = LawData(target=target, draft=draft), find_rule(rule)
    siblings, proposal = card.siblings or 2, sorted(card.exact_under)[0]
    mode, parents = Declaration(rule=rule, proposal=proposal, siblings=siblings), (-1, *[0] * siblings)
    found: dict[int, Any] = defaultdict(Fraction)
    whole: Any = 0
    for code in range(3**siblings):
        tree = TreeData((0, *[code // 3**place % 3 for place in range(siblings)]), parents)
        weight = weight_of(mode, data, tree)
        for way in plan(mode, data, tree):
            first = tree.tokens[way.accepted[0]] if way.accepted else way.bonus
            found[first] += weight * way.mass
            whole += weight * way.mass
    law = exact_law(scheme_of(card, PROPOSALS[proposal], ByDepth((siblings,))), models_of(data), tokens=1, rounds=1)
    if not whole:  # the proposal gives fewer siblings than this shape has
        return
    assert whole == 1
    assert {token: share for token, share in found.items() if share} == {text[0]: p for text, p in law.law.items() if p}


@given(target=weights, draft=weights, tokens=st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_scripts_lie_in_their_cells(target: tuple[int, ...], draft: tuple[int, ...], tokens: tuple[int, int]) -> None:
    """With the scripted coins as fractions the rule goes exactly the way that the script is for, one coin per toss."""
    data, tree = LawData(target=target, draft=draft), TreeData((0, *tokens), (-1, 0, 0))
    laws, rule = laws_at(data, tree), Walk(RULES["without-replacement"].node(None))  # type: ignore[misc, arg-type]
    for way in plan(MODE, data, tree):
        for script in way.scripts:
            coin = ScriptedCoin([Fraction(coin, UNIT) for coin in script])
            outcome = rule(coin, GivenTree(CandidateTree.from_data(tree), laws.target, laws.draft))
            assert (outcome.accepted, token_of(coin, outcome.bonus)) == (way.accepted, way.bonus)
            assert coin.used == len(script)


def test_scripts_reach_both_sides_of_an_edge() -> None:
    """Coins are 0, one margin below the edge, one margin above it, and the largest below 1."""
    edge = Fraction(1, 8)  # p / q of token 0
    firsts = {script[0] for way in plan(MODE, TURNED, TreeData((0, 0, 1), (-1, 0, 0))) for script in way.scripts}
    assert firsts == {0, (edge - MARGIN) * UNIT, (edge + MARGIN) * UNIT, UNIT - 1}


def test_the_reference_offers_both_seams() -> None:
    """The seams are known by their methods."""
    assert seams_of(SampledDecoder()) == {Seam.ACCEPT_SAMPLED, Seam.SAMPLED_SESSION}


def test_a_case_of_laws_has_a_name_of_its_own() -> None:
    """Weights and scripts are part of what a case is."""
    one = Case(prefix=(0,), law=TURNED)
    other = Case(prefix=(0,), law=LawData(target=(1, 5, 9, 5), draft=(8, 6, 2, 5)))
    assert len({case_id(one), case_id(other), case_id(Case(prefix=(0,)))}) == 3


class Answers:
    """A decoder that answers what it is told to."""

    declared_mode = MODE

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def accept_sampled(self, tree: Any, target: Any, draft: Any, coins: Iterator[float]) -> Any:
        return self.answer(target) if callable(self.answer) else self.answer

    def open_sampled(self, target: Any, draft: Any) -> Any:
        return self

    def step(self, coins: Iterator[float]) -> Any:
        return self.answer


def zeroed(target: Any) -> Any:
    target[:] = 0
    return (), 0


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (3, AdapterError, "answered int; expected (accepted nodes, bonus token)"),
        (((0,), 1), AdapterError, "the root, node 0, is never counted as accepted"),
        (((1,), 4), AdapterError, "bonus[0] is token 4; expected 0 to 3"),
        (zeroed, DecoderError, "accept_sampled changed its input"),
    ],
)
def test_wrong_answers_of_accept_sampled_are_told(answer: Any, error: type[Exception], message: str) -> None:
    """A wrong shape is the adapter's fault, a changed input the decoder's."""
    case = Case(prefix=(0,), trees=(PAIR,), law=TURNED)
    with pytest.raises(error) as told:
        drive(Answers(answer), Seam.ACCEPT_SAMPLED, case, 4)
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ({}, AdapterError, "a round without emitted tokens"),
        ({"emitted": []}, DecoderError, "step emitted nothing; expected at least one token"),
        ({"emitted": [4]}, AdapterError, "emitted[0] is token 4; expected 0 to 3"),
    ],
)
def test_wrong_rounds_are_told(answer: Any, error: type[Exception], message: str) -> None:
    """A round must emit tokens that exist."""
    case = Case(prefix=(0,), law=LawData(target=(1, 5, 9, 5), draft=(8, 6, 2, 4), sessions=1))
    with pytest.raises(error) as told:
        drive(Answers(answer), Seam.SAMPLED_SESSION, case, 4)
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (None, "a case for open_sampled holds no laws"),
        (LawData(target=(1, 2), draft=(1,)), "the draft weights are (1,); expected 2"),
        (LawData(target=(0, 0), draft=(1, 1)), "the target weights are (0, 0); expected 2 that are not negative, one"),
        (LawData(target=(1, 1), draft=(2, -1)), "the draft weights are (2, -1)"),
    ],
)
def test_cases_without_laws_are_refused(law: LawData | None, message: str) -> None:
    """The message says which weights are at fault."""
    with pytest.raises(UsageError) as told:
        drive(SampledDecoder(), Seam.SAMPLED_SESSION, Case(prefix=(0,), law=law), 4)
    assert message in str(told.value)


def test_a_mode_must_be_a_declaration() -> None:
    """Anything else, and a rule that does not exist, is the adapter's fault and named."""
    wrong = Answers(3)
    wrong.declared_mode = "R4"  # type: ignore[assignment]
    with pytest.raises(AdapterError, match="declared_mode is str 'R4'; expected a tree_oracle.verify.law.Declaration"):
        mode_of(wrong)
    unknown = SampledDecoder(declared_mode=Declaration(rule="r4", proposal="independent"))
    with pytest.raises(AdapterError, match="declared_mode names the rule 'r4'; expected one of sample-match"):
        mode_of(unknown)
    odd = SampledDecoder(declared_mode=Declaration(rule="block", proposal="odd"))
    with pytest.raises(AdapterError, match="declared_mode names the proposal 'odd'; expected one of deterministic"):
        mode_of(odd)


def test_a_mode_that_fits_no_tree_is_the_adapters_fault() -> None:
    """A rule for one child that is declared for two is told so, and plans nothing on trees that it refuses."""
    mode = Declaration(rule="ratio-chain", proposal="independent", siblings=2)
    outcome = judged(SampledDecoder(declared_mode=mode), "LAW-03", *listed("LAW-03")[-1])
    assert outcome.status is Status.ERROR
    assert "declared_mode: ratio-chain on independent siblings, 2 each; expected 1" in outcome.reason
    assert plan(mode, TURNED, PAIR) == ()
    assert plan(Declaration(rule="spec-hub", proposal="independent"), TURNED, PAIR) == ()


def test_a_session_must_have_a_step() -> None:
    """What cannot be stepped is no session."""
    decoder = Answers(3)
    decoder.open_sampled = lambda target, draft: 5  # type: ignore[method-assign]
    case = Case(prefix=(0,), law=LawData(target=(1, 1), draft=(1, 1), sessions=1))
    with pytest.raises(AdapterError, match="open_sampled answered int; expected an object with a method step"):
        drive(decoder, Seam.SAMPLED_SESSION, case, 2)
