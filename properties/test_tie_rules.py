"""Ties: the rule is declared or read from the decoder's own plain run, and one decoder follows one rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float

from tree_oracle import CandidateTree, Limits, Report, Status, Target, check_decoder
from tree_oracle.checks import Stage, choose
from tree_oracle.decoder import Decision, ReferenceDecoder
from tree_oracle.decoder.parts import Parts
from tree_oracle.faults.walks import last_maximum
from tree_oracle.record import AdapterError, DecoderError, TieRule
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.run.stock import Stock
from tree_oracle.target import SequentialTruth, load_target

pytestmark = pytest.mark.sweep

TIED = "exact:ties=" + "+".join(f"{token}-{token + 1}" for token in range(0, 60, 2))  # every other choice is a tie
FAMILIES = ["GREEDY", "SEQUENCE"]


class Largest(ReferenceDecoder):
    """Takes the largest id among ties, in trees and in its plain run, and declares nothing."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, Parts(walk=last_maximum))


class Declared(Largest):
    """The same, declared."""

    tie_rule = "largest id"


def plain_text(target: Target, prompt: Sequence[int], limits: Limits, *, mixed: bool = False) -> list[int]:
    """Plain decoding that takes the largest id among ties; every other token the smallest one if ``mixed``."""
    import torch

    text = list(prompt)
    for place in range(limits.max_new_tokens):
        row = target.model(input_ids=torch.tensor([text])).logits[0, -1]
        maxima = (row == row.max()).nonzero().flatten().tolist()
        text.append(maxima[0] if mixed and place % 2 else maxima[-1])
    return text[len(prompt) :]


class Shown(Largest):
    """The same, shown by a plain run."""

    mixed = False

    def plain(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        return [plain_text(self.target, prompt, limits, mixed=self.mixed) for prompt in prompts]


class Mixed(Shown):
    """A plain run that follows no single rule."""

    mixed = True


def judged(decoder: Any) -> Report:
    """By every third listed case."""
    subject, budget = make_subject(decoder, TIED, truth=truth()), Budget(cases=0, shrink_runs=0, diagnose=False)
    scenes = {source.scene.name: source.scene for check in choose(families=FAMILIES) for source in check.sources}
    cases = [case for scene in scenes.values() for case in stock().of(scene)[::3]]
    return run_battery(subject, choose(families=FAMILIES), budget, cases=cases, stock=stock())


def statuses(decoder: Any) -> dict[str, Status]:
    return {result.check: result.status for result in judged(decoder).results}


@cache
def truth() -> SequentialTruth:
    return SequentialTruth(load_target(TIED))


@cache
def stock() -> Stock:
    return Stock(Stage(truth()), cases=0)


def test_the_reference_follows_the_smallest_id_through_planted_ties() -> None:
    """On a target full of planted ties the reference passes, and the tie rule is judged on whole rounds too."""
    report = judged(ReferenceDecoder)
    assert report.exit_code == 0, report
    (ties,) = [result for result in report.results if result.check == "GREEDY-03"]
    assert set(ties.seams) == {"accept", "open"}


def test_an_undeclared_largest_id_fails() -> None:
    """Taking the largest id without saying so fails the tie rule and the texts, and nothing else."""
    found = statuses(Largest)
    assert {name for name, status in found.items() if status is Status.FAILED} == {
        "GREEDY-03",
        "SEQUENCE-01",
        "SEQUENCE-02",
    }


@pytest.mark.parametrize("decoder", [Declared, Shown])
def test_a_declared_or_shown_rule_is_followed(decoder: type[Largest]) -> None:
    """A decoder that declares the largest id, or shows it in its plain run, is judged by that rule."""
    assert set(statuses(decoder).values()) == {Status.PASSED}


def test_a_wrong_declaration_fails() -> None:
    """A decoder that declares one rule and follows the other fails the tie rule."""

    class Wrong(ReferenceDecoder):
        tie_rule = "largest id"

    assert statuses(Wrong)["GREEDY-03"] is Status.FAILED


def test_mixed_rules_fail() -> None:
    """A walk that takes the smallest id at the root and the largest below follows no rule, whichever is declared."""

    def mixed(tree: CandidateTree, rows: Float[np.ndarray, "n vocab"]) -> Decision:
        turned = rows.copy()
        choices = rows.shape[1] - 1 - rows[:, ::-1].argmax(axis=1)
        turned[np.arange(1, len(rows)), choices[1:]] += 1.0
        accepted, here = [], 0
        while child := next((v for v in tree.children(here) if tree.tokens[v] == turned[here].argmax()), None):
            accepted.append(child)
            here = child
        return Decision(tuple(accepted), int(turned[here].argmax()))

    for rule in ("smallest id", "largest id"):
        decoder = type("MixedWalk", (ReferenceDecoder,), {"tie_rule": rule})
        found = statuses(lambda target, decoder=decoder: decoder(target, Parts(walk=mixed)))
        assert found["GREEDY-03"] is Status.FAILED


def test_a_plain_run_without_a_single_rule_is_the_decoders_failure() -> None:
    """A plain run that breaks ties both ways is refused, naming the prompt."""
    with pytest.raises(DecoderError, match=r"plain run on prompt \[.*\] breaks ties by no single rule"):
        check_decoder(Mixed, target=TIED, cases=0)


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (lambda self, prompt: [[1]], "plain cannot be called with 2 arguments: "),
        (lambda self, prompt, limits: self.target.model(prompt), "plain raised "),
        (lambda self, text, style: (text, style), "plain is tuple .*; expected a list with 1 entry"),
        (lambda self, *rest, **more: "plain text", "plain is str 'plain text'"),
    ],
)
def test_another_method_of_that_name_is_not_taken_for_the_plain_run(plain: Any, words: str) -> None:
    """A `plain` that takes or answers something else is the adapter's error, and says what was expected and what helps."""
    decoder = type("Named", (ReferenceDecoder,), {"plain": plain})
    with pytest.raises(AdapterError, match=words) as refusal:
        make_subject(decoder, TIED, truth=truth())
    assert "a method plain(prompts, limits) is taken for" in str(refusal.value)
    assert str(refusal.value).endswith("expected that, another name for it, or a declared tie_rule")


def test_a_plain_run_that_is_not_implemented_is_none() -> None:
    """A stub says nothing of ties, and neither is it asked where the rule is declared."""

    def plain(self: Any, *rest: Any) -> Any:
        raise NotImplementedError

    stub = type("Stub", (ReferenceDecoder,), {"plain": plain})
    assert make_subject(stub, TIED, truth=truth()).tie_rule is TieRule.SMALLEST
    declared = type("Named", (Declared,), {"plain": lambda self, prompt: prompt})
    assert make_subject(declared, TIED, truth=truth()).tie_rule is TieRule.LARGEST


def test_an_unknown_rule_is_the_adapters_error() -> None:
    """A tie rule that does not exist is an error that names the two that do."""

    class Unknown(ReferenceDecoder):
        tie_rule = "first"

    with pytest.raises(AdapterError, match="'first'; expected one of smallest id, largest id"):
        check_decoder(Unknown, target=TIED, cases=0)
