"""Claim: no draft changes a text; drafts that no ordinary drafter makes wake faults that ordinary ones leave asleep."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from grounds import ground, sentences, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle import ReferenceDecoder, load_target
from tree_oracle.adapters import describe
from tree_oracle.checks import choose, witness_of
from tree_oracle.checks.drafted import DRAFTED, DRAFTERS_ASKED
from tree_oracle.checks.drive import drive
from tree_oracle.checks.drive_drafts import rounds_by_requests
from tree_oracle.checks.scene import Stage
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.decoder import DRAFTERS, Parts, Seam, ToldDraft
from tree_oracle.decoder.parts import Decision, Rows
from tree_oracle.faults.drafter_faults import DRAFTER_FAULTS
from tree_oracle.record import Case, Limits, Round, Status, UsageError
from tree_oracle.run import Budget, run_battery
from tree_oracle.run.stock import Stock
from tree_oracle.run.subject import make_subject
from tree_oracle.target import SequentialTruth
from tree_oracle.tree import CandidateTree, Layout, lay_out

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
VOCAB = 61
TEXTS = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=8).map(tuple)


def siblings(tree: CandidateTree) -> list[list[int]]:
    below: dict[int, list[int]] = {}
    for token, parent in zip(tree.tokens.tolist()[1:], tree.parents.tolist()[1:], strict=True):
        below.setdefault(parent, []).append(token)
    return list(below.values())


def matched(tree: CandidateTree, text: tuple[int, ...]) -> int:
    """How many tokens of the text the best branch holds."""
    best = 0
    for leaf in range(len(tree)):
        tokens, node = [], leaf
        while node > 0:
            tokens.append(int(tree.tokens[node]))
            node = int(tree.parents[node])
        best = max(best, len(tokens)) if tuple(tokens[::-1]) == text[: len(tokens)] else best
    return best


@given(text=TEXTS, place=st.integers(0, 9), name=st.sampled_from(list(DRAFTERS)))
def test_a_drafter_does_what_its_name_says(text: tuple[int, ...], place: int, name: str) -> None:
    """At any place of any text its tree has the root asked for and the condition that it is for, and nothing is drafted twice
    but where that is the point."""
    prompt, special = (5, 3), (11, 2)
    prefix = (*prompt, *text[:place], *([9] * max(place - len(text), 0)))
    ahead = text[place : place + 3]
    tree = ToldDraft(name, prompt, text, VOCAB, special)(prefix)
    assert tree.tokens[0] == prefix[-1]
    if not ahead:
        assert len(tree) == 1
        return
    right = matched(tree, ahead)
    twice = any(len(set(few)) < len(few) for few in siblings(tree))
    assert twice == (name == "equal-siblings")
    assert (tree.edge_log_probs is not None) == name.startswith("over-confident")
    assert not name.endswith("-chain") or len(tree) == tree.max_depth + 1
    if name == "all-right":
        assert (right, len(tree)) == (len(ahead), len(ahead) + 1)
    elif name.startswith("all-wrong"):
        assert right == 0
        assert len(tree) > 1
    elif name.startswith(("partly-right", "over-confident")):
        assert right == place % (len(ahead) + 1)
        assert tree.edge_log_probs is None or not tree.edge_log_probs.any()
    elif name == "leaf-before-zero":
        assert right == max(ahead.index(0) if 0 in ahead else 1, 1)
        ending = [tree.tokens[list(tree.path(leaf))[1:]].tolist() for leaf in tree.leaves]
        assert list(ahead[:right]) in ending
        assert tree.max_depth == 3
    elif name == "special-tokens-chain":
        assert right == len(tree) - 2 == min(place % 2, len(ahead) - 1)
        assert tree.tokens[-1] in {0, VOCAB - 1, *special} - {ahead[right]}
    elif name == "special-tokens":
        assert all({0, VOCAB - 1, *special} <= set(few) for few in siblings(tree))
        assert right == min(2, len(ahead))
    elif name == "smaller-than-depth":
        assert len(tree) - 1 == min(place % 3, len(ahead)) == right
    else:
        assert right == min(2, len(ahead))


def test_an_unknown_drafter_is_refused() -> None:
    """A name that is none is answered with those that are."""
    with pytest.raises(UsageError, match="no drafter is named 'lazy'; expected one of all-right, all-wrong"):
        ToldDraft("lazy", (1,), (2,), VOCAB)


def test_every_drafter_is_handed_over_and_its_drafts_are_verified() -> None:
    """The listed cases have each drafter through both seams, and each shows by itself that drafts were verified."""
    found = ground()
    decoder = ReferenceDecoder(found.target)
    for scene, seam in ((DRAFTERS_ASKED, Seam.GENERATE), (DRAFTED, Seam.SESSION)):
        cases = found.stock.of(scene)
        assert [case.note for case in cases] == [f"{name} drafts" for name in DRAFTERS]
        for case in cases:
            seen = witness_of(drive(decoder, seam, case, VOCAB, model=decoder.target.model))
            assert seen.drafted > 0, case.note
            assert (seen.accepted > 0) == (not case.note.startswith("all-wrong")), case.note


@pytest.mark.parametrize("fault", DRAFTER_FAULTS, ids=lambda fault: fault.name)
def test_ordinary_drafts_leave_these_faults_asleep(fault: Any) -> None:
    """Whole texts and scripted rounds on ordinary drafts are right with the fault in them."""
    found = ground()
    ordinary = [*found.stock.of(PROMPTS)[::4], *found.stock.of(ROUNDS)[::12]]
    report = run_battery(found.subject(fault.decoder), choose(ids=["SEQUENCE-01"]), QUICK, cases=ordinary)
    assert statuses(report) == {"SEQUENCE-01": Status.PASSED}, sentences(report)
    woken = [*found.stock.of(DRAFTED), *found.stock.of(DRAFTERS_ASKED)]
    report = run_battery(found.subject(fault.decoder), choose(ids=["SEQUENCE-02"]), QUICK, cases=woken)
    assert statuses(report) == {"SEQUENCE-02": Status.FAILED}, sentences(report)


def plain(spoil: bool) -> Any:
    """A decoder that shows nothing but tokens: it takes drafts, and walks by plain runs of the target."""

    def factory(target: Any) -> Any:
        reference = ReferenceDecoder(target)

        def text(prompt: list[int], max_new_tokens: int, eos_ids: list[int], draft: Any) -> list[int]:
            out: list[int] = []
            while len(out) < max_new_tokens and not (out and out[-1] in eos_ids):
                tree = draft((*prompt, *out))
                (round_,) = reference.open([[*prompt, *out]], Limits(1 << 20)).step([tree])
                for token in round_.emitted[: 1 if spoil and len(tree) == 7 else None]:
                    out.append(token)
                    if token in eos_ids or len(out) == max_new_tokens:
                        break
            return [*out[:-1], 0] if spoil else out

        return describe(text=text)(target)

    return factory


def test_a_decoder_that_shows_tokens_alone_is_judged_by_what_it_asks_for() -> None:
    """Requests for drafts show its rounds, so that a right text is passed and a wrong one is not."""
    right = ground().report(plain(False), "SEQUENCE-02", budget=QUICK)
    assert statuses(right) == {"SEQUENCE-02": Status.PASSED}, sentences(right)
    assert right.witness.drafted > 0
    assert statuses(ground().report(plain(True), "SEQUENCE-02", budget=QUICK)) == {"SEQUENCE-02": Status.FAILED}


def test_what_is_not_asked_for_is_not_observable() -> None:
    """A decoder without the parameter, or one that takes a draft and never asks it, shows nothing of drafts."""
    target = ground().target
    texts = with_methods(generate=lambda prompts, limits: ReferenceDecoder(target).generate(prompts, limits))
    deaf = with_methods(generate=lambda prompts, limits, draft: ReferenceDecoder(target).generate(prompts, limits))
    for decoder, words in ((texts, "no parameter draft"), (deaf, "never asked for a draft")):
        report = ground().report(lambda _, made=decoder: made, "SEQUENCE-02", budget=QUICK)
        assert statuses(report) == {"SEQUENCE-02": Status.NOT_OBSERVABLE}
        assert any(words in one for one in sentences(report))


@given(text=TEXTS, data=st.data())
def test_requests_along_a_text_are_its_rounds(text: tuple[int, ...], data: st.DataObject) -> None:
    """Requests cut a text into the rounds between them; requests that do not lie along it say nothing."""
    prompt, root = (4, 4), CandidateTree([4], [-1])
    starts = sorted(data.draw(st.sets(st.integers(0, len(text) - 1), min_size=1)))
    asked = [((*prompt, *text[:start]), root) for start in starts]
    rounds = rounds_by_requests(asked, prompt, text)
    assert rounds is not None
    assert tuple(token for one in rounds for token in one.emitted) == text
    assert [len(one.prefix or ()) - 2 for one in rounds if one.tokens] == starts
    assert sum(one.tokens is None for one in rounds) == (starts[0] > 0)
    assert rounds_by_requests([*asked, asked[0]], prompt, text) is None
    assert rounds_by_requests([((*prompt, *text[: starts[0]], 99), root)], prompt, text) is None


def one_branch(accepts: Callable[[int, int], bool]) -> Any:
    """A decoder that takes one branch alone, and accepts a node where that is said of its token and the target's choice."""

    def walk(tree: CandidateTree, rows: Rows) -> Decision:
        if len(tree) > tree.max_depth + 1:
            raise NotImplementedError("only chains are supported")
        here, choices = 0, rows.argmax(axis=1).tolist()
        while here + 1 < len(tree) and accepts(int(tree.tokens[here + 1]), choices[here]):
            here += 1
        return Decision(tuple(range(1, here + 1)), choices[here])

    return lambda target: ReferenceDecoder(target, Parts(walk=walk))


