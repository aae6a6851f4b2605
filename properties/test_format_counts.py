"""Budgets, depths, lengths, counts and positions of other systems become this project's, by counting a small tree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.record import UsageError
from tree_oracle.strategies import candidate_trees
from tree_oracle.tree import CandidateTree, lay_out
from tree_oracle.tree.formats import (
    AcceptCount,
    Budget,
    DepthParameter,
    Position,
    PrefixLength,
    accepted_of,
    budget_of,
    candidates_of,
    levels_of,
    positions_of,
    prefix_len_of,
)

TREE = CandidateTree([9, 1, 2, 3], [-1, 0, 0, 1])  # three candidates on two levels


def test_published_numbers_are_converted() -> None:
    """EAGLE's 60, SGLang's 33, DFlash's block of 16 and a depth of 7 in EAGLE mean what their systems make of them."""
    assert candidates_of(60, Budget.WITH_ROOT) == 59
    assert budget_of(32, Budget.WITH_ROOT) == 33
    assert candidates_of(32, Budget.WITHOUT_ROOT) == budget_of(32, Budget.WITHOUT_ROOT) == 32
    assert levels_of(16, DepthParameter.ONE_MORE) == 15
    assert levels_of(7, DepthParameter.ONE_LESS) == 8
    assert levels_of(7, DepthParameter.LEVELS) == 7
    assert levels_of(1, DepthParameter.ONE_MORE) == 0  # Sequoia: the root alone
    assert prefix_len_of(0, PrefixLength.WITHOUT_ROOT) == prefix_len_of(1, PrefixLength.WITH_ROOT) == 1
    assert accepted_of(3, AcceptCount.DRAFTS_AND_ONE) == accepted_of(2, AcceptCount.DRAFTS) == 2


@given(st.integers(0, 10**6), st.sampled_from(Budget))
def test_budgets_come_back(candidates: int, convention: Budget) -> None:
    """A budget in any convention and back is the same number of candidates."""
    assert candidates_of(budget_of(candidates, convention), convention) == candidates


@given(candidate_trees(vocab_size=3), st.integers(1, 9), st.sampled_from(PrefixLength))
def test_positions_count_depth_under_every_convention(tree: CandidateTree, length: int, counted: PrefixLength) -> None:
    """The layout's positions are the absolute ones; offsets begin at 0 and count edges; clamping changes no earlier one."""
    prefix_len = prefix_len_of(length, counted)
    absolute = positions_of(tree, prefix_len, Position.ABSOLUTE)
    assert absolute.tolist() == lay_out(tree, prefix_len).positions.tolist()
    assert absolute[0] == (length - 1 if counted is PrefixLength.WITH_ROOT else length)
    assert positions_of(tree, prefix_len, Position.OFFSET).tolist() == [position - absolute[0] for position in absolute]
    limited = positions_of(tree, prefix_len, Position.ABSOLUTE, limit=prefix_len + 1)
    assert limited.tolist() == [min(position, prefix_len) for position in absolute]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: candidates_of(0, Budget.WITH_ROOT), "budget is 0; expected an integer of at least 1"),
        (lambda: candidates_of(-1, Budget.WITHOUT_ROOT), "budget is -1; expected an integer of at least 0"),
        (lambda: levels_of(0, DepthParameter.ONE_MORE), "depth is 0; expected an integer of at least 1"),
        (lambda: levels_of(True, DepthParameter.LEVELS), "depth is True; expected an integer of at least 0"),
        (lambda: prefix_len_of(0, PrefixLength.WITH_ROOT), "prefix length is 0; expected an integer of at least 1"),
        (lambda: accepted_of(0, AcceptCount.DRAFTS_AND_ONE), "count is 0; expected an integer of at least 1"),
        (lambda: positions_of(TREE, 0, Position.OFFSET), "prefix_len is 0; expected an integer of at least 1"),
        (lambda: positions_of(TREE, 1, Position.OFFSET, limit=0), "limit is 0; expected an integer of at least 1"),
    ],
)
def test_numbers_without_meaning_are_refused(wrong: Any, message: str) -> None:
    """A budget without a root that counts it, a depth below the first level, no prefix: usage errors that name the value."""
    with pytest.raises(UsageError) as caught:
        wrong()
    assert str(caught.value) == message
