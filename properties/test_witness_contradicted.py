"""What the target was seen to run has the last word: plain decoding is no witness, however its tokens are handed over."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from grounds import all_of, ground, result_of, statuses, with_methods
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DynamicCache

from tree_oracle.checks import choose
from tree_oracle.checks.passes import Passes, passes_of
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.scenes import PROMPTS, ROUNDS
from tree_oracle.checks.witness import contradiction
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.decoder.tap_count import counted
from tree_oracle.decoder.tap_slip import is_over, slipped
from tree_oracle.record import Call, Limits, Report, Round, Status, Work
from tree_oracle.report.certificate.claims import may_not_say
from tree_oracle.report.words import witness_words
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.strategies import candidate_trees
from tree_oracle.target import Target
from tree_oracle.tree import CandidateTree

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
ASKED = choose(ids=["SEQUENCE-01", "METRIC-01", "WITNESS-01", "WITNESS-03"])
Tokens = tuple[int, ...]
texts = st.lists(st.integers(0, 9), min_size=1, max_size=9).map(tuple)

# ------------------------------------------------------------------------------------------------------ made-up calls


@st.composite
def plain_calls(draw: st.DrawFn, prompt: Tokens, emitted: Tokens) -> list[Call]:
    """Those of plain decoding: the prompt in pieces and one token at a time, or all again for each, and a few behind the end."""
    text = (*prompt, *emitted, *draw(texts))
    end = len(prompt) + len(emitted) - 1 + draw(st.integers(0, 2))
    if draw(st.booleans()):
        return [Call(text[:count]) for count in range(len(prompt), end + 1)]
    cuts = sorted(draw(st.sets(st.integers(1, len(prompt)))) | {0, len(prompt)})
    pieces = [Call(text[a:b], a) for a, b in zip(cuts, cuts[1:], strict=False)]
    return [*pieces, *(Call((text[at],), at) for at in range(len(prompt), end))]


@given(texts, texts, st.data())
def test_plain_decoding_is_known_by_its_calls(prompt: Tokens, emitted: Tokens, data: st.DataObject) -> None:
    """With a cache, without one and beyond its end; and where one of its calls is not seen, not every token is accounted for."""
    calls = data.draw(plain_calls(prompt, emitted))
    assert passes_of(calls, [(prompt, emitted)]) is Passes.PLAIN
    warmed = [Call((prompt[0] + 1, *data.draw(texts))), *calls]
    assert passes_of(warmed, [(prompt, emitted)]) is Passes.PLAIN
    assert passes_of(warmed[:1], [(prompt, emitted)]) is Passes.DRAFT
    needed = [
        at for at, call in enumerate(calls) if len(prompt) <= call.past + len(call.tokens) < len(prompt + emitted)
    ]
    left_out = data.draw(st.sampled_from(needed))
    assert passes_of(calls[:left_out] + calls[left_out + 1 :], [(prompt, emitted)]) is not Passes.PLAIN


@given(texts, texts, st.data())
def test_a_draft_is_seen_wherever_it_is_scored(prompt: Tokens, emitted: Tokens, data: st.DataObject) -> None:
    """Behind any call of plain decoding, over any rows: the root or the whole text and a candidate, right or wrong."""
    calls = data.draw(plain_calls(prompt, emitted))
    at = data.draw(st.integers(0, len(emitted) - 1))
    known = (*prompt, *emitted[:at])
    past = data.draw(st.sampled_from([0, len(known) - 1]))
    draft = Call((*known[past:], data.draw(st.integers(0, 9))), past)
    place = next(i for i, call in enumerate(calls) if call.past + len(call.tokens) == len(known))
    assert passes_of([*calls[:place], draft, *calls[place:]], [(prompt, emitted)]) is Passes.TWICE
    unreadable = Call((), past)
    assert passes_of([*calls, unreadable], [(prompt, emitted)]) is Passes.TWICE


def test_what_is_not_seen_contradicts_no_claim() -> None:
    """Steps alone need a pass that was seen, or nobody who could see one; a claim stands until plain decoding is seen."""
    steps = [Round(emitted=(1, 2)), Round(emitted=(3,))]
    claims = [Round(emitted=(1, 2, 3), work=Work(rounds=1, drafted=2, accepted=2))]
    said = {
        passes: (bool(contradiction(steps, passes)), bool(contradiction(claims, passes))) for passes in (*Passes, None)
    }
    assert said == {
        Passes.DRAFT: (False, False),
        Passes.TWICE: (True, False),
        Passes.PLAIN: (True, True),
        Passes.UNSEEN: (True, False),
        Passes.BESIDE: (True, True),
        Passes.LED: (True, True),
        Passes.IGNORED: (True, True),
        Passes.UNHEEDED: (True, False),
        None: (False, False),
    }
    assert passes_of([], [((5,), (1, 2, 3))]) is Passes.UNSEEN


# -------------------------------------------------------------------------------------------- decoders that speculate


# An example is a whole generation or two.
@settings(max_examples=10)
@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5).map(tuple), min_size=1, max_size=2, unique=True),
    candidate_trees(vocab_size=61, max_nodes=5),
    st.integers(1, 7),
)
def test_whoever_speculates_is_seen_to(prompts: list[Tokens], tree: CandidateTree, cap: int) -> None:
    """Over any trees and chains, for one prompt and several: a pass that scores a draft is seen if and only if there is one."""
    target = ground().target
    decoder = ReferenceDecoder(
        target, draft=lambda prefix: CandidateTree([prefix[-1], *tree.tokens[1:].tolist()], tree.parents.tolist())
    )
    with counted(target.model) as calls:
        answered = decoder.generate(prompts, Limits(cap))
    shown = [
        (prompt, tuple(token for round_ in rounds for token in round_.emitted))
        for prompt, rounds in zip(prompts, answered, strict=True)
    ]
    assert passes_of(calls, shown) is (Passes.DRAFT if len(tree) > 1 else Passes.PLAIN)


# ------------------------------------------------------------------------------------------------- whole decoders, twice


class Plain:
    """Plain greedy decoding, with a cache or without: rounds of one token."""

    def __init__(self, target: Target, *, cached: bool = True) -> None:
        self._model, self._cached = target.model, cached

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        return [[Round(emitted=(token,)) for token in self._text(list(prompt), limits)] for prompt in prompts]

    def _text(self, text: list[int], limits: Limits) -> list[int]:
        out, cache, most = list[int](), DynamicCache(), limits.max_length or 10**6
        with torch.no_grad():
            while len(out) < limits.max_new_tokens and len(text) < most and not (out and out[-1] in limits.eos_ids):
                ids = torch.tensor([text[-1:] if out and self._cached else text])
                rows = self._model(ids, **({"past_key_values": cache} if self._cached else {})).logits
                out.append(int(rows[0, -1].argmax()))
                text.append(out[-1])
        return out


class Hidden(Plain):
    """On a copy of the model, of which nobody sees a call."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._model = copy.deepcopy(target.model)


