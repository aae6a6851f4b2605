"""METRIC: why rounds end, told from what was drafted, against the rule of drafting itself; and how far it covers the text."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st
from treespark_oracle import Path, best, by_creation, candidates, packed, probability

from tree_oracle.checks.witness import witness_of
from tree_oracle.construct import TableDraft, TreeSpark
from tree_oracle.decoder import HalfRightDraft, ReferenceDecoder
from tree_oracle.metrics import Coverage, MetricError, WhyEnded, coverage, why_ended
from tree_oracle.record import DraftData, Ended, EndReason, Limits, Round, TreeData, Witness
from tree_oracle.strategies import draft_tables

#     0            pool      0
#   1   2                  1 2 5
#       3                   3 4
TREE: dict[str, Any] = {"tokens": (7, 1, 2, 3), "parents": (-1, 0, 0, 2)}
POOL = TreeData((7, 1, 2, 3, 4, 5), (-1, 0, 0, 2, 2, 0))


def over(accepted: tuple[int, ...], bonus: int, **more: Any) -> Round:
    text = (*(TREE["tokens"][v] for v in accepted), bonus)
    return Round(**{"emitted": text, "accepted": accepted, "bonus": bonus, **TREE, **more})


def without(round_: Round, field: str) -> Round:
    return msgspec.structs.replace(round_, **{field: None})


@st.composite
def drafted(draw: st.DrawFn) -> tuple[DraftData, TreeSpark, Path, Round]:
    """A TreeSpark round on any draft, and a text that mostly follows what was drafted: verification follows it as far as it can."""
    data = draw(draft_tables(max_vocab=6))
    k, f, n, b = draw(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(1, 3)))
    policy = TreeSpark(branching=k, frontier=f, budget=n, depth=b)
    pool, tree = (made.tree for made in (policy.pool(TableDraft.of(data), 0), policy.build(TableDraft.of(data), 0)))
    paths = [tuple(pool.tokens[list(pool.path(v)[1:])].tolist()) for v in range(len(pool))]
    token = st.integers(0, data.vocab_size - 1)
    text = (*draw(st.sampled_from(paths)), *draw(st.lists(token, min_size=b + 1, max_size=b + 1)))
    accepted, here = list[int](), 0
    for wanted in text:
        below = [v for v in range(len(tree)) if tree.parents[v] == here and tree.tokens[v] == wanted]
        if not below:
            break
        here = below[0]
        accepted.append(here)
    emitted = text[: len(accepted) + 1]
    plain, whole = tree.to_data(), pool.to_data()
    round_ = Round(
        emitted=emitted,
        bonus=emitted[-1],
        accepted=tuple(accepted),
        tokens=plain.tokens,
        parents=plain.parents,
        pool=whole,
    )
    return data, policy, text, round_


@given(drafted())
def test_a_round_ends_for_the_reason_that_the_rule_of_drafting_gives(case: tuple[Any, ...]) -> None:
    """By exact fractions: too deep; not among the best of its level; not among its parent's best; or else left out by packing."""
    data, policy, _, round_ = case
    k, f, n, b = policy.branching, policy.frontier, policy.budget, policy.depth
    *path, token = round_.emitted
    here = tuple(path)
    level = [one for one in candidates(data, 0, k, f, b, by_creation) if len(one) == len(here)]
    worth = {t: probability(data, 0, (*here, t)) for t in range(data.vocab_size)}
    better = sum(worth[t] > worth[token] or (worth[t] == worth[token] and t < token) for t in worth)
    if len(here) == b:
        expected = WhyEnded.DEPTH
    elif here and here not in best(level, f, lambda one: probability(data, 0, one), by_creation):
        expected = WhyEnded.FRONTIER
    elif not worth[token] or better >= k:
        expected = WhyEnded.TOP_K
    else:
        expected = WhyEnded.BUDGET
        assert (*here, token) in packed(data, 0, k, f, b)[n:]
    assert why_ended(round_) is expected


@given(drafted())
def test_coverage_is_counted_path_by_path(case: tuple[Any, ...]) -> None:
    """A depth is covered if the text so far is a path of the pool, packed if it is one of the first N; the text goes on later."""
    data, policy, text, round_ = case
    pool = packed(data, 0, policy.branching, policy.frontier, policy.depth)
    rest = text[len(round_.emitted) :]
    later = [Round(emitted=rest, bonus=rest[-1], accepted=(), tokens=(0,), parents=(-1,))] if rest else []
    levels = max(map(len, pool))
    assert coverage([[round_, *later]]) == tuple(
        Coverage(1, text[:depth] in pool, text[:depth] in pool[: policy.budget]) for depth in range(1, levels + 1)
    )
    assert coverage([later]) == ()


ENDS = {
    EndReason.EOS: WhyEnded.END_TOKEN,
    EndReason.STOP: WhyEnded.STOP,
    EndReason.CAP: WhyEnded.CAP,
    EndReason.CONTEXT: WhyEnded.CAP,
}


