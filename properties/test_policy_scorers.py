"""Scoring in the input's precision may choose another tree than scoring in float32, and never another greedy sequence."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tree_oracle.construct import (
    InvalidDraft,
    MarkovDraft,
    Scored,
    TreeSpark,
    input_precision,
    paths_of,
    single_precision,
)
from tree_oracle.construct.scorers import Scorer, bfloat16
from tree_oracle.tree import CandidateTree
from tree_oracle.verify import walk

finite = st.floats(-60, 60, width=32)
rows = arrays(np.float64, st.integers(1, 8), elements=finite)


@given(arrays(np.float32, st.integers(1, 8), elements=st.floats(allow_nan=False, width=32, allow_subnormal=False)))
def test_rounding_to_bfloat16_is_that_of_torch(values: np.ndarray) -> None:
    """To the nearest value of eight bits, halves to the even one, infinities kept: bit for bit as torch rounds."""
    expected = torch.tensor(values).to(torch.bfloat16).to(torch.float32).numpy()
    assert bfloat16(values).tobytes() == expected.tobytes()


@given(rows)
def test_single_precision_is_log_softmax_in_float32(logits: np.ndarray) -> None:
    """Its distance to the log-softmax in float64 is what rounding in 24 bits makes of numbers of this size."""
    exact = logits - logits.max()
    exact = exact - np.log(np.exp(exact).sum())
    law = single_precision(logits)
    assert law.dtype == np.float32
    assert (law <= 0).all()
    # Each of the logit, the maximum, the difference and the result is rounded once, to 2^-24 of at most 128 + log 8.
    np.testing.assert_allclose(law, exact, rtol=0, atol=4 * 131 * 2.0**-24)


@given(rows)
def test_input_precision_selects_subtracts_and_exponentiates_in_eight_bits(logits: np.ndarray) -> None:
    """Differences of scores are those of bfloat16 logits, subtracted in bfloat16; the normaliser sums rounded exponentials."""
    given_logits = torch.tensor(logits, dtype=torch.float32).to(torch.bfloat16)
    shifted = (given_logits - given_logits.max()).to(torch.float64).numpy()
    law = input_precision(logits)
    assert (law <= 0).all()
    total = np.exp(shifted).sum()
    normaliser = float(law[int(logits.argmax())])  # the best token's own difference is 0
    # Every exponential is off by at most 2^-8 of itself, and so is their sum.
    assert abs(np.exp(-normaliser) / total - 1) <= 2.0**-8
    np.testing.assert_allclose(law, shifted + normaliser, rtol=2.0**-22)


class Row:
    """A source with one row of logits for all nodes."""

    def __init__(self, *logits: float) -> None:
        self._logits = np.array(logits)

    def logits(self, depth: int, parent_token: int) -> np.ndarray:
        return self._logits


def trees(source: Row, policy: TreeSpark) -> list[frozenset[tuple[int, ...]]]:
    return [paths_of(policy.build(Scored(source, scorer), 0).tree) for scorer in (single_precision, input_precision)]


def test_near_a_boundary_the_two_scorers_choose_different_trees() -> None:
    """1.001 is 1.0 in bfloat16: where float32 prefers token 2, eight bits see a tie and the smaller id wins."""
    source, policy = Row(2.0, 1.0, 1.001, -3.0), TreeSpark(branching=2, frontier=2, budget=2, depth=1)
    exact, coarse = trees(source, policy)
    assert exact == frozenset({(0,), (2,)})
    assert coarse == frozenset({(0,), (1,)})
    # Under the coarse scores both are admissible; under the fine ones only its own.
    both = [CandidateTree([0, 0, 2], [-1, 0, 0]), CandidateTree([0, 0, 1], [-1, 0, 0])]
    assert [policy.admits(tree, Scored(source, input_precision), 0) for tree in both] == [True, True]
    assert [policy.admits(tree, Scored(source, single_precision), 0) for tree in both] == [True, False]


def test_away_from_boundaries_they_choose_the_same_tree() -> None:
    """Logits that bfloat16 holds exactly and whose gaps are wide give one tree."""
    exact, coarse = trees(Row(4.0, 2.0, 1.0, -3.0), TreeSpark(2, 2, 5, 3))
    assert exact == coarse


VOCAB = 5


def target(history: tuple[int, ...]) -> np.ndarray:
    """A row of small scores, many of them tied, that depends on the whole history."""
    return np.random.default_rng([len(history), *history]).integers(0, 4, VOCAB).astype(np.float64)


def plain(prefix: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Ordinary greedy decoding, the smallest id among equals."""
    for _ in range(count):
        prefix = (*prefix, max(range(VOCAB), key=lambda token: (target(prefix)[token], -token)))
    return prefix


def by_trees(draft: MarkovDraft, scorer: Scorer, prefix: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Rounds of draft, verify, commit, cut to as many tokens."""
    due = len(prefix) + count
    while len(prefix) < due:
        tree = TreeSpark(2, 2, 5, 3).build(Scored(draft, scorer), prefix[-1]).tree
        histories = [(*prefix, *tree.tokens[list(tree.path(node)[1:])].tolist()) for node in range(len(tree))]
        prefix += walk(tree, np.array([target(history) for history in histories])).emitted(tree)
    return prefix[:due]


@given(
    unary=arrays(np.float64, (3, VOCAB), elements=st.sampled_from([0.0, 1.0, 1.001, 1.002, 0.999])),
    matrices=st.tuples(*[arrays(np.float64, (VOCAB, 1), elements=st.sampled_from([0.0, 0.5, 0.501]))] * 2),
    start=st.integers(0, VOCAB - 1),
)
def test_the_greedy_sequence_is_the_same_under_both(
    unary: np.ndarray, matrices: tuple[np.ndarray, np.ndarray], start: int
) -> None:
    """On drafts that are nothing but near ties, both decoders commit the tokens of ordinary greedy decoding."""
    draft = MarkovDraft(unary, *matrices)
    expected = plain((start,), 8)
    for scorer in (single_precision, input_precision):
        assert by_trees(draft, scorer, (start,), 8) == expected


def test_a_row_without_a_finite_logit_is_refused() -> None:
    """Nothing can be normalised where no token is possible."""
    with pytest.raises(InvalidDraft, match=r"the largest logit is -inf; expected a finite one"):
        Scored(Row(-np.inf, -np.inf), single_precision).log_probs(1, 0)
