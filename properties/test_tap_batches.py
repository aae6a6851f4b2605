"""The tap on batches: padded rows of one mask, a tree each, and requests that join and leave."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tap_recovers import SHOWN, judged, target_of

from tree_oracle.decoder import BatchParts, HalfRightDraft, Parts, ReferenceDecoder, Unexplained, recover, tap
from tree_oracle.faults import FAULTS
from tree_oracle.record import Limits, Round, Status
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

MIXED = "exact:layers=full+sliding+chunked,window=4,chunk=4"
SPECS = ("exact", MIXED, "exact:layers=sliding+sliding,window=4", "tiny:llama", "tiny:mistral")
OWN = tuple(name for name in SHOWN if name != "visible")  # a batch of the reference does not report its padded mask
FEW = max(2, settings().max_examples // 10)


def run(target: Target, parts: Parts, prompts: Sequence[Sequence[int]], count: int) -> list[list[Round]]:
    """The rounds of every request of one batch, which ends when the last of them does."""
    session, draft = ReferenceDecoder(target, parts).open(prompts, Limits(count)), HalfRightDraft(target)
    rounds: list[list[Round]] = [[] for _ in prompts]
    running, texts = list(range(len(prompts))), [list(prompt) for prompt in prompts]
    while running:
        trees = [
            draft(texts[request]) if (request + len(texts[request])) % 3 else CandidateTree([texts[request][-1]], [-1])
            for request in running
        ]
        for request, found in zip(running, session.step(trees), strict=True):
            rounds[request].append(found)
            texts[request] += found.emitted
        running = [request for request in running if rounds[request][-1].end is None]
    return rounds


def emitted(rounds: Sequence[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted]


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=FEW)
@given(
    prompts=st.lists(st.lists(st.integers(0, 60), min_size=2, max_size=9), min_size=2, max_size=4, unique_by=tuple),
    count=st.integers(2, 9),
)
def test_every_request_of_a_batch_is_recovered(spec: str, prompts: list[list[int]], count: int) -> None:
    """Unequal prompts, trees and acceptance, rounds without a draft, requests that leave: each request's own rounds come out."""
    target = target_of(spec)
    with tap(target.model) as seen:
        reported = run(target, Parts(), prompts, count)
    assert any(call.lanes > 1 for call in seen.calls)
    for prompt, rounds in zip(prompts, reported, strict=True):
        found = recover(seen, prompt, emitted(rounds))
        assert len(found) == len(rounds)
        for mine, theirs in zip(found, rounds, strict=True):
            assert [getattr(mine, name) for name in OWN] == [getattr(theirs, name) for name in OWN]
            assert mine.visible is not None
        if spec.startswith("exact"):
            assert Status.FAILED not in judged(target, tuple(prompt), emitted(rounds), found).values()


def test_equal_prompts_are_told_apart_by_their_rows() -> None:
    """Of two requests with one prompt the row says which is meant; without it no guess is made."""
    target, prompts = target_of("exact"), [[3, 5, 2], [3, 5, 2]]
    with tap(target.model) as seen:
        reported = run(target, Parts(), prompts, 1)
    for place, rounds in enumerate(reported):
        found = recover(seen, prompts[place], emitted(rounds), row=place)
        assert [round_.tokens for round_ in found] == [round_.tokens for round_ in rounds]
    with pytest.raises(Unexplained, match="account for the text alike"):
        recover(seen, prompts[0], emitted(reported[0]))


PROMPTS = ([3, 5, 2, 9, 4], [7, 1, 30, 8], [4, 4, 11])


@pytest.mark.parametrize("fault", ["sibling-leak", "flat-causal-mask", "position-by-slot", "newest-column-lost"])
def test_a_fault_shows_in_a_row_of_a_batch(fault: str) -> None:
    """What is wrong for one request's tree is blamed by the check of its law, as if the request had been run alone."""
    target = target_of("exact")
    with tap(target.model) as seen:
        reported = run(target, FAULTS[fault].parts, PROMPTS, 9)
    blamed = [
        judged(target, tuple(prompt), emitted(rounds), recover(seen, prompt, emitted(rounds)))[FAULTS[fault].check]
        for prompt, rounds in zip(PROMPTS, reported, strict=True)
    ]
    assert Status.FAILED in blamed


def test_a_request_that_the_batch_does_not_hold_is_not_found() -> None:
    """A text that no row accounts for is refused, and so is one of which a call is missing."""
    target = target_of("exact")
    with tap(target.model) as seen:
        reported = run(target, Parts(batch=BatchParts()), PROMPTS, 9)
    with pytest.raises(Unexplained, match="no row of a target call over a cache goes on from the prompt|account for"):
        recover(seen, [50, 51, 52, 53], [1, 2, 3])
    numbers = sorted({call.number for call in seen.calls if call.lanes > 1})
    seen.calls = [call for call in seen.calls if call.number != numbers[1]]
    with pytest.raises(Unexplained, match="account for"):
        recover(seen, PROMPTS[0], emitted(reported[0]))