PAD = 29
WRONG_CHAINS = ("all-wrong-chain", "partly-right-chain", "over-confident-chain", "special-tokens-chain")


@pytest.mark.parametrize(
    ("accepts", "wakes"),
    [
        (lambda token, choice: token == choice, ()),
        (lambda token, choice: True, WRONG_CHAINS),
        (lambda token, choice: token in (choice, PAD), ("special-tokens-chain",)),
    ],
    ids=["right", "trusting", "padding accepted"],
)
def test_a_decoder_of_chains_is_given_wrong_drafts(accepts: Callable[[int, int], bool], wakes: tuple[str, ...]) -> None:
    """Chains have wrong drafts of their own, with the target's own number for padding among them: only these tell."""
    target = load_target("exact")
    target.model.config.pad_token_id = PAD
    truth = SequentialTruth(target)
    subject, stock = make_subject(one_branch(accepts), target, truth=truth), Stock(Stage(truth), cases=0)
    for name in ("all-right", "smaller-than-depth", *WRONG_CHAINS):
        cases = [case for case in stock.of(DRAFTED) if case.note == f"{name} drafts"]
        report = run_battery(subject, choose(ids=["SEQUENCE-02"]), QUICK, cases=cases)
        assert statuses(report) == {"SEQUENCE-02": Status.FAILED if name in wakes else Status.PASSED}, name


