"""What would explain a wrong answer is named in full: never one row as if certain where another fits as well."""

from __future__ import annotations

import numpy as np
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.say import either
from tree_oracle.checks.view import View, history
from tree_oracle.record import Array, Case, Finding, Round

PREFIX, TOKENS, PARENTS = (4, 7), (7, 1, 2, 5), (-1, 0, 0, 1)
VOCAB = 8
CHOICES = st.lists(st.integers(0, VOCAB - 1), min_size=4, max_size=4)


def _found(check: str, rows: np.ndarray, **shown: object) -> list[Finding]:
    """What the judge finds where these rows were handed over."""
    round_ = Round(emitted=(5,), prefix=PREFIX, tokens=TOKENS, parents=PARENTS, **shown)  # type: ignore[arg-type]
    case = Case(prefix=PREFIX, rows=Array.of(rows))
    return list(CHECKS[check].judge(View(case, (round_,), ground().truth)))


@given(CHOICES)
def test_every_row_that_chooses_the_accepted_token_is_named(choices: list[int]) -> None:
    """A wrong node is put to all rows that would choose it, in the sentence as in what was seen; to none if there is none."""
    rows = np.eye(VOCAB, dtype=np.float32)[choices]
    found = _found("GATHER-01", rows, accepted=(1,))
    fits = [node for node, token in enumerate(choices) if token == TOKENS[1]]
    if 0 in fits:
        assert not found
        return
    (finding,) = found
    if fits:
        assert finding.sentence == f"accepted node 1 was judged with the row of node {either(fits)} instead of node 0"
    else:
        assert "no other row explains it" in finding.sentence


def test_every_row_that_gives_the_score_is_named() -> None:
    """Two equal rows both give a wrong score, and both are named."""
    rows = np.random.default_rng(0).normal(size=(4, VOCAB)).astype(np.float32)
    rows[3] = rows[2]
    laws = rows.astype(np.float64) - np.log(np.exp(rows.astype(np.float64)).sum(axis=1, keepdims=True))
    parents = np.maximum(np.array(PARENTS), 0)
    right = laws[parents, np.array(TOKENS)]
    assert not _found("GATHER-02", rows, accepted=(), scores=Array.of(right.astype(np.float32)))
    wrong = right.copy()
    wrong[1] = laws[2, TOKENS[1]]
    (finding,) = _found("GATHER-02", rows, accepted=(), scores=Array.of(wrong.astype(np.float32)))
    assert finding.sentence.endswith("; the row of node 2 or 3 gives it")


def test_every_node_whose_row_it_is_is_named() -> None:
    """HISTORY-01 names each node whose row was shown in another's place; equal histories have equal rows."""
    tokens, parents = (7, 1, 2, 2), (-1, 0, 0, 0)  # a tree that CONSTRUCT refuses: nodes 2 and 3 are one
    bare = Round(emitted=(5,), prefix=PREFIX, tokens=tokens, parents=parents)
    truth = ground().truth
    rows = truth.rows([history(bare, node) for node in range(4)])
    rows[1] = rows[2]
    round_ = Round(emitted=(5,), prefix=PREFIX, tokens=tokens, parents=parents, rows=Array.of(rows.astype(np.float32)))
    (finding,) = CHECKS["HISTORY-01"].judge(View(Case(prefix=PREFIX), (round_,), truth))
    assert finding.sentence.endswith("; it is the row of node 2 or 3")


@pytest.mark.parametrize(
    ("items", "words"),
    [([1], "1"), ([1, 2], "1 or 2"), ([1, 2, 3], "1, 2 or 3"), (range(8), "0, 1, 2, 3, 4, 5 or 2 others")],
)
def test_either(items: list[int], words: str) -> None:
    """All of it up to six, then how many more."""
    assert either(items) == words
