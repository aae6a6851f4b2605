"""Diagnosis: the one wrong part is named, the wrong one is never called certain, and what is unknown is called unknown."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from grounds import with_methods

from tree_oracle import CandidateTree, Status
from tree_oracle.checks import CHECKS, Stage
from tree_oracle.checks.drive import drive
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.parts import Decision, Parts, Rows
from tree_oracle.faults import FAULTS
from tree_oracle.faults.suspects import SUSPECTS
from tree_oracle.record import Case, CheckResult, Finding, Limits
from tree_oracle.run import Battery, Budget, forms, make_subject
from tree_oracle.run.diagnose import LineUp
from tree_oracle.run.stock import Stock
from tree_oracle.target import SequentialTruth, Target, load_target
from tree_oracle.tree import Layout, lay_out


@cache
def ground(target: str = "exact") -> tuple[SequentialTruth, Stock]:
    """One truth and one stock of listed cases for all decoders that are tried on a target."""
    truth = SequentialTruth(load_target(target))
    return truth, Stock(Stage(truth), cases=0)


def result_of(factory: Callable[..., Any], check: str, target: str = "exact", scene: str = "") -> CheckResult:
    """What comes of a check, on the cases of one scene if it is named."""
    truth, stock = ground(target)
    battery = Battery(make_subject(factory, target, truth=truth), Budget(cases=0, shrink_runs=0), stock)
    sources = tuple(source for source in CHECKS[check].sources if scene in ("", source.scene.name))
    return battery.run(replace(CHECKS[check], sources=sources))


def causes(finding: Finding) -> list[str]:
    return [cause.partition(":")[0] for cause in finding.causes]


# All of them take minutes; ``tree-oracle faults --matrix`` tries every fault through every seam too.
# Of an attention operator the finding itself names the key, and no suspect is tried.
DIAGNOSED = [name for name, fault in FAULTS.items() if not fault.check.startswith("ATTEND")]
SOME = DIAGNOSED if os.environ.get("TREE_ORACLE_PROFILE") == "deep" else DIAGNOSED[15::60]


@pytest.mark.parametrize("name", SOME)
def test_a_planted_fault_is_among_the_causes_and_no_other_is_called_certain(name: str) -> None:
    """Through every seam that sees a planted fault, the fault is named, and if a cause is certain it is this one."""
    fault = FAULTS[name]
    result = result_of(fault.decoder, fault.check, fault.target)
    assert result.status is Status.FAILED
    for finding in result.findings:
        assert name in causes(finding)
        assert not finding.certain or causes(finding) == [name]


def tril_mask(tree: CandidateTree, prefix_len: int) -> Layout:
    """Written apart from the suspects: ordinary causal attention over everything."""
    n, layout = len(tree), lay_out(tree, prefix_len)
    whole = np.tril(np.ones((prefix_len - 1 + n, prefix_len - 1 + n), dtype=bool))
    return Layout(layout.positions, whole[prefix_len - 1 :], layout.score_rows)


def counted_positions(tree: CandidateTree, prefix_len: int) -> Layout:
    """Written apart: positions counted on as in a chain."""
    layout = lay_out(tree, prefix_len)
    return Layout(np.arange(prefix_len - 1, prefix_len - 1 + len(tree)), layout.visible, layout.score_rows)


def shifted_logits_walk(tree: CandidateTree, rows: Rows) -> Decision:
    """Written apart: logits are shifted by one as chain code does, then looked up by child."""
    shifted = np.vstack([rows[:1], rows[:-1]])
    here = 0
    path: list[int] = []
    while True:
        hit = [int(v) for v in np.flatnonzero(tree.parents == here) if shifted[v].argmax() == tree.tokens[v]]
        if not hit:
            return Decision(tuple(path), int(rows[here].argmax()))
        here = hit[0]
        path.append(here)


HELD_OUT = {
    "flat-causal-mask": (Parts(lay_out=tril_mask), "VISIBLE-03", "trees"),
    "position-by-slot": (Parts(lay_out=counted_positions), "POSITION-01", "rounds"),
    "previous-slot-row": (Parts(walk=shifted_logits_walk), "GATHER-01", "marked"),
}


@pytest.mark.parametrize("name", HELD_OUT)
def test_a_fault_that_was_written_apart_is_recognised(name: str) -> None:
    """The cause is named for code that the suspects do not share, alone and certain."""
    parts, check, scene = HELD_OUT[name]
    result = result_of(lambda target: ReferenceDecoder(target, parts), check, scene=scene)
    assert result.findings
    for finding in result.findings:
        assert (causes(finding), finding.certain) == ([name], True)


def cousin_leak(tree: CandidateTree, prefix_len: int) -> Layout:
    """No suspect: the deepest node sees the shallowest leaf."""
    layout = lay_out(tree, prefix_len)
    visible = layout.visible.copy()
    deepest, leaf = int(tree.depths.argmax()), min(tree.leaves, key=lambda v: int(tree.depths[v]))
    visible[deepest, prefix_len - 1 + leaf] = True
    return Layout(layout.positions, visible, layout.score_rows)


def test_an_unusual_fault_is_called_unknown() -> None:
    """A fault that is none of the suspects has no cause named, and all suspects are ruled out."""
    result = result_of(lambda target: ReferenceDecoder(target, Parts(lay_out=cousin_leak)), "VISIBLE-03")
    assert result.findings
    for finding in result.findings:
        assert finding.causes == ()
        assert not finding.certain
        assert {"sibling-leak", "flat-causal-mask", "parent-hidden"} <= set(finding.ruled_out)


@pytest.mark.parametrize("name", ["minimum-counted-in-rounds", "minimum-counted-once-per-round"])
def test_suspects_alike_in_one_scene_are_told_apart_by_another(name: str) -> None:
    """Counting the minimum wrongly is told from counting everything wrongly, by cases with a penalty and no minimum."""
    result = result_of(FAULTS[name].decoder, "STOP-06", scene="minimums")
    assert result.findings
    for finding in result.findings:
        assert (causes(finding), finding.certain) == ([name], True)


class TwoFaults:
    """Counts rounds for the minimum length, and breaks down where something else than that is asked of a row."""

    def __init__(self, target: Target) -> None:
        self._inner = ReferenceDecoder(target, FAULTS["minimum-counted-in-rounds"].parts)

    def open(self, prompts: Any, limits: Limits, *, processors: Any = None) -> Any:
        if processors is not None and not limits.min_new:
            raise RuntimeError("penalties are too much for it")
        return self._inner.open(prompts, limits, processors=processors)


@pytest.mark.sweep
def test_a_second_fault_elsewhere_does_not_hide_the_first() -> None:
    """A case of another scene that no suspect explains leaves those that explained the failure."""
    (finding,) = result_of(TwoFaults, "STOP-06").findings
    assert "minimum-counted-in-rounds" in causes(finding)


@pytest.mark.sweep
def test_a_decoder_that_breaks_before_it_shows_a_draft_has_hints_and_no_certain_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window that lost a row breaks the next pass: its fault is among those that break on the same prompts, none is certain."""
    fault = FAULTS["window-evicts-one-row-early"]
    few = tuple(s for number, s in enumerate(SUSPECTS) if not number % 4 or s.name == fault.name)  # all take long here
    monkeypatch.setattr(forms, "SUSPECTS", few)
    found = result_of(fault.decoder, "SEQUENCE-01", fault.target, "prompts").findings
    assert found
    assert all(finding.sentence.startswith("generate") for finding in found)
    for finding in found:
        assert fault.name in causes(finding)
        assert not finding.certain