class DraftsBeside(Plain):
    """Before the text a draft is made and scored over all of the prompt, which nobody looks at."""

    def _text(self, text: list[int], limits: Limits) -> list[int]:
        drafts = copy.copy(text)
        with torch.no_grad():
            for _ in range(3):
                drafts.append(int(self._model(torch.tensor([drafts])).logits[0, -1].argmin()))
        return super()._text(text, limits)


class SelfDrafting:
    """The target drafts two tokens for itself and verifies them, all without a cache; its first token is decoded plainly if asked."""

    def __init__(self, target: Target, *, first: int = 0) -> None:
        self._model, self._first = target.model, first

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        return [self._rounds(list(prompt), len(prompt), limits) for prompt in prompts]

    def _rounds(self, text: list[int], start: int, limits: Limits) -> list[Round]:
        end, rounds = start + limits.max_new_tokens, list[Round]()
        if limits.max_length is not None:
            end = min(end, limits.max_length)
        while len(text) < end and not (len(text) > start and text[-1] in limits.eos_ids):
            drafts = list[int]()
            while len(drafts) < (2 if len(text) >= start + self._first else 0):
                drafts.append(self._best([*text, *drafts])[-1])
            best = self._best([*text, *drafts])[len(text) - 1 :]
            right = next((i for i, token in enumerate(drafts) if token != best[i]), len(drafts))
            new = [*drafts[:right], best[right]][: end - len(text)]
            new = new[: next((i + 1 for i, token in enumerate(new) if token in limits.eos_ids), len(new))]
            path = tuple(range(1, right + 1))
            rounds.append(
                Round(
                    emitted=tuple(new),
                    tokens=(text[-1], *drafts),
                    parents=tuple(range(-1, len(drafts))),
                    accepted=path,
                )
            )
            text = [*text, *new]
        return rounds or [Round(emitted=())]

    def _best(self, text: list[int]) -> list[int]:
        with torch.no_grad():
            best: list[int] = self._model(torch.tensor([text])).logits[0].argmax(dim=-1).tolist()
        return best


def by_threes(tokens: Tokens) -> list[Tokens]:
    return [tokens[at : at + 3] for at in range(0, len(tokens), 3)] or [()]


def bundles(prompt: Tokens, rounds: list[Round]) -> list[dict[str, Any]]:
    """Tokens alone: those of each round, or three at a time where rounds hold one each."""
    steps = [round_.emitted for round_ in rounds]
    if all(len(step) == 1 for step in steps):
        steps = by_threes(tuple(token for step in steps for token in step))
    return [{"emitted": step} for step in steps]