def test_a_case_with_a_drafter_is_replayed_from_its_file() -> None:
    """The case holds the drafts' text, so that nothing but the case is needed to draft the same trees again."""
    import msgspec

    case = ground().stock.of(DRAFTERS_ASKED)[2]
    again = msgspec.json.decode(msgspec.json.encode(case), type=Case)
    decoder = ReferenceDecoder(ground().target)
    first, second = (drive(decoder, Seam.GENERATE, one, VOCAB) for one in (case, again))
    assert [one.tokens for one in first] == [one.tokens for one in second]
    assert isinstance(first[0], Round)


@given(text=st.lists(st.integers(0, VOCAB - 1), min_size=4, max_size=8).map(tuple), place=st.integers(0, 1))
def test_two_shapes_of_one_size_follow_each_other(text: tuple[int, ...], place: int) -> None:
    """What is accepted takes three tokens, behind which the other of two shapes stands, with as many nodes and duplicates too."""
    draft = ToldDraft("equal-siblings", (5,), text, VOCAB)
    one, other = (draft((5, *text[:count])) for count in (place, place + 1))
    assert len(one) == len(other) == 7
    assert one.parents.tolist() != other.parents.tolist()


class KeptByCount:
    """The mask among the nodes is that of the round before, where that has as many; forgotten with each request."""

    def __init__(self) -> None:
        self._prefix, self._kept = 0, np.zeros((0, 0), dtype=np.bool_)

    def __call__(self, tree: CandidateTree, prefix_len: int) -> Layout:
        found, count = lay_out(tree, prefix_len), len(tree)
        own = found.visible[:, -count:].copy()
        if prefix_len > self._prefix and len(self._kept) == count:
            visible = np.concatenate([found.visible[:, :-count], self._kept], axis=1)
            found = Layout(found.positions, visible, found.score_rows)
        self._prefix, self._kept = prefix_len, own
        return found


@pytest.mark.parametrize("kept", [True, False])
def test_a_mask_kept_by_the_number_of_nodes_changes_a_text(kept: bool) -> None:
    """Seen by texts alone, on drafts that are handed over; the same decoder that makes each mask anew passes."""

    def factory(target: Any) -> Any:
        def generate(prompts: Any, limits: Limits, draft: Any = None) -> list[list[int]]:
            parts = Parts(lay_out=KeptByCount()) if kept else Parts()
            inner = ReferenceDecoder(replace(target, model=copy.deepcopy(target.model)), parts)
            return [
                [token for one in rounds for token in one.emitted]
                for rounds in inner.generate(prompts, limits, draft=draft)
            ]

        return with_methods(generate=generate)

    report = ground().report(factory, "SEQUENCE-02")
    assert statuses(report)["SEQUENCE-02"] is (Status.FAILED if kept else Status.PASSED)
    assert not kept or "is token" in sentences(report)[0] or "emit" in sentences(report)[0], sentences(report)


def seen_by_equals(tree: CandidateTree, prefix_len: int) -> Layout:
    """A node sees the first of its siblings that holds its token."""
    found = lay_out(tree, prefix_len)
    visible, first = found.visible.copy(), dict[tuple[int, int], int]()
    for node, place in enumerate(zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True)):
        visible[node, visible.shape[1] - len(tree) + first.setdefault(place, node)] = True
    return Layout(found.positions, visible, found.score_rows)


@pytest.mark.parametrize("method", ["open", "generate"])
@pytest.mark.parametrize("wrong", [True, False])
def test_what_goes_wrong_among_equal_siblings_alone_is_seen(method: str, wrong: bool) -> None:
    """No ordinary tree has a token twice below one parent: mask and rows are judged on drafts that have; the right decoder passes."""

    def factory(target: Any) -> Any:
        inner = ReferenceDecoder(target, Parts(lay_out=seen_by_equals) if wrong else Parts())
        return with_methods(**{method: getattr(inner, method)})

    found = statuses(ground().report(factory, "VISIBLE-03", "HISTORY-01"))
    assert set(found.values()) == {Status.FAILED if wrong else Status.PASSED}
