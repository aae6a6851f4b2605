"""A finding points at the round in which something went wrong, or says which one to look at as well."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from grounds import ground, result_of
from hypothesis import assume, given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.view import View
from tree_oracle.faults import FAULTS
from tree_oracle.record import Case, Finding, Limits, Round, TreeData
from tree_oracle.run import Budget
from tree_oracle.tree import CandidateTree

pytestmark = pytest.mark.sweep

END, STOP = 7, (5, 6)
texts = st.lists(st.lists(st.sampled_from([1, 2, 5, 6, END]), min_size=1, max_size=4), min_size=1, max_size=4)


def found(check: str, text: Sequence[Sequence[int]], limits: Limits) -> list[Finding]:
    """What the check says of a session that emits this text, round by round, and never says that it ends."""
    trees = tuple(TreeData((0, 1), (-1, 0)) for _ in text)
    rounds = tuple(Round(emitted=tuple(emitted)) for emitted in text)
    return list(CHECKS[check].judge(View(Case(prefix=(0,), trees=trees, limits=limits), rounds, ground().truth)))


def first_round_with(text: Sequence[Sequence[int]], count: int) -> int:
    """The round in which the text comes to ``count`` tokens."""
    return next(index for index in range(len(text)) if sum(map(len, text[: index + 1])) >= count)


@given(texts, st.integers(0, 8), st.booleans())
def test_a_text_that_is_too_long_is_shown_where_it_had_to_end(text: list[list[int]], cap: int, context: bool) -> None:
    """Past a cap or the end of the context, the finding is about the round that reached it, however many follow."""
    assume(sum(map(len, text)) > cap)
    limits = Limits(99, max_length=cap + 1) if context else Limits(cap)
    (finding,) = found("STOP-02", text, limits)
    assert finding.round == first_round_with(text, cap)


@given(texts)
def test_a_text_that_ends_too_early_is_said_to_end_by_nothing_that_it_holds(text: list[list[int]]) -> None:
    """An end token or a stop sequence that stands in the text, and not last, is named; else it is said that there is none."""
    limits = Limits(99, (END,), stop=(STOP,))
    flat = [token for emitted in text for token in emitted]
    stops = [place for place in range(1, len(flat)) if tuple(flat[place - 1 : place + 1]) == STOP]
    assume(flat[-1] != END and len(flat) - 1 not in stops)
    trees = tuple(TreeData((0, 1), (-1, 0)) for _ in (*text, 0))
    rounds = (*(Round(emitted=tuple(emitted)) for emitted in text), Round(emitted=()))
    view = View(Case(prefix=(0,), trees=trees, limits=limits), rounds, ground().truth)
    (finding,) = CHECKS["STOP-02"].judge(view)
    assert ("without an end token or a stop sequence" in finding.sentence) == (END not in flat and not stops)
    assert (f"behind end token {END}, its token " in finding.sentence) == (END in flat)
    if stops and END not in flat:
        assert f"behind stop sequence {list(STOP)}, complete with its token {stops[0]}" in finding.sentence


def test_a_row_that_was_kept_in_anothers_place_is_named() -> None:
    """COMMIT-01 says of a wrong cache row which node and token it is of: what the tree holds there, and no accepted node."""
    (finding,) = result_of(ground().report(FAULTS["keep-first-rows"].decoder, "COMMIT-01"), "COMMIT-01").findings
    named = re.search(r"it is the row of node (\d+), token (\d+)$", finding.sentence)
    assert named is not None
    assert finding.case is not None
    node, token = map(int, named.groups())
    assert finding.case.trees[finding.round or 0].tokens[node] == token


@given(texts)
def test_a_text_that_goes_on_is_shown_where_its_end_stood(text: list[list[int]]) -> None:
    """The same for the first end token, the first stop sequence, and an end token that comes before its minimum."""
    flat = [token for emitted in text for token in emitted]
    ends = [place for place, token in enumerate(flat) if token == END]
    stops = [place for place in range(1, len(flat)) if tuple(flat[place - 1 : place + 1]) == STOP]
    for check, places, limits in (("STOP-01", ends, Limits(99, (END,))), ("STOP-04", stops, Limits(99, stop=(STOP,)))):
        if places and places[0] < len(flat) - 1:
            (finding,) = found(check, text, limits)
            assert finding.round == first_round_with(text, places[0] + 1)
    if ends and ends[0] < 3:
        (finding,) = found("STOP-05", text, Limits(99, (END,), min_new=3))
        assert finding.round == first_round_with(text, ends[0] + 1)


@pytest.mark.parametrize("check", ["COMMIT-03", "HISTORY-01"])
def test_a_wrong_past_is_traced_to_the_commit_before(check: str) -> None:
    """Where a row of a later round is wrong, the finding says which nodes the round before had committed."""
    made = FAULTS["keep-first-rows"].decoder
    report = ground().report(made, check, budget=Budget(cases=0, shrink_runs=0, diagnose=False))
    finding = next(one for one in result_of(report, check).findings if one.case is not None and one.case.trees)
    assert finding.case is not None
    assert finding.round
    session = made(ground().target).open([finding.case.prefix], Limits(64))
    for tree in finding.case.trees[: finding.round]:
        (last,) = session.step([CandidateTree.from_data(tree)])
    assert last.accepted is not None
    assert f"this round starts from the commit of the one before it, of nodes {[0, *last.accepted]}" in finding.seen
