"""Rounds that a decoder tells with its texts are judged like any others, where nobody can look at its target."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from grounds import ground, result_of, statuses, with_methods

from tree_oracle import ReferenceDecoder
from tree_oracle.adapters import Convention, describe
from tree_oracle.checks import choose
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.faults import find_fault
from tree_oracle.record import Limits, Report, Round, Status
from tree_oracle.run import Budget, run_battery
from tree_oracle.target import Target

PASSED, FAILED, HIDDEN = Status.PASSED, Status.FAILED, Status.NOT_OBSERVABLE
DEEP = os.environ.get("TREE_ORACLE_PROFILE") == "deep"
FIRST = Budget(cases=0, shrink_runs=0, diagnose=False)
NAMED = Budget(cases=0, shrink_runs=0)
JUDGED = (
    "VISIBLE-01", "VISIBLE-02", "VISIBLE-03", "POSITION-01", "HISTORY-01", "GATHER-01", "GATHER-02", "GATHER-03", "GREEDY-01",
    "GREEDY-02", "COMMIT-02", "COMMIT-03",
)  # fmt: skip
Shown = Callable[[list[Round]], Sequence[Any]]


def untapped(make: Callable[[Target], ReferenceDecoder], shown: Shown = list) -> Callable[[Target], Any]:
    """``generate`` of a decoder that runs a copy of the target, which no tap sees; its rounds are shown as ``shown`` says."""

    def factory(target: Target) -> Any:
        inner = make(replace(target, model=copy.deepcopy(target.model)))

        def generate(prompts: Sequence[Sequence[int]], limits: Limits) -> list[Sequence[Any]]:
            return [shown(rounds) for rounds in inner.generate(prompts, limits)]

        return with_methods(generate=generate)

    return factory


def judged(factory: Any, *ids: str, budget: Budget = FIRST, caps: Sequence[int] = (8, 13)) -> Report:
    """By the texts that these caps alone end, two of each."""
    found = ground()
    cases = [case for case in found.stock.of(PROMPTS) if case.limits in [Limits(cap) for cap in caps]]
    return run_battery(found.subject(factory), choose(ids=ids), budget, cases=cases, stock=found.stock)


def plain(round_: Round, *names: str) -> dict[str, Any]:
    """These fields as plain values."""
    held = {name: getattr(round_, name) for name in names}
    return {name: value.numpy() if name in ("visible", "rows", "scores") else value for name, value in held.items()}


PLANTED = {
    "sibling-leak": "VISIBLE-03",
    "position-by-slot": "POSITION-01",
    "kept-by-count": "COMMIT-02",
    "values-not-moved": "COMMIT-03",
    "scored-by-own-row": "GATHER-02",
    "bonus-by-count": "GATHER-03",
    "first-child-only": "GREEDY-02",
    "rows-one-slot-late": "HISTORY-01",
}
if DEEP:  # woken by a long text alone
    PLANTED["previous-slot-row"] = "GATHER-01"
WAKES = {"previous-slot-row": (130,)}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_caught_by_its_check(fault: str) -> None:
    """What the rounds of a text show is judged by the check of the fault, without a tap; the twin passes."""
    check = PLANTED[fault]
    for make, due in ((find_fault(fault).decoder, FAILED), (find_fault(fault).harmless, PASSED)):
        found = result_of(judged(untapped(make), check, caps=WAKES.get(fault, (8, 13))), check)
        assert (found.status, found.seams) == (due, ("generate",)), found.reason


def test_the_reference_is_held_by_what_its_rounds_show() -> None:
    """Every law of trees passes; with nothing but the tokens of its rounds each is unseen, with what would show it."""
    found = judged(untapped(ReferenceDecoder), *JUDGED)
    assert set(statuses(found).values()) == {PASSED}
    assert (found.exit_code, found.held) == (0, 3)
    bare = judged(untapped(ReferenceDecoder, lambda rounds: [{"emitted": one.emitted} for one in rounds]), *JUDGED)
    assert set(statuses(bare).values()) == {HIDDEN}
    assert bare.exit_code == 4
    methods = {"VISIBLE": "lay_out or open", "COMMIT": "open", "GREEDY": "accept or open"}
    for check in ("COMMIT-02", "GREEDY-01", "VISIBLE-03"):
        reason = result_of(bare, check).reason
        assert "target's model was not called" in reason or reason == (
            f"no round shows the tree that it verified; needs that, or the method {methods[check.partition('-')[0]]}"
        )


@pytest.mark.skipif(not DEEP, reason="tries every suspect; runs in the profile deep")
@pytest.mark.parametrize("fault", PLANTED)
def test_its_cause_is_named(fault: str) -> None:
    """Suspects are given the trees that the decoder drafted, and the planted one comes first."""
    report = judged(untapped(find_fault(fault).decoder), PLANTED[fault], budget=NAMED, caps=WAKES.get(fault, (8, 13)))
    (found,) = result_of(report, PLANTED[fault]).findings
    assert found.causes[0].startswith(f"{fault}:")


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "VISIBLE-01": ("visible", lambda shown: ~shown["visible"]),
    "POSITION-01": ("positions", lambda shown: [place + 1 for place in shown["positions"]]),
    "COMMIT-02": ("kept", lambda shown: shown["kept"][:-1]),
}


@pytest.mark.parametrize("check", WRONG)
def test_what_is_shown_is_held_beside_what_the_tap_saw(check: str) -> None:
    """A decoder that runs right and shows an inverted mask, a position too large or a row too few fails, though it can be tapped."""
    field, change = WRONG[check]

    def told(target: Target) -> Any:
        right = ReferenceDecoder(target)

        def shown(round_: Round) -> dict[str, Any]:
            told = plain(round_, "emitted", "tokens", "parents", "visible", "positions", "accepted", "kept", "end")
            return told if told[field] is None else {**told, field: change(told)}

        return with_methods(
            generate=lambda prompts, limits: [[*map(shown, t)] for t in right.generate(prompts, limits)]
        )

    report = judged(told, check)
    assert (result_of(report, check).status, report.exit_code) == (FAILED, 1)


@pytest.mark.parametrize("off", [0.0, 2.0**-10])
def test_rows_that_are_shown_are_held_to_the_measured_rule(off: float) -> None:
    """NUMERIC-01 judges the rows of a text without a tap: one logit off by a little fails, the same rows untouched pass."""

    def shown(rounds: list[Round]) -> list[dict[str, Any]]:
        told = [plain(one, "emitted", "tokens", "parents", "rows", "end") for one in rounds]
        for one in told:
            one["rows"] = np.array(one["rows"])
            one["rows"][-1, 0] -= off
        return told

    found = result_of(judged(untapped(ReferenceDecoder, shown), "NUMERIC-01"), "NUMERIC-01")
    assert (found.status, found.seams) == (FAILED if off else PASSED, ("generate",)), found.reason


def test_a_round_that_shows_no_tree_is_passed_over() -> None:
    """The first token comes from the prompt's own pass and the last round is cut: the others are judged, by their numbers."""

    def shown(rounds: list[Round]) -> list[dict[str, Any]]:
        first, *rest = rounds
        head = [{"emitted": [token]} for token in first.emitted]
        return [*head, *(plain(one, "emitted", "tokens", "parents", "positions", "accepted") for one in rest)]

    right = judged(untapped(ReferenceDecoder, shown), "POSITION-01", "GREEDY-02", "METRIC-01")
    assert set(statuses(right).values()) == {PASSED}
    fault = find_fault("position-by-slot").decoder
    (found,) = result_of(judged(untapped(fault, shown), "POSITION-01"), "POSITION-01").findings
    assert found.case is not None
    assert found.case.limits is not None
    (rounds,) = ground().subject(untapped(fault, shown)).decoder.generate([list(found.case.prefix)], found.case.limits)
    assert found.round is not None
    assert "positions" in rounds[found.round]


