"""WORK: passes are counted at the target itself, stages by the draft, and stated counts are held against both."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
import torch
from grounds import ground
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.counted_draft import CountedDraft
from tree_oracle.checks.drive import drive
from tree_oracle.checks.drive_session import session_rounds
from tree_oracle.checks.policy import policy_of
from tree_oracle.checks.read_round import read_round
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.view import View
from tree_oracle.construct import TreeSpark
from tree_oracle.decoder import ReferenceDecoder, Seam
from tree_oracle.decoder.tap_count import counted
from tree_oracle.faults import FAULTS
from tree_oracle.record import AdapterError, Call, Case, Limits, Round, TreeData, Work
from tree_oracle.strategies import draft_tables
from tree_oracle.target import forward_with_cache, prefill

PREFIX = (5, 6, 7)
#     0
#   1   2
#       3
TREE: dict[str, Any] = {"tokens": (7, 1, 2, 3), "parents": (-1, 0, 0, 2)}
PASS, NEXT = (Call((7, 1, 2, 3), 2),), (Call((8,), 4),)
FIRST = Round(emitted=(2, 8), prefix=PREFIX, accepted=(2,), calls=PASS, **TREE)
TEXT = (*PREFIX, 2, 8)
PLAIN = Round(emitted=(9,), prefix=TEXT, tokens=(8,), parents=(-1,), accepted=(), calls=NEXT)


def judged(check: str, *rounds: Round, policy: Any = None) -> list[str]:
    declared = None if policy is None else policy_of(type("Declares", (), {"tree_policy": policy}))
    view = View(Case(prefix=PREFIX), rounds, ground().truth, tree_policy=declared)
    return [found.sentence for found in CHECKS[check].judge(view)]


def made(round_: Round, *calls: Call) -> Round:
    return msgspec.structs.replace(round_, calls=calls)


RIGHT: dict[str, tuple[tuple[Call, ...], tuple[Call, ...]]] = {
    "one pass": (PASS, NEXT),
    "the prompt in the first round, in two chunks": (
        (Call((5,)), Call((6,), 1), Call((7, 1, 2, 3), 2)),
        NEXT,
    ),
    "the prompt with its last token": ((Call((5, 6, 7)), Call((7, 1, 2, 3), 2)), NEXT),
    "the prompt and the tree in one": ((Call((5, 6, 7, 1, 2, 3)),), NEXT),
    "the accepted path in the next pass": (PASS, (Call((7, 2, 8), 2),)),
    "more cached rows than were committed": (PASS, (Call((8,), 6),)),
}
WRONG: dict[str, tuple[tuple[Call, ...], tuple[Call, ...]]] = {
    "the tree, then the tree": (PASS * 2, NEXT),
    "the tree, then the accepted path (a commit pass)": ((*PASS, Call((7, 2), 2)), NEXT),
    "the accepted path (a commit pass), then the tree": (PASS, (Call((7, 2), 2), *NEXT)),
    "tokens that were committed earlier, then the tree": (PASS, (Call(TEXT[:-1]), *NEXT)),
    "the tree, then other tokens": (PASS, (*NEXT, Call((1, 1), 5))),
    "a pass over more than one row of tokens": (PASS, (*NEXT, Call((), 5))),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_one_pass_a_round_is_enough(name: str) -> None:
    """Prefill in or before the first round, a path that is fed again with the next tree, and rows that wait are no second pass."""
    first, second = RIGHT[name]
    assert not judged("WORK-01", made(FIRST, *first), made(PLAIN, *second))


@pytest.mark.parametrize("name", WRONG)
def test_what_runs_beside_the_pass_is_named(name: str) -> None:
    """A second pass is a finding that says what it ran: the tree, the accepted path, the prefix, or something else."""
    first, second = WRONG[name]
    (sentence,) = judged("WORK-01", made(FIRST, *first), made(PLAIN, *second))
    assert name in sentence


def test_a_text_that_is_run_whole_in_every_pass_is_found() -> None:
    """One pass a round is still too much where it holds the whole text: the last round's path may be fed again, and no more."""
    third = Round(emitted=(1,), prefix=(*TEXT, 9), tokens=(9,), parents=(-1,))
    assert not judged("WORK-01", FIRST, PLAIN, made(third, Call((8, 9), 4)))
    (sentence,) = judged("WORK-01", FIRST, PLAIN, made(third, Call((*TEXT, 9))))
    assert sentence == "a pass runs 4 tokens again, committed before the round before"


def test_a_target_that_nobody_saw_running_is_not_observable() -> None:
    """Where a graph is replayed no call is seen, and nothing is said of how many there were."""
    with pytest.raises(NothingToJudge, match="no call of the target"):
        judged("WORK-01", made(FIRST), made(PLAIN))


def test_a_target_that_sees_no_draft_has_verified_none() -> None:
    """A decoder that looks at no tree runs the target once a round over the root alone, which says nothing of trees."""
    with pytest.raises(NothingToJudge, match="no call of the target holds a draft"):
        judged("WORK-01", made(FIRST, Call((7,), 2)), PLAIN)


