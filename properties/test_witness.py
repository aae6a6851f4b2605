"""WITNESS: that speculation ran is shown and not assumed, every token follows a pass that was seen, and counters claim no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import gt
from typing import Any

import pytest
import torch
from grounds import all_of, ground, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from transformers import DynamicCache

from tree_oracle.checks import CHECKS, View, choose, witness_of
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.checks.view import text_of
from tree_oracle.checks.witness import COUNTERS, claims_of, speculated
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import Call, Case, EndReason, Limits, Report, Round, Status, TreeData, Work
from tree_oracle.run import Budget, run_battery
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
FAMILY = ("WITNESS-01", "WITNESS-02", "WITNESS-03")
GENERATION = Case(prefix=(5, 6), limits=Limits(9))


def judged(check: str, *rounds: Round, case: Case = GENERATION) -> list[str]:
    return [found.sentence for found in CHECKS[check].judge(View(case, rounds, ground().truth))]


# ------------------------------------------------------------------------------------------------------- made-up rounds


@st.composite
def texts(draw: st.DrawFn) -> list[Round]:
    """Rounds over any trees, each accepting some path and emitting one token more, as a decoder would show them."""
    rounds, prefix = list[Round](), (5, 6)
    for tree in draw(st.lists(candidate_trees(vocab_size=61, max_nodes=5), min_size=1, max_size=3)):
        tokens = (prefix[-1], *tree.tokens.tolist()[1:])
        path = tuple(int(v) for v in tree.path(draw(st.integers(0, len(tree) - 1))))[1:]
        emitted = (*(tokens[v] for v in path), draw(st.integers(0, 60)))
        rounds.append(
            Round(
                emitted=emitted,
                prefix=prefix,
                tokens=tokens,
                parents=tuple(tree.parents.tolist()),
                accepted=path,
                calls=(Call(tokens, len(prefix) - 1),),
            )
        )
        prefix = (*prefix, *emitted)
    return rounds


def ran(rounds: Sequence[Round]) -> tuple[int, int, int]:
    """Counted by hand."""
    trees = [round_.tokens or () for round_ in rounds]
    accepted = sum(len(round_.accepted or ()) for round_ in rounds)
    return sum(len(tree) > 1 for tree in trees), sum(map(len, trees)) - len(trees), accepted


@given(rounds=texts(), more=st.sampled_from([(0, 0, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, -1)]))
def test_counters_may_claim_what_ran_and_less(rounds: list[Round], more: tuple[int, int, int]) -> None:
    """A claim fails if and only if one of its sums is larger than what the rounds hold; of accepted tokens by their last tree."""
    counts = [sum(pair) for pair in zip(ran(rounds), more, strict=True)]
    claim = Work(rounds=counts[0], drafted=counts[1], accepted=counts[2])
    found = judged("WITNESS-03", *rounds[:-1], replace(rounds[-1], work=claim))
    assert bool(found) == (max(more) > 0), found


@given(texts(), st.data())
def test_each_round_claims_its_own(rounds: list[Round], data: st.DataObject) -> None:
    """Where several rounds state counters each is held against what it holds itself, though the sums be right."""
    own = [ran([round_]) for round_ in rounds]
    told = data.draw(st.sampled_from([own, [(0, 0, 0), *own[:-1]], [*own[1:], (0, 0, 0)]]))
    stating = [
        replace(round_, work=Work(rounds=a, drafted=b, accepted=c))
        for round_, (a, b, c) in zip(rounds, told, strict=True)
    ]
    most = [(*counts[:2], accepted_at_most(round_, rounds)) for round_, counts in zip(rounds, own, strict=True)]
    beyond = [place for place, pair in enumerate(zip(told, most, strict=True)) if any(map(gt, *pair))]
    found = list(CHECKS["WITNESS-03"].judge(View(GENERATION, tuple(stating), ground().truth)))
    assert [finding.round for finding in found] == beyond[:1]


def accepted_at_most(round_: Round, rounds: Sequence[Round]) -> int:
    """Of the last round, which a limit may have cut, all that its tree could hold."""
    depths = [0]
    for parent in (round_.parents or ())[1:]:
        depths.append(depths[parent] + 1)
    return max(depths) if round_ is rounds[-1] else len(round_.accepted or ())


def test_a_pool_that_is_counted_as_drafted_is_told_what_counts() -> None:
    """More candidates made than packed: the finding says what is counted, and knows the pool by its size where it is shown."""
    tree: dict[str, Any] = {"prefix": (5, 6), "tokens": (6, 1), "parents": (-1, 0), "accepted": (1,)}
    claim = Round(emitted=(1, 9), work=Work(drafted=3), **tree)
    pooled = replace(claim, pool=TreeData((6, 1, 2, 3), (-1, 0, 0, 1)))
    said = [
        found.expected
        for round_ in (claim, pooled)
        for found in CHECKS["WITNESS-03"].judge(View(GENERATION, (round_,), ground().truth))
    ]
    counted = "at most 1, by what the rounds hold: the candidates that a pass verified, not all that were made"
    assert said == [counted, f"{counted}; 3 is the pool that the tree was packed from"]


def test_tokens_claimed_as_accepted_must_have_been_in_the_tree() -> None:
    """A bonus that is counted as accepted is a claim too many; what a limit cut off may be counted."""
    chain: dict[str, Any] = {"prefix": (5, 6), "tokens": (6, 1, 2), "parents": (-1, 0, 1)}
    first = Round(emitted=(1, 9), accepted=(1,), work=Work(accepted=2), **chain)
    last = Round(emitted=(3,), prefix=(5, 6, 1, 9), tokens=(9,), parents=(-1,), accepted=())
    assert judged("WITNESS-03", first, last) == ["2 accepted tokens are claimed, and at most 1 can have been"]
    assert not judged(
        "WITNESS-03", Round(emitted=(1,), end=EndReason.CAP, accepted=(1,), work=Work(accepted=2), **chain)
    )


@given(texts(), st.data())
def test_a_token_that_no_pass_ran_is_missed(rounds: list[Round], data: st.DataObject) -> None:
    """With the calls as they were every token is accounted for; without those of a round that accepts something it is not."""
    assert not judged("WITNESS-02", *rounds)
    busy = [place for place, round_ in enumerate(rounds) if round_.accepted]
    if busy and len(rounds) > 1:
        place = data.draw(st.sampled_from(busy))
        hidden = [
            replace(r, calls=()) if at == place else replace(r, calls=(Call((60, 60)),)) for at, r in enumerate(rounds)
        ]
        assert judged("WITNESS-02", *hidden)
        unreadable = [replace(round_, calls=(Call(()),)) for round_ in rounds]
        assert not judged("WITNESS-02", *unreadable)  # a batch: what it held nobody read


def test_where_no_call_is_seen_nothing_is_accounted_for() -> None:
    """A target that runs where nobody looks is not observable, and neither is one whose counters are not stated."""
    silent = Round(emitted=(1,), prefix=(5, 6), tokens=(6,), parents=(-1,), calls=())
    with pytest.raises(NothingToJudge, match="no call of the target was seen"):
        judged("WITNESS-02", silent)
    with pytest.raises(NothingToJudge, match="no counter of rounds, drafted or accepted tokens is stated"):
        judged("WITNESS-03", silent)


@pytest.mark.parametrize(
    ("rounds", "shown"),
    [
        ((Round(emitted=(1, 2, 3)),), False),
        ((Round(emitted=(1,)), Round(emitted=(2,))), False),
        ((Round(emitted=(1, 2)), Round(emitted=(3,))), True),
        ((Round(emitted=(1, 2, 3), work=Work(rounds=2, drafted=5, accepted=1)),), True),
        ((Round(emitted=(1, 2, 3), work=Work(rounds=2, drafted=0)),), False),
        ((Round(emitted=(1,), tokens=(6,), parents=(-1,), accepted=()),), False),
        ((Round(emitted=(1,), tokens=(6, 2), parents=(-1, 0), accepted=()),), True),
    ],
)
def test_what_is_a_witness(rounds: tuple[Round, ...], shown: bool) -> None:
    """A tree, an accepted node, counters of a draft, or steps of several tokens; no lump, no plain step, no tree of a root."""
    assert speculated(GENERATION, rounds) is shown
    seen = witness_of(rounds)
    assert bool(seen.drafted or seen.accepted) is shown


def test_trees_that_are_handed_over_must_be_run_together() -> None:
    """Passes over one token each verify no tree of two candidates; where no pass is seen, what is accepted is the witness."""
    case = Case(prefix=(5, 6), trees=(TreeData((6, 1, 2), (-1, 0, 0)),))
    plain = Round(emitted=(1, 3), prefix=(5, 6), tokens=(6, 1, 2), parents=(-1, 0, 0), accepted=(1,))
    (said,) = judged("WITNESS-01", replace(plain, calls=(Call((6,), 1), Call((1,), 2))), case=case)
    assert "no pass of the target scores more than one token" in said
    assert not judged("WITNESS-01", replace(plain, calls=(Call((6, 1, 2), 1),)), case=case)
    assert not judged("WITNESS-01", plain, case=case)
    with pytest.raises(NothingToJudge, match="no witness"):
        judged("WITNESS-01", replace(plain, emitted=(1,), accepted=None), case=case)


# ------------------------------------------------------------------------------------------------------- whole decoders


def plainly(target: Target, prompt: Sequence[int], limits: Limits) -> list[int]:
    """Plain decoding with a cache, to the first of its ends."""
    text, cache, out = list(prompt), DynamicCache(), list[int]()
    with torch.no_grad():
        while len(out) < limits.max_new_tokens and not (out and out[-1] in limits.eos_ids):
            ids = torch.tensor([text if not out else text[-1:]])
            out.append(int(target.model(ids, past_key_values=cache).logits[0, -1].argmax()))
            text.append(out[-1])
    return out


def answering(answer: Callable[[Sequence[int], list[int]], Any]) -> Callable[[Target], Any]:
    """A decoder that decodes plainly and answers as it likes."""
    return lambda target: with_methods(
        generate=lambda prompts, limits: [answer(prompt, plainly(target, prompt, limits)) for prompt in prompts]
    )


def lump_with_counters(prompt: Sequence[int], text: list[int]) -> list[dict[str, Any]]:
    return [{"emitted": text, "work": {"rounds": 1, "drafted": len(text), "accepted": len(text) - 1}}]


def made_up_rounds(prompt: Sequence[int], text: list[int]) -> list[dict[str, Any]]:
    """As if every second token had been drafted beside another one."""
    rounds, root = [], prompt[-1]
    for place in range(0, len(text), 2):
        new = text[place : place + 2]
        rounds.append(
            {
                "emitted": new,
                "tokens": [root, new[0], 60 - new[0]],
                "parents": [-1, 0, 0],
                "accepted": [1][: len(new) - 1],
            }
        )
        root = new[-1]
    return rounds


def of_some(made: Callable[[Target], Any]) -> Report:
    """The family on some prompts, alone and together."""
    found = ground()
    few = [*found.stock.of(PROMPTS)[::4], *found.stock.of(PROMPT_BATCHES)[::2]]
    return run_battery(found.subject(made), choose(ids=FAMILY), QUICK, cases=few, stock=found.stock)


@pytest.mark.parametrize("answer", [lump_with_counters, made_up_rounds])
def test_a_record_of_rounds_that_did_not_run_is_caught(answer: Callable[..., Any]) -> None:
    """The text is right and the record looks like speculation; the target was never asked about a draft, and that fails."""
    report = of_some(answering(answer))
    assert statuses(report)["WITNESS-03"] is Status.FAILED
    assert report.exit_code == 1


def test_a_text_without_a_claim_claims_nothing() -> None:
    """The same plain decoder that says nothing of rounds has not failed, and nothing is passed either but what the tap accounts for."""
    report = of_some(answering(lambda prompt, text: text))
    assert set(statuses(report).values()) == {Status.NOT_OBSERVABLE}
    assert report.exit_code == 4


def test_counters_are_a_witness() -> None:
    """A decoder that shows its text and true counters is judged by its text; without them it is not observable."""
    target = ground().target

    def counted(prompts: Sequence[Sequence[int]], limits: Limits) -> list[Any]:
        texts = ReferenceDecoder(target).generate(prompts, limits)
        counts = [dict(zip(COUNTERS, ran(rounds), strict=True)) for rounds in texts]
        return [[{"emitted": text_of(rounds), "work": work}] for rounds, work in zip(texts, counts, strict=True)]

    found, few = ground(), ground().stock.of(PROMPTS)[::4]
    asked = choose(ids=["SEQUENCE-01", "WITNESS-01"])
    report = run_battery(found.subject(with_methods(generate=counted)), asked, QUICK, cases=few, stock=found.stock)
    assert all_of(report, Status.PASSED)
    assert report.witness.drafted > report.witness.accepted > 0


Counts = tuple[int, int, int]


def with_counters(change: Callable[[list[list[Counts]]], list[list[Counts]]]) -> Callable[[Target], Any]:
    """A tree decoder that shows its rounds with true counters, or with what ``change`` makes of those of all its requests."""

    def generate(target: Target, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        texts = ReferenceDecoder(target).generate(prompts, limits)
        counts = change([[ran([round_]) for round_ in rounds] for rounds in texts])
        return [
            [replace(r, work=Work(rounds=a, drafted=b, accepted=c)) for r, (a, b, c) in zip(rounds, told, strict=True)]
            for rounds, told in zip(texts, counts, strict=True)
        ]

    return lambda target: with_methods(generate=lambda *asked: generate(target, *asked))


def late(counts: list[list[Counts]]) -> list[list[Counts]]:
    return [[(0, 0, 0), *told[:-1]] for told in counts]


def all_on_the_first(counts: list[list[Counts]]) -> list[list[Counts]]:
    """In a batch, the counters of all requests on the first one."""
    first, *others = [[tuple(map(sum, zip(*told, strict=True)))] + [(0, 0, 0)] * (len(told) - 1) for told in counts]
    if not others:
        return counts
    total = tuple(map(sum, zip(first[0], *(told[0] for told in others), strict=True)))
    return [[total, *first[1:]], *([(0, 0, 0)] * len(told) for told in others)]  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("change", "status"), [(late, Status.FAILED), (all_on_the_first, Status.FAILED), (list, Status.PASSED)]
)
def test_counters_of_another_round_or_request_are_caught(change: Callable[..., Any], status: Status) -> None:
    """Counters that are one round late, or a batch's that stand with its first request, fail; true ones pass."""
    found = ground()
    few = [*found.stock.of(PROMPTS)[::4], *found.stock.of(PROMPT_BATCHES)]
    subject = found.subject(with_counters(change))
    report = run_battery(subject, choose(ids=["WITNESS-03"]), QUICK, cases=few, stock=found.stock)
    assert all_of(report, status)


