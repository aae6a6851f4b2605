"""A minimum length: end tokens are ruled out for so many tokens, counted in tokens and on every path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grounds import ground, sentences, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks.minimums import MINIMUMS, PROMPT_MINIMUMS
from tree_oracle.checks.scene import Scene
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Case, EndReason, Limits, Status, UsageError, case_id
from tree_oracle.run import Budget
from tree_oracle.target import Target
from tree_oracle.target.greedy_plain import plain_greedy

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
VOCAB = 6


@given(
    table=st.lists(st.permutations(range(VOCAB)), min_size=1, max_size=8),
    eos=st.lists(st.integers(0, VOCAB - 1), max_size=3).map(tuple),
    least=st.integers(0, 9),
    cap=st.integers(0, 9),
    stop=st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
)
def test_plain_decoding_rules_end_tokens_out(
    table: list[list[int]], eos: tuple[int, ...], least: int, cap: int, stop: tuple[tuple[int, ...], ...]
) -> None:
    """Token i is the best one, or the best that is no end token while i is below the minimum; caps and stops hold all the same."""

    def row(text: tuple[int, ...]) -> Any:
        ranks = np.empty(VOCAB)
        ranks[table[len(text) % len(table)]] = range(VOCAB, 0, -1)
        return ranks

    limits = Limits(cap, eos, None, stop, least)
    text: list[int] = []
    end = EndReason.CAP
    while len(text) < cap:
        order = table[(1 + len(text)) % len(table)]
        left = [token for token in order if token not in eos] if len(text) < least else order
        text.append(left[0] if left else 0)
        if text[-1] in eos or any(tuple(text[-len(one) :]) == one for one in stop):
            end = EndReason.EOS if text[-1] in eos else EndReason.STOP
            break
    found = plain_greedy(row, (0,), limits, 99)
    assert (list(found.tokens), found.end) == (text, end)


def test_a_minimum_that_nobody_can_mean_is_refused() -> None:
    """A minimum below 0 is named, and one of 0 is none: such cases keep the ids that they had."""
    with pytest.raises(UsageError, match="min_new is -1; expected 0 or more"):
        Limits(3, min_new=-1)
    assert case_id(Case(prefix=(1,), limits=Limits(3))) == case_id(Case(prefix=(1,), limits=Limits(3, min_new=0)))
    assert (
        case_id(Case(prefix=(1, 2), limits=Limits(3, (4,)))) == "a61a53999ca4"
    )  # as it was before there were minimums


WAYS = (
    "is due when the minimum is reached",
    "is ruled out by a minimum",
    "as the second of two",
    "the cap is",
    "and end token",
    "a stop sequence is complete before the minimum",
    "the cap comes first",
)


@pytest.mark.parametrize(
    ("scene", "spec"), [(MINIMUMS, "exact"), (PROMPT_MINIMUMS, "exact"), (PROMPT_MINIMUMS, "tiny:qwen3")]
)
def test_every_way_is_listed(scene: Scene, spec: str) -> None:
    """The listed cases hold each way to come near a minimum, on every target."""
    notes = [case.note for case in ground(spec).stock.of(scene)]
    assert [way for way in WAYS if not any(way in note for note in notes)] == []


def test_texts_that_end_at_and_before_their_minimum_are_among_them() -> None:
    """Of the texts of the listed cases some end right at the minimum, some later, some at a cap or a stop sequence before it."""
    truth = ground().truth
    seen: set[str] = set()
    for case in ground().stock.of(MINIMUMS):
        assert case.limits is not None
        found = truth.greedy(case.prefix, case.limits)
        count = len(found.tokens)
        if found.end is EndReason.EOS:
            assert count > case.limits.min_new
            seen.add("at" if count == case.limits.min_new + 1 else "later")
        elif count < case.limits.min_new:
            seen.add(f"{found.end} before")
    assert seen >= {"at", "later", "cap before", "stop before"}


def ignoring(target: Target) -> Any:
    """A decoder that was written before there was a minimum."""
    right = ReferenceDecoder(target)

    def plain(limits: Limits) -> Limits:
        return Limits(limits.max_new_tokens, limits.eos_ids, limits.max_length, limits.stop)

    return with_methods(
        open=lambda prompts, limits: right.open(prompts, plain(limits)),
        generate=lambda prompts, limits: right.generate(prompts, plain(limits)),
    )


def refusing(target: Target) -> Any:
    """One that says so."""
    made = ignoring(target)

    def opened(prompts: Any, limits: Limits) -> Any:
        if limits.min_new:
            raise NotImplementedError("no minimum length")
        return made.open(prompts, limits)

    return with_methods(open=opened)


def test_a_minimum_is_held_or_refused() -> None:
    """Who ignores the minimum fails both of its checks; who refuses it is not judged by them."""
    report = ground().report(ignoring, "STOP-05", "STOP-06", budget=QUICK)
    assert set(statuses(report).values()) == {Status.FAILED}
    assert any("before the minimum of" in sentence for sentence in sentences(report))
    report = ground().report(refusing, "STOP-05", "STOP-06", budget=QUICK)
    assert set(statuses(report).values()) == {Status.NOT_APPLICABLE}