def test_only_the_target_is_counted() -> None:
    """A pass of the model counts, one of its copy does not, and the hook is gone behind the block, also after an exception."""
    model = ground().target.model
    with counted(model) as calls:
        cache = prefill(model, (1, 2, 3))
        prefill(copy.deepcopy(model), (4, 5))
        forward_with_cache(model, torch.tensor([[4]]), cache=cache)
    assert calls == [Call((1, 2, 3)), Call((4,), 3)]
    with pytest.raises(KeyError), counted(model) as calls:
        raise KeyError
    prefill(model, (1,))
    assert calls == []


@pytest.mark.parametrize("seam", [Seam.SESSION, Seam.TAP])
def test_a_hidden_pass_is_counted_through_every_seam(seam: Seam) -> None:
    """The tap reads rounds whose tree was run twice as it reads others, and counts two calls in each."""
    found = ground()
    case = (ROUNDS if seam is Seam.SESSION else PROMPTS).listed(found.stock.stage)[8]
    for name, factory, calls in (("right", ReferenceDecoder, 1), ("twice", FAULTS["hidden-second-pass"].decoder, 2)):
        target = found.target
        rounds = drive(factory(target), seam, case, target.vocab_size, model=target.model)
        assert {len(round_.calls or ()) for round_ in rounds} == {calls}, name
        assert tuple(t for r in rounds for t in r.emitted)


def test_a_session_of_several_requests_is_not_counted() -> None:
    """A call that several requests share belongs to none of them."""
    found, case = ground(), Case(prefix=(1, 2), trees=(TreeData((2,), (-1,)),), limits=Limits(9))
    target = found.target
    assert session_rounds(ReferenceDecoder(target), case, target.vocab_size)[0].calls is None
    assert session_rounds(ReferenceDecoder(target), case, target.vocab_size, target.model)[0].calls == (Call((2,), 1),)


@given(data=draft_tables(), k=st.integers(1, 4), levels=st.integers(1, 4))
def test_a_draft_counts_the_parents_of_each_depth(data: Any, k: int, levels: int) -> None:
    """Level-wise drafting asks about at most k parents a level and never below the last; asking again counts no more."""
    draft, policy = CountedDraft(data), TreeSpark(branching=k, frontier=k, depth=levels)
    tree = policy.pool(draft, 0).tree
    inner = [[v for v in range(len(tree)) if tree.depths[v] == d and v in tree.parents] for d in range(levels)]
    expected = tuple(len({int(tree.tokens[v]) for v in parents}) for parents in inner)
    assert all(asked >= due for asked, due in zip((*draft.stages, *[0] * levels), expected, strict=False))
    assert len(draft.stages) <= levels
    assert max(draft.stages) <= k
    before = draft.stages
    policy.build(draft, 0)
    assert draft.stages == before


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (Work(target_passes=1, packed=(2, 1), draft_passes=1), ""),
        (Work(), ""),
        (Work(packed=(3, 1)), "said to be packed"),
        (Work(packed=(2, 1, 0)), "said to be packed"),
        (Work(target_passes=2), "passes of the target"),
        (Work(draft_passes=2), "backbone is run more than once"),
    ],
    ids=str,
)
def test_stated_work_is_held_against_what_is_seen(work: Work, sentence: str) -> None:
    """What is stated must be what the tree and the calls show; what is not stated is not asked."""
    found = judged("WORK-02", msgspec.structs.replace(FIRST, work=work), policy=TreeSpark())
    assert [sentence in said for said in found] == [True] * bool(sentence)


def test_a_node_that_was_never_drafted_is_found() -> None:
    """Every node of the verified tree stands in the pool, with its own history."""
    pool = TreeData((7, 1, 2, 3, 4), (-1, 0, 0, 1, 2))
    (sentence,) = judged("WORK-02", msgspec.structs.replace(FIRST, work=Work(), pool=pool))
    assert "never drafted" in sentence
    whole = TreeData((7, 2, 4, 3, 1), (-1, 0, 1, 1, 0))
    assert not judged("WORK-02", msgspec.structs.replace(FIRST, work=Work(), pool=whole))


def test_stages_are_asked_of_treespark_alone() -> None:
    """Too many levels and too many parents are two findings; without the policy no bound is known."""
    asked = Round(emitted=(), work=Work(stages=(1, 5, 2)))
    assert len(judged("WORK-03", asked, policy=TreeSpark(depth=2))) == 2
    assert not judged("WORK-03", asked, policy=TreeSpark(frontier=5, depth=3))
    with pytest.raises(NothingToJudge):
        judged("WORK-03", asked, policy="eagle2")


def test_work_and_pool_are_read_strictly() -> None:
    """Mappings with arrays are read; an unknown count, a pool that is no tree, and told calls are refused by name."""
    shown = {"emitted": [1], "work": {"packed": [2, 1]}, "pool": {"tokens": [7, 1], "parents": [-1, 0]}}
    read = read_round(shown, (7,), None, 61)
    assert (read.work, read.pool) == (Work(packed=(2, 1)), TreeData((7, 1), (-1, 0)))
    for wrong, told in (
        ({"work": {"passes": 1}}, "work is .* unknown field `passes`"),
        ({"pool": {"tokens": [7, 1], "parents": [-1, 1]}}, r"pool.parents\[1\] is 1"),
        ({"peers": [{"accepted": [1]}]}, "missing required field `rank`"),
        ({"calls": []}, "counted at the target and not told"),
    ):
        with pytest.raises(AdapterError, match=told):
            read_round({"emitted": [1], **wrong}, (7,), None, 61)
