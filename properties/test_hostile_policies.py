"""Policies against drafts and bounds that nobody should hand them: a tree that is admitted, or a typed error that says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.construct import (
    CaDDTree,
    CalibratedTreeSpark,
    Chain,
    DDTree,
    Eagle2,
    InvalidDraft,
    JetSpec,
    MarginalDraft,
    OptTree,
    RankTree,
    ReferencePolicy,
    Sequoia,
    TableDraft,
    Taps,
    TreeSpark,
    WithoutReplacement,
    admissible,
    build_batch,
    expansion,
)
from tree_oracle.construct.scorers import bfloat16
from tree_oracle.record import DraftData, TreeOracleError, UsageError

HUGE = 10**9
Make = Callable[[int, int], ReferencePolicy]  # of a budget and a depth

MAKERS: dict[str, Make] = {
    "treespark": lambda budget, depth: TreeSpark(min(budget, 3), 3, budget, depth),
    "eagle2": lambda budget, depth: Eagle2(min(budget, 3), budget, depth),
    "opt-tree": lambda budget, depth: OptTree(budget, depth, 0.0),
    "jetspec": lambda budget, depth: JetSpec(min(budget, 3), budget, depth),
    "ddtree": DDTree,
    "caddtree": CaDDTree,
    "calibrated": CalibratedTreeSpark,
    "taps": lambda budget, depth: Taps(budget=budget, pool=2 * budget, depth=depth),
    "chain": lambda budget, depth: Chain(depth),
    "specinfer": lambda budget, depth: expansion(*[2] * min(depth, 3)),
    "sequoia": lambda budget, depth: Sequoia((0.5, 0.3), min(budget, 5 if depth > 1 else 2), depth),
    "static ranks": lambda budget, depth: RankTree(
        tuple(ranks for ranks in ((0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)) if len(ranks) <= depth)
    ),
    "confident chain": lambda budget, depth: Chain(depth, confidence=lambda history: 0.5, threshold=0.5),
}

# Certain, impossible, equal, tiny and vanishing probabilities, in every precision that a drafter has.
entries = st.sampled_from([0.0, -0.0, -5e-324, -1e-17, -0.5, -1.0, -745.2, -3.4e38, -1e300, -np.inf])
rows = st.integers(1, 3).flatmap(
    lambda vocab: st.lists(st.lists(entries, min_size=vocab, max_size=vocab), min_size=1, max_size=3)
)


# Scores as a drafter in half precision has them: logarithms of eight bits, most of them equal, and paths that underflow.
coarse = st.lists(
    st.lists(st.floats(-90, 0, width=32), min_size=4, max_size=4).map(
        lambda law: [float(value) for value in bfloat16(np.array(law, dtype=np.float32) / 16) * 16]
    ),
    min_size=3,
    max_size=3,
)
equal = st.integers(1, 4).map(lambda vocab: [[-float(np.log(vocab))] * vocab] * 3)


class Saying:
    """A draft that answers what a function says."""

    def __init__(self, law: Callable[[int], Any]) -> None:
        self._law = law

    def log_probs(self, depth: int, parent_token: int) -> Any:
        return self._law(depth)


def ending(depth: int) -> np.ndarray:
    """Nothing is possible below two levels."""
    return np.array([-0.5, -1.0]) if depth < 3 else np.full(2, -np.inf)


@given(
    name=st.sampled_from(list(MAKERS)),
    laws=rows,
    budget=st.integers(1, 9),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_a_draft_with_no_law_below_the_last_level_is_never_asked_for_one(
    name: str, laws: Sequence[Sequence[float]], budget: int, dtype: type
) -> None:
    """Over exactly as many levels as the policy has, what is built is admitted, and no deeper law is asked for."""
    with np.errstate(over="ignore"):
        draft = MarginalDraft(np.array(laws).astype(dtype))
    policy = MAKERS[name](budget, min(len(laws), 3))
    tree = policy.build(draft, 0).tree
    assert tree.max_depth <= len(laws)
    assert policy.admits(tree, draft, 0)


@pytest.mark.parametrize("name", MAKERS)
@given(laws=st.one_of(rows, coarse, equal), budget=st.integers(1, 9), scale=st.sampled_from([1.0, 1e3]))
def test_no_tie_breaks_closure_or_order(name: str, laws: Sequence[Sequence[float]], budget: int, scale: float) -> None:
    """Certain, equal, coarse, underflowing and impossible tokens: parents come first and score no less, and nothing impossible is there."""
    draft = MarginalDraft(np.maximum(np.array(laws) * (scale if np.max(np.abs(laws)) < 1e3 else 1.0), -np.inf))
    policy = MAKERS[name](budget, len(laws))
    built = policy.build(draft, 0)
    tree, scores = built.tree, built.scores
    for node in range(1, len(tree)):
        parent = int(tree.parents[node])
        assert parent < node
        assert scores[node] <= scores[parent]
        assert draft.laws[tree.depths[node] - 1, tree.tokens[node]] > -np.inf
    siblings = list(zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True))
    assert len(set(siblings)) == len(siblings)
    assert len(tree) - 1 <= policy.budget
    assert tree.max_depth <= policy.depth
    assert policy.admits(tree, draft, 0)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("specinfer", "taps", "static ranks")])
def test_bounds_beyond_all_bounds_cost_nothing_where_the_draft_ends(name: str) -> None:
    """A depth of a thousand million over a draft of two levels builds, and admits, what a depth of two does."""
    far, near = MAKERS[name](4, HUGE), MAKERS[name](4, 2)
    draft = Saying(ending)
    assert far.build(draft, 0).tree == near.build(draft, 0).tree
    assert far.admits(near.build(draft, 0).tree, draft, 0)


def test_a_batch_is_as_wide_as_its_drafts_and_not_as_its_bounds() -> None:
    """Bounds that no array could be made for build the trees that are built one by one."""
    policy, draft = TreeSpark(HUGE, HUGE, HUGE, HUGE), Saying(ending)
    (built,) = build_batch(policy, [draft], [0])
    assert built.tree == policy.build(draft, 0).tree
    assert built.pool_size == 6
    assert TreeSpark(2, 2, 4, HUGE).most_candidates == 2 + 4 * (HUGE - 1)


@given(branching=st.integers(1, 5), frontier=st.integers(1, 5), depth=st.integers(1, 12))
def test_the_largest_pool_is_counted_level_by_level(branching: int, frontier: int, depth: int) -> None:
    """The short count is the sum over all levels."""
    sizes = [1]
    for _ in range(depth):
        sizes.append(min(sizes[-1], frontier) * branching)
    assert TreeSpark(branching, frontier, 4, depth).most_candidates == sum(sizes[1:])


def test_too_many_ways_through_the_ties_are_refused_before_they_are_listed() -> None:
    """Sixty equal tokens have 75 thousand million sets of ten; the refusal comes at once."""
    with pytest.raises(UsageError, match="more than 1000 ways"):
        admissible(TreeSpark(10, 4, 6, 2), Saying(lambda _: np.full(60, -4.0)), 0)


NO_LAWS: dict[str, Any] = {
    "nothing": lambda _: None,
    "ragged": lambda _: [[1], [1, 2]],
    "no tokens": lambda _: np.zeros(0),
    "two axes": lambda _: np.zeros((2, 2)),
    "integers": lambda _: np.array([-1, -2]),
    "complex": lambda _: np.array([-1 + 0j]),
    "NaN": lambda _: np.full(2, np.nan),
    "above 0": lambda _: np.array([-1.0, 0.1]),
    "a mask whose sums overflow": lambda _: np.array([-0.5, np.finfo(np.float64).min]),
}


@pytest.mark.parametrize("what", NO_LAWS)
@pytest.mark.parametrize("name", MAKERS)
def test_what_is_no_law_is_refused_by_every_policy(name: str, what: str) -> None:
    """The error names the place of the law and what was expected of it."""
    with pytest.raises(InvalidDraft, match="the law at depth 1 after token 0"):
        MAKERS[name](4, 2).build(Saying(NO_LAWS[what]), 0)


def test_an_object_that_proposes_nothing_is_no_draft() -> None:
    """The error names the type and the methods that were looked for."""
    with pytest.raises(InvalidDraft, match="a draft is object; expected a method log_probs or log_probs_after"):
        TreeSpark().build(object(), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MAKERS)
def test_a_draft_that_answers_differently_twice_breaks_no_policy(name: str) -> None:
    """A vocabulary that changes with every answer gives a tree or a typed error, and membership an answer or one."""
    asked = iter(range(10**6))
    draft = Saying(lambda _: np.log(np.full(size := 6 - next(asked) % 5, 1 / size)))
    policy = MAKERS[name](6, 3)
    try:
        tree = policy.build(draft, 0).tree
        assert policy.admits(tree, draft, 0) in (True, False)
    except TreeOracleError as refused:
        assert "expected" in str(refused)


DRAWS: dict[str, Any] = {
    "outside": np.array([9]),
    "negative": np.array([-1]),
    "impossible": np.array([2]),
    "equal": np.array([1, 1]),
    "too many": np.array([0, 1, 3]),
    "halves": np.array([0.5]),
    "nothing": None,
}


@pytest.mark.parametrize("what", DRAWS)
def test_a_draw_that_is_none_is_refused(what: str) -> None:
    """Tokens that the law does not have, never proposes or has drawn already are no children."""
    draft = Saying(lambda _: np.array([-1.0, -1.0, -np.inf, -1.0]))
    for policy in (RankTree(((0,), (1,)), lambda *_: DRAWS[what]), Chain(2, lambda *_: DRAWS[what])):
        with pytest.raises(UsageError, match=r"the draw after \(0,\) gives"):
            policy.build(draft, 0)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "half a rank": (lambda: RankTree(((0.5,),)), "choice (0.5,); expected ranks from 0 on"),  # type: ignore[arg-type]
    "a true rank": (lambda: RankTree(((True,),)), "choice (True,); expected ranks from 0 on"),
    "a list": (lambda: RankTree(([0],)), "choice [0]; expected ranks from 0 on"),  # type: ignore[arg-type]
    "fewer than no draws": (lambda: WithoutReplacement()(np.zeros(2), -1, (0,)), "count is -1; expected an integer of"),
    "a huge programme": (lambda: Sequoia(budget=10**6), "expected tables of at most"),
    "a huge table": (lambda: TableDraft.of(DraftData((("0" * 9000,),))), "1 depths of 9000 tokens; expected a table"),
}


@pytest.mark.parametrize(("act", "message"), WRONG.values(), ids=WRONG)
def test_bounds_that_nobody_can_mean_are_refused_by_name(act: Callable[[], object], message: str) -> None:
    """Each is refused at once, with the value and what was expected."""
    with pytest.raises(TreeOracleError) as caught:
        act()
    assert message in str(caught.value)


def test_no_draws_are_no_tokens() -> None:
    """A count of 0 asks for nothing and gets it."""
    assert len(WithoutReplacement()(np.zeros(3), 0, (0,))) == 0