@pytest.mark.parametrize("end", EndReason)
def test_limits_come_first(end: EndReason) -> None:
    """A text that a limit ends was ended by it, whatever was drafted."""
    assert why_ended(over((2,), 4, end=end, pool=POOL)) is ENDS[end]
    assert set(ENDS) == set(EndReason)


def test_every_reason_of_the_pool_and_what_is_told_without_it() -> None:
    """One tree, its pool, and five tokens that are not there; without the pool a leaf is told from a node with other children."""
    reasons = {
        ((2,), 4): (WhyEnded.BUDGET, WhyEnded.NO_CHILD),
        ((2,), 9): (WhyEnded.TOP_K, WhyEnded.NO_CHILD),
        ((1,), 9): (WhyEnded.FRONTIER, WhyEnded.LEAF),
        ((2, 3), 9): (WhyEnded.DEPTH, WhyEnded.LEAF),
        ((), 5): (WhyEnded.BUDGET, WhyEnded.NO_CHILD),
    }
    for (accepted, bonus), (known, unknown) in reasons.items():
        assert why_ended(over(accepted, bonus, pool=POOL)) is known
        assert why_ended(over(accepted, bonus)) is unknown
    alone: dict[str, Any] = {"tokens": (7,), "parents": (-1,), "accepted": (), "emitted": (9,), "bonus": 9}
    assert why_ended(Round(**alone)) is why_ended(Round(**alone, pool=TreeData((7,), (-1,)))) is WhyEnded.NO_DRAFT


@pytest.mark.parametrize(
    ("round_", "told"),
    [
        (over((2,), 3), "goes on with token 3, which a child of its last node 2 holds"),
        (over((2,), 9, pool=TreeData((7, 1), (-1, 0))), r"follows \[2\], of which its pool holds 0 tokens"),
        (without(over((2,), 9), "tokens"), "does not show tokens"),
        (without(over((2,), 9), "bonus"), "does not show bonus"),
        (without(over((2,), 9), "accepted"), "does not show accepted"),
    ],
)
def test_what_cannot_be_told_is_refused(round_: Round, told: str) -> None:
    """A walk that stopped too early, a pool that is not the tree's, and missing fields are named; a witness leaves them out."""
    with pytest.raises(MetricError, match=told):
        why_ended(round_)
    assert witness_of([round_, over((1,), 9)]).ended[-1:] == (Ended("at a leaf (pool not shown)", 1),)


def test_a_pool_without_its_tree_is_refused() -> None:
    """Coverage needs both; a witness that cannot have it says nothing of it."""
    bare = Round(emitted=(1, 2), pool=POOL)
    with pytest.raises(MetricError, match="not its tree"):
        coverage([[bare]])
    assert witness_of([bare, bare]).known == ()


def test_witnesses_add_up() -> None:
    """Reasons are summed by name and coverage by depth."""
    one = witness_of([over((2,), 4, pool=POOL), over((2,), 9, pool=POOL)])
    assert one.ended == (Ended("below the parent's top k", 1), Ended("dropped by the budget", 1))
    assert (one.known, one.pooled, one.packed) == ((2, 2), (2, 1), (2, 0))
    both = one + one + Witness(known=(1, 1, 1), pooled=(0, 0, 0), packed=(0, 0, 0))
    assert both.ended == (Ended("below the parent's top k", 2), Ended("dropped by the budget", 2))
    assert both.known == (5, 5, 1)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_the_pool_of_the_reference_is_its_tree_and_at_most_one_token_more(prefix: list[int]) -> None:
    """What the reference drafts is packed whole, or but for the target's own token at one depth."""
    draft = HalfRightDraft(ground().target)
    tree, pool = draft.drafted(prefix)
    assert draft(prefix) == tree
    assert len(pool) - len(tree) in (0, 1)
    tree_paths, pool_paths = ({tuple(t.tokens[list(t.path(v))].tolist()) for v in range(len(t))} for t in (tree, pool))
    assert tree_paths <= pool_paths


def test_the_reference_shows_why_its_rounds_end() -> None:
    """Every round of the reference has a reason, and no reason says that the pool is not shown unless a draft of somebody's is used."""
    found = ground()
    (rounds,) = ReferenceDecoder(found.target).generate([[1, 2, 3]], Limits(24))
    assert all(round_.pool is not None and "not shown" not in why_ended(round_) for round_ in rounds)
    own = HalfRightDraft(found.target)
    (rounds,) = ReferenceDecoder(found.target, draft=own).generate([[1, 2, 3]], Limits(24))
    assert all(round_.pool is None for round_ in rounds)
    assert {why_ended(round_) for round_ in rounds[:-1]} <= {WhyEnded.LEAF, WhyEnded.NO_CHILD}
    stripped = [msgspec.structs.replace(round_, bonus=None) for round_ in rounds]
    assert sum(one.rounds for one in witness_of(stripped).ended) == 1