class OddPrompts:
    """Raises for prompts of odd length, for a reason that no suspect has."""

    def __init__(self, target: Target) -> None:
        self._inner = ReferenceDecoder(target)

    def generate(self, prompts: Any, limits: Limits) -> Any:
        if len(prompts[0]) % 2:
            raise RuntimeError("odd")
        return self._inner.generate(prompts, limits)


@pytest.mark.sweep
def test_a_decoder_that_breaks_for_reasons_of_its_own_has_no_cause() -> None:
    """That a text broke off is no evidence for a suspect that breaks on other prompts."""
    result = result_of(OddPrompts, "SEQUENCE-01", scene="prompts")
    assert result.findings
    for finding in result.findings:
        assert causes(finding) == []
        assert finding.ruled_out


def test_the_verdict_does_not_depend_on_the_diagnosis() -> None:
    """With and without diagnosis the same checks fail on the same cases in the same words."""
    (truth, stock), leak = ground(), FAULTS["sibling-leak"].decoder
    found = []
    for diagnose in (True, False):
        subject = make_subject(lambda target: with_methods(lay_out=leak(target).lay_out), "exact", truth=truth)
        battery = Battery(subject, Budget(cases=0, shrink_runs=0, diagnose=diagnose), stock)
        result = battery.run(CHECKS["VISIBLE-03"])
        found.append([(finding.sentence, finding.replay, finding.status) for finding in result.findings])
    assert found[0] == found[1]