def trees(prompt: Tokens, rounds: list[Round]) -> list[dict[str, Any]]:
    """The rounds with their trees; made up, as a chain of what was emitted, where there are none."""
    if any(round_.tokens is not None for round_ in rounds):
        return [
            {"emitted": r.emitted, "tokens": r.tokens, "parents": r.parents, "accepted": r.accepted} for r in rounds
        ]
    shown, root = list[dict[str, Any]](), prompt[-1]
    for step in by_threes(tuple(token for round_ in rounds for token in round_.emitted)):
        parents = list(range(-1, max(len(step) - 1, 0)))
        made_up = {"tokens": [root, *step[:-1]], "parents": parents, "accepted": list(range(1, len(parents)))}
        shown.append({"emitted": step, **made_up})
        root = step[-1] if step else root
    return shown


def counters(prompt: Tokens, rounds: list[Round]) -> list[dict[str, Any]]:
    """One lump with counters: true ones, or such as speculation would have."""
    text = [token for round_ in rounds for token in round_.emitted]
    drafted = [len(round_.tokens) - 1 for round_ in rounds if round_.tokens is not None]
    accepted = sum(max(len(round_.emitted) - 1, 0) for round_ in rounds if round_.tokens is not None)
    work = {"rounds": sum(count > 0 for count in drafted), "drafted": sum(drafted), "accepted": accepted}
    return [{"emitted": text, "work": work if drafted else {"rounds": len(text), "drafted": 9, "accepted": len(text)}}]


FORMS = (bundles, trees, counters)
Form = Callable[[Tokens, list[Round]], list[dict[str, Any]]]


def report_on(made: Callable[[Target], Any], form: Form) -> Report:
    """A decoder whose rounds are handed over in this form, judged by some prompts, alone and together."""

    def factory(target: Target) -> Any:
        decoder = made(target)
        return with_methods(
            generate=lambda prompts, limits: [
                form(tuple(prompt), rounds)
                for prompt, rounds in zip(prompts, decoder.generate(prompts, limits), strict=True)
            ]
        )

    found = ground()
    few = [*found.stock.of(PROMPTS)[::4], *found.stock.of(PROMPT_BATCHES)[::2]]
    return run_battery(found.subject(factory), ASKED, QUICK, cases=few, stock=found.stock)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cached", [True, False])
def test_plain_decoding_is_no_witness_in_any_form(form: Form, cached: bool) -> None:
    """Steps of several tokens, trees and counters pass nothing; what is claimed fails where the tap can follow the cache."""
    report = report_on(lambda target: Plain(target, cached=cached), form)
    found = statuses(report)
    assert Status.PASSED not in found.values()
    assert (report.witness.drafted, report.witness.accepted) == (0, 0)
    said = result_of(report, "WITNESS-01").reason
    assert "the target was seen to decide every token" in said
    assert "a wrong row that is slipped into such a pass changes the text" in said
    contradicted = cached and form is not bundles
    assert (found.pop("WITNESS-03") is Status.FAILED) == contradicted
    assert set(found.values()) == {Status.NOT_OBSERVABLE}
    assert report.exit_code == (1 if contradicted else 4)


@pytest.mark.parametrize(("form", "first"), [(bundles, 0), (trees, 1), (counters, 0)])
def test_a_target_that_drafts_for_itself_is_believed_where_it_puts_a_wrong_draft_right(form: Form, first: int) -> None:
    """Its calls are those of plain decoding; led astray, it emits the same text, and so what its rounds show is a witness."""
    report = report_on(lambda target: SelfDrafting(target, first=first), form)
    assert {statuses(report)[check] for check in ("SEQUENCE-01", "WITNESS-01")} == {Status.PASSED}
    assert statuses(report)["WITNESS-03"] is Status.NOT_OBSERVABLE
    assert report.witness.accepted > 0
    assert report.exit_code == 0


def test_where_no_second_decoder_can_be_had_it_is_told_what_to_do() -> None:
    """A decoder that is handed over ready cannot be led astray: nothing is decided, nothing fails, and the reason says why."""
    found = ground()
    target = found.target
    decoder = with_methods(generate=SelfDrafting(target).generate)
    subject = make_subject(decoder, target, truth=found.truth)
    report = run_battery(subject, ASKED, QUICK, cases=found.stock.of(PROMPTS)[::8], stock=found.stock)
    assert all_of(report, Status.NOT_OBSERVABLE)
    said = result_of(report, "WITNESS-01").reason
    assert "a drafter that is the target itself, without a cache, makes the same calls" in said
    assert "hand over a factory target -> decoder and show rounds, draft with another model, or keep a cache" in said
    assert report.exit_code == 4