def test_a_text_that_is_not_there_fails_the_laws_of_texts_alone() -> None:
    """A decoder whose ``generate`` raises keeps what its layout passes, and no law of trees is held against it."""

    def factory(target: Target) -> Any:
        right = ReferenceDecoder(target)

        def raises(prompts: Any, limits: Any) -> Any:
            raise ValueError("planted")

        return with_methods(lay_out=right.lay_out, generate=raises)

    report = ground().report(factory, "VISIBLE-03", "COMMIT-01", "COMMIT-02", "GREEDY-01", "SEQUENCE-01")
    assert statuses(report) == {
        "VISIBLE-03": PASSED, "COMMIT-01": HIDDEN, "COMMIT-02": HIDDEN, "GREEDY-01": HIDDEN, "SEQUENCE-01": FAILED,
    }  # fmt: skip
    assert (
        "broke down before it showed a round: generate raised ValueError: planted"
        in result_of(report, "COMMIT-02").reason
    )


def test_a_record_in_its_own_convention_is_judged() -> None:
    """Step records of a described text, offsets and a hidden mask over the nodes, pass; what they show too late fails."""

    def text(late: int) -> Any:
        def factory(target: Target) -> Any:
            right = ReferenceDecoder(replace(target, model=copy.deepcopy(target.model)))

            def run(
                prompt: list[int], max_new_tokens: int, eos_ids: list[int], on_round: Callable[..., Any]
            ) -> list[int]:
                (rounds,) = right.generate([prompt], Limits(max_new_tokens, tuple(eos_ids)))
                for one in rounds:
                    told, count = (
                        plain(one, "emitted", "tokens", "parents", "visible", "accepted", "end"),
                        len(one.tokens or ()),
                    )
                    cached = np.asarray(told["visible"]).shape[1] - count
                    offsets = [place - cached + late for place in one.positions or ()]
                    on_round({**told, "visible": ~told["visible"][:, cached:], "positions": offsets})
                return [token for one in rounds for token in one.emitted]

            said = Convention(mask="hidden", prefix_columns=False, positions="offset")
            return describe(text=run, rounds={}, convention=said)(target)

        return factory

    assert set(statuses(judged(text(0), "VISIBLE-02", "POSITION-01", "GREEDY-01")).values()) == {PASSED}
    assert statuses(judged(text(1), "VISIBLE-02", "POSITION-01")) == {"VISIBLE-02": PASSED, "POSITION-01": FAILED}


def test_a_cache_in_a_round_is_judged() -> None:
    """Rounds that show what their cache holds are held against a cold run; a row of another token is named."""
    truth = ground().truth

    def shown(rounds: list[Round], late: int = 0) -> list[Round]:
        return [one if one.end else msgspec.structs.replace(one, cache=truth.cache(_held(one, late))) for one in rounds]

    assert statuses(judged(untapped(ReferenceDecoder, shown), "COMMIT-01")) == {"COMMIT-01": PASSED}
    wrong = judged(untapped(ReferenceDecoder, lambda rounds: shown(rounds, 1)), "COMMIT-01")
    assert "is not what a cold run puts there" in result_of(wrong, "COMMIT-01").reason


def _held(round_: Round, late: int) -> tuple[int, ...]:
    """The committed tokens without the newest, the last of them ``late`` too large."""
    held = (*(round_.prefix or ()), *round_.emitted)[:-1]
    return (*held[:-1], (held[-1] + late) % 61)