@pytest.mark.parametrize("names", [("sibling-leak", "sibling-leak"), ("sibling-leak", "position-by-slot")])
def test_an_earlier_failure_changes_no_cause(names: tuple[str, str]) -> None:
    """After a failure of the same fault, and of another one, a failure has the causes that it has alone."""
    truth, stock = ground()
    source = next(source for source in CHECKS["VISIBLE-03"].sources if source.seam is Seam.LAY_OUT)
    cases = [case for case in stock.of(source.scene) if case.trees and len(case.trees[0].tokens) > 4]

    def diagnosed(line_up: LineUp, name: str, failing: Case) -> tuple[tuple[str, ...], tuple[str, ...]]:
        decoder = FAULTS[name].decoder(truth.target)
        seen = partial(drive, decoder, Seam.LAY_OUT, vocab_size=truth.vocab_size)
        found = line_up.diagnose(Seam.LAY_OUT, failing, cases, seen)
        return tuple(one.name for one in found.fits), tuple(one.name for one in found.ruled_out)

    used = LineUp(truth.target, truth)
    first = diagnosed(used, names[0], cases[0])
    again = diagnosed(used, names[1], cases[1])
    assert again == diagnosed(LineUp(truth.target, truth), names[1], cases[1])
    assert (first[0], again[0]) == ((names[0],), (names[1],))


class PromptFirst:
    """A decoder whose first token comes from the prompt's own pass, without a draft, as in most loops over a pending token."""

    def __init__(self, inner: ReferenceDecoder, truth: SequentialTruth) -> None:
        self._inner, self._truth = inner, truth

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits, draft: Any = None) -> list[list[Any]]:
        """The texts in rounds, the first of which shows no tree."""
        if limits.stop or limits.min_new or limits.max_length is not None:
            raise NotImplementedError("caps and end tokens only")
        return [self._text(list(prompt), limits, draft) for prompt in prompts]

    def _text(self, prompt: list[int], limits: Limits, draft: Any) -> list[Any]:
        first = list(self._truth.greedy(prompt, Limits(1)).tokens)
        alone = first[0] in limits.eos_ids or limits.max_new_tokens == 1
        rest = Limits(limits.max_new_tokens - 1, limits.eos_ids)
        rounds = [] if alone else self._inner.generate([[*prompt, *first]], rest, draft=draft)[0]
        return [{"emitted": first}, *rounds]


@pytest.mark.parametrize("name", ["position-by-slot", pytest.param("kept-by-count", marks=pytest.mark.sweep)])
def test_a_first_token_without_a_draft_hides_no_cause(name: str) -> None:
    """On the decoder's own drafts and on those that are handed over the planted fault is among the causes, and no other certain."""
    truth, _ = ground()
    fault = FAULTS[name]

    def factory(target: Target) -> Any:
        return PromptFirst(fault.decoder(replace(target, model=copy.deepcopy(target.model))), truth)

    for check in ("GREEDY-01", "SEQUENCE-02"):
        (finding,) = result_of(factory, check).findings
        assert name in causes(finding), (check, finding.sentence)
        assert not finding.certain or causes(finding) == [name]