@pytest.mark.parametrize("cached", [True, False])
def test_drafts_that_decide_nothing_are_no_witness_of_bundles(cached: bool) -> None:
    """Passes that score a draft beside plain decoding: steps of several tokens say nothing, as the tap reads, or a wrong row shows."""
    report = report_on(lambda target: DraftsBeside(target, cached=cached), bundles)
    assert all_of(report, Status.NOT_OBSERVABLE)
    assert (
        "passes that score a draft were seen beside these, and decide nothing" in result_of(report, "WITNESS-01").reason
    )
    assert report.exit_code == 4


@given(st.lists(st.integers(0, 60), min_size=1, max_size=6).map(tuple), st.data())
def test_a_wrong_row_is_slipped_into_passes_over_the_text_alone(text: Tokens, data: st.DataObject) -> None:
    """The last row of a pass over it, whole or above a cache, has another best token; every other row, and later ones, are as they are."""
    model, longer = ground().target.model, (*text, 3)
    cached = data.draw(st.integers(0, len(text) - 1))
    with torch.no_grad():
        right = model(torch.tensor([longer])).logits[0]
        best = int(right[len(text) - 1].argmax())
        spared = int(right[len(text) - 1].argsort(descending=True)[1])
        cache = DynamicCache()
        if cached:
            model(torch.tensor([text[:cached]]), past_key_values=cache)
        with slipped(model, partial(is_over, texts=[text]), spared=[spared]) as slips:
            wrong = model(torch.tensor([text[cached:]]), past_key_values=cache).logits[0]
            assert model(torch.tensor([longer])).logits[0].equal(right)
        assert slips.made == 1
        assert int(wrong[-1].argmax()) not in (best, spared)
        assert wrong[:-1].equal(right[cached : len(text) - 1])
        assert model(torch.tensor([text])).logits[0].equal(right[: len(text)])


class PlainSession:
    """Decodes plainly without a cache, as many tokens as the tree that is handed over could hold, and says they were its."""

    def __init__(self, target: Target, prompt: Sequence[int]) -> None:
        self._model, self._text = target.model, list(prompt)

    def step(self, trees: Sequence[CandidateTree]) -> list[Round]:
        (tree,) = trees
        accepted, here, emitted = list[int](), 0, list[int]()
        while True:
            with torch.no_grad():
                emitted.append(int(self._model(torch.tensor([self._text])).logits[0, -1].argmax()))
            self._text.append(emitted[-1])
            child = next((v for v in tree.children(here) if tree.tokens[v] == emitted[-1]), None)
            if child is None:
                return [Round(emitted=tuple(emitted), accepted=tuple(accepted), bonus=emitted[-1])]
            accepted.append(child)
            here = child


@pytest.mark.parametrize(
    ("opens", "status"),
    [
        (lambda target, prompts, limits: PlainSession(target, prompts[0]), Status.FAILED),
        (lambda target, prompts, limits: ReferenceDecoder(target).open(prompts, limits), Status.PASSED),
    ],
)
def test_a_session_that_never_runs_its_trees_fails_without_a_cache_too(opens: Any, status: Status) -> None:
    """Each pass is over the text as far as it is decided, and no candidate is ever scored; the reference scores them."""
    found = ground()
    subject = found.subject(lambda target: with_methods(open=lambda *asked: opens(target, *asked)))
    report = run_battery(
        subject, choose(ids=["WITNESS-01"]), QUICK, cases=found.stock.of(ROUNDS)[:3], stock=found.stock
    )
    assert all_of(report, status)


@pytest.mark.parametrize("form", FORMS)
def test_who_speculates_loses_nothing(form: Form) -> None:
    """The twin: the same forms of what a tree decoder really ran."""
    report = report_on(ReferenceDecoder, form)
    assert not {Status.FAILED, Status.ERROR, Status.UNDECIDED} & set(statuses(report).values())
    assert {statuses(report)[check] for check in ("SEQUENCE-01", "WITNESS-01")} == {Status.PASSED}
    assert report.witness.accepted > 0
    assert "own word" not in " ".join([witness_words(report), *may_not_say(report)])
    assert report.exit_code == 0


def test_where_nobody_could_look_steps_are_no_witness_and_claims_are_the_decoders_own_word() -> None:
    """A copy of the model shows no call: its steps alone say nothing, and of its counters the report says whose they are."""
    assert all_of(report_on(Hidden, bundles), Status.NOT_OBSERVABLE)
    report = report_on(Hidden, counters)
    assert statuses(report)["SEQUENCE-01"] is Status.PASSED
    told = "by the decoder's own word in 8 requests: no pass of the target that scores a draft"
    assert told in witness_words(report)
    assert any(told in line for line in may_not_say(report))
