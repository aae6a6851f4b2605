"""A commit is only judged where it had rows to move; where a decoder's own drafts never bring that about, it is said."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
import pytest
from grounds import ground, result_of
from hypothesis import given
from hypothesis import strategies as st
from report_grounds import HOLDING, result

from tree_oracle.checks import choose
from tree_oracle.checks.displaced import accepted_in, displaces
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import Parts, ReferenceDecoder
from tree_oracle.faults import commits
from tree_oracle.record import HandedOn, Limits, Report, Round, Status, Witness
from tree_oracle.report.words import acceptance_words
from tree_oracle.run import Budget, run_battery
from tree_oracle.strategies import scripted_trees
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

ONCE = Budget(cases=0, shrink_runs=0, diagnose=False)
FAULT, TWIN = Parts(commit=commits.first_rows), Parts(commit=commits.in_place_ascending)


class Text:
    """A decoder that shows tokens alone, over trees whose right token stands on the child that ``right`` says."""

    def __init__(self, target: Target, parts: Parts, children: int, right: int) -> None:
        truth = ground("exact", cases=0).truth

        def draft(prefix: Sequence[int]) -> CandidateTree:
            (token,) = truth.greedy(tuple(prefix), Limits(1)).tokens
            shift = right if len(prefix) % 3 else children  # in every third round none of them is right
            below = [(token - shift + child) % target.vocab_size for child in range(children)]
            return CandidateTree((prefix[-1], *below), (-1, *(0 for _ in below)))

        self._inner = ReferenceDecoder(target, parts, draft=draft)

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        """The emitted tokens of every prompt."""
        shown = self._inner.generate(prompts, limits)
        return [[token for round_ in rounds for token in round_.emitted] for rounds in shown]


@cache
def judged(parts: Parts, children: int, right: int) -> Report:
    found = ground("exact", cases=0)
    subject = found.subject(lambda target: Text(target, parts, children, right))
    long = [case for case in found.stock.of(PROMPTS) if case.limits and case.limits.max_new_tokens > 7]
    return run_battery(subject, choose(ids=("COMMIT-03", "SEQUENCE-01")), ONCE, stock=found.stock, cases=long[:5])


@given(scripted_trees(vocab_size=61, distinct_siblings=True))
def test_rows_are_displaced_where_keeping_the_first_ones_keeps_others(tree: Any) -> None:
    """A round displaces rows exactly if the first rows of its pass are not those of the accepted nodes, shown or found again."""
    data, path = tree.to_data(), list[int]()
    node = tree.goal
    while node:
        path.insert(0, node)
        node = data.parents[node]
    first = list(range(len(data.tokens)))[1 : 1 + len(path)]
    unused = next(token for token in range(99) if token not in data.tokens)
    emitted = (*(data.tokens[v] for v in path), unused)
    shown = Round(emitted=emitted, tokens=data.tokens, parents=data.parents, accepted=tuple(path))
    hidden = msgspec.structs.replace(shown, accepted=None)
    assert accepted_in(shown) == accepted_in(hidden) == tuple(path)
    assert displaces(shown) == displaces(hidden) == (first != path)


@pytest.mark.parametrize("parts", [FAULT, TWIN], ids=["fault", "twin"])
@pytest.mark.parametrize(("children", "why"), [(3, "no accepted node lies outside the next slot"), (1, "")])
def test_a_commit_with_nothing_to_move_is_not_observable(parts: Parts, children: int, why: str) -> None:
    """Where a branching draft is right on its first child alone, keeping the first rows is not seen, and that is the result;
    a chain has nothing else to be right on."""
    report = judged(parts, children, 0)
    commit = result_of(report, "COMMIT-03")
    assert commit.status is (Status.NOT_OBSERVABLE if why else Status.PASSED)
    assert why in commit.reason
    assert result_of(report, "SEQUENCE-01").status is Status.PASSED
    assert bool(acceptance_words(report)) == bool(why)
    if why:
        said = acceptance_words(report)
        assert "an accepted node outside the next slot, with a round after it, came about never" in said
        assert said.endswith("take a parameter draft in generate, or offer open, and the oracle's own drafts are tried")


def test_a_chain_that_accepts_nothing_keeps_nothing() -> None:
    """A chain of which no token is ever accepted says nothing about a commit."""
    commit = result_of(judged(FAULT, 1, 7), "COMMIT-03")
    assert (commit.status, "no node is accepted" in commit.reason) == (Status.NOT_OBSERVABLE, True)


def test_rows_that_are_moved_tell_the_fault_from_its_twin() -> None:
    """Where the third child is the right one the fault fails, and its twin passes on as many rounds as are counted."""
    wrong, right = judged(FAULT, 3, 2), judged(TWIN, 3, 2)
    assert result_of(wrong, "COMMIT-03").status is Status.FAILED
    assert result_of(right, "COMMIT-03").status is Status.PASSED
    seen = right.own.handed_on
    assert isinstance(seen, HandedOn)
    assert seen.displacing == seen.accepting > 0


@given(st.integers(0, 9), st.integers(0, 9), st.booleans(), st.booleans())
def test_what_was_hardly_seen_is_warned_of(branching: int, count: int, driven: bool, known: bool) -> None:
    """Fewer than five times is warned of with the count, unless trees were handed over or nobody counted."""
    own = Witness(
        20, 60, 30, 50, handed_on=HandedOn(branching, 9 if branching else count, count) if known else msgspec.UNSET
    )
    commit = result("COMMIT-03", seams=("open", "tap") if driven else ("tap",))
    found = msgspec.structs.replace(HOLDING, own=own, results=(*HOLDING.results, commit))
    words, due = acceptance_words(found), known and not driven and count < 5
    assert bool(words) == due
    times = "never" if not count else "only 1 time in" if count == 1 else f"only {count} times in"
    assert not due or (times in words and ("outside the next slot" in words) == bool(branching))