def test_drafts_of_a_tree_are_no_candidates_of_a_root() -> None:
    """A tree of the root alone is no draft: such rounds are passed by nobody as speculation."""
    root = CandidateTree(tokens=[6], parents=[-1])
    assert claims_of([Round(emitted=(1,), tokens=tuple(root.tokens.tolist()), parents=(-1,), accepted=())]) is None


def test_a_round_behind_the_end_claims_nothing() -> None:
    """A draft that was verified for tokens that were all cut off is not looked for, and not claimed."""
    tree: dict[str, Any] = {"tokens": (6, 1), "parents": (-1, 0), "accepted": (1,)}
    assert claims_of([Round(emitted=(), **tree)]) is None
    assert claims_of([Round(emitted=(1, 9), **tree), Round(emitted=(), **tree)]) == Work(
        rounds=1, drafted=1, accepted=1
    )


class DraftsItself:
    """A right decoder whose drafts are the target's own, over one cache or two: ``fresh`` verifies over a new cache each time."""

    def __init__(self, target: Target, fresh: bool = False) -> None:
        self._model, self._fresh = target.model, fresh

    def _run(self, tokens: Sequence[int], cache: Any) -> tuple[list[int], Any]:
        with torch.no_grad():
            made = self._model(torch.tensor([list(tokens)]), past_key_values=cache, use_cache=True)
        return made.logits[0].argmax(dim=-1).tolist(), made.past_key_values

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        if len(prompts) > 1 or limits.eos_ids or limits.stop or limits.min_new or limits.max_length is not None:
            raise NotImplementedError("one prompt and a number of tokens")
        text, left, rounds, cache, held = list(prompts[0]), limits.max_new_tokens, list[Round](), None, 0
        while left:
            first, own = self._run(text, None)
            second, _ = self._run(first[-1:], own)
            draft = (first[-1], second[-1])
            cache, held = (None, 0) if self._fresh else (cache, held)
            best, cache = self._run([*text[held:], *draft], cache)
            choices = best[-3:]
            right = 0 if choices[0] != draft[0] else 1 if choices[1] != draft[1] else 2
            cache.crop(right - 2) if right < 2 else None
            new = (*draft[:right], choices[right])[:left]
            tokens, accepted = (text[-1], *draft), tuple(range(1, right + 1))
            rounds.append(Round(emitted=new, tokens=tokens, parents=(-1, 0, 1), accepted=accepted))
            held, left = len(text) + right, left - len(new)
            text += new
        return [rounds]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_right_claim_is_never_called_false(fresh: bool) -> None:
    """Where the tap reads the draft's own stream, or cannot follow a cache that is begun anew, true claims are no failure."""
    asked = choose(ids=["WITNESS-01", "WITNESS-03", "SEQUENCE-01"])
    subject = ground().subject(lambda target: DraftsItself(target, fresh))
    found = statuses(run_battery(subject, asked, QUICK, cases=ground().stock.of(PROMPTS)[::2]))
    assert found.pop("WITNESS-03") in (Status.PASSED, Status.NOT_OBSERVABLE)
    assert found == {"WITNESS-01": Status.PASSED, "SEQUENCE-01": Status.PASSED}
