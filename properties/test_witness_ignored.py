"""Passes that score a draft are a witness only if somebody heeds what they answer: a second decoder is led astray to see."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
import torch
from grounds import ground, result_of, sentences, statuses, with_methods
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import DynamicCache

from tree_oracle.checks import choose
from tree_oracle.checks.passes import Passes, passes_of
from tree_oracle.checks.prompt_batches import PROMPT_BATCHES
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder.tap_slip import slipped
from tree_oracle.record import Call, Limits, Report, Round, Status
from tree_oracle.report.words import witness_words
from tree_oracle.run import Budget, make_subject, run_battery
from tree_oracle.target import Target

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
ASKED = choose(ids=["VISIBLE-01", "SEQUENCE-01", "METRIC-01", "WITNESS-01", "WITNESS-03"])
IGNORED = "wrong rows slipped into them change nothing"
Tokens = tuple[int, ...]
tokens = st.lists(st.integers(0, 9), min_size=1, max_size=9).map(tuple)


class Verifies:
    """Chains of two drafts, verified over one cache. Where ``looks_again`` says so a token is decided by a plain pass instead.

    ``drafts``: by a copy of the model (wrong every third time), or by the target itself, over a cache of its own or without one.
    ``fresh``: each chain is verified over a new cache. ``by``: the model that plain passes are made by.
    """

    def __init__(
        self,
        target: Target,
        *,
        drafts: str = "copy",
        looks_again: str = "never",
        fresh: bool = False,
        hidden: bool = False,
    ) -> None:
        self._model, self._copy = target.model, copy.deepcopy(target.model)
        self._drafts, self._looks_again, self._fresh = drafts, looks_again, fresh
        self._plain = self._copy if hidden else target.model

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[Round]]:
        return [self._rounds(list(prompt), limits) for prompt in prompts]

    def _rounds(self, text: list[int], limits: Limits) -> list[Round]:
        self._cache, self._own, self._held, self._owned = DynamicCache(), DynamicCache(), 0, 0
        end, rounds = min(len(text) + limits.max_new_tokens, limits.max_length or 10**6), list[Round]()
        while len(text) < end and not (rounds and text[-1] in limits.eos_ids):
            draft = self._drafted(text)
            rows = self._scored(text, draft)
            new = list[int]()
            while len(new) < 3 and new == draft[: len(new)]:
                new.append(self._token(rows[len(new)], [*text, *new], draft[len(new) : len(new) + 1]))
            right = len(new) - 1
            self._held = len(text) + right
            _cut(self._cache, self._held)
            new = new[: end - len(text)]
            new = new[: next((at + 1 for at, token in enumerate(new) if token in limits.eos_ids), len(new))]
            chain: dict[str, Any] = {
                "tokens": (text[-1], *draft),
                "parents": (-1, 0, 1),
                "accepted": tuple(range(1, right + 1)),
            }
            rounds.append(Round(emitted=tuple(new), **chain))
            text = [*text, *new]
        return rounds or [Round(emitted=())]

    def _token(self, row: Tensor, text: list[int], draft: list[int]) -> int:
        first, second = row.topk(2).values.tolist()
        close, ends = first - second < 2, [int(row.argmax())] != draft
        if {"never": False, "close": close, "ends": ends, "always": True}[self._looks_again]:
            return self._best(self._plain, text)
        return int(row.argmax())

    def _scored(self, text: list[int], draft: list[int]) -> Tensor:
        if self._fresh:
            self._cache, self._held = DynamicCache(), 0
        with torch.no_grad():
            rows: Tensor = self._model(
                torch.tensor([[*text[self._held :], *draft]]), past_key_values=self._cache
            ).logits
        return rows[0, -3:]

    def _drafted(self, text: list[int]) -> list[int]:
        if self._drafts == "copy":
            first = self._best(self._copy, text)
            second = self._best(self._copy, [*text, first])
            return [first, second if len(text) % 3 else (second + 1) % 60]
        if self._drafts == "uncached":
            first = self._best(self._model, text)
            return [first, self._best(self._model, [*text, first])]
        first = self._fed(text)
        return [first, self._fed([*text, first])]

    def _fed(self, text: list[int]) -> int:
        """The next token by the drafter's own cache, which is fed one token at a time behind the prompt."""
        at = min(self._owned, len(text) - 1)
        _cut(self._own, at)
        pieces = [text] if not at else [[token] for token in text[at:]]
        with torch.no_grad():
            for piece in pieces:
                rows = self._model(torch.tensor([piece]), past_key_values=self._own).logits
        self._owned = len(text)
        return int(rows[0, -1].argmax())

    @staticmethod
    def _best(model: Any, text: list[int]) -> int:
        with torch.no_grad():
            return int(model(torch.tensor([text])).logits[0, -1].argmax())


def _cut(cache: DynamicCache, rows: int) -> None:
    """Leave the first rows alone."""
    over = cache.get_seq_length() - rows
    if over > 0:
        cache.crop(-over)


class PlainBeside(Verifies):
    """Plain decoding over a cache of its own; the same tokens are scored as chains over another one, for nobody."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, drafts="cached", looks_again="always")

    def _token(self, row: Tensor, text: list[int], draft: list[int]) -> int:
        return self._fed(text)


class ClaimsByDrafts(Verifies):
    """Plain passes decide every token; how many were accepted is told by what the passes for show answer."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, looks_again="always")

    def _rounds(self, text: list[int], limits: Limits) -> list[Round]:
        self._agreed: list[bool] = []
        rounds = super()._rounds(text, limits)
        agreed = iter(self._agreed)
        told = []
        for round_ in rounds:
            looked = [next(agreed) for _ in (round_.accepted or ())]
            kept = next((at for at, same in enumerate(looked) if not same), len(looked))
            told.append(msgspec.structs.replace(round_, accepted=tuple(range(1, kept + 1))))
        return told

    def _token(self, row: Tensor, text: list[int], draft: list[int]) -> int:
        token = super()._token(row, text, draft)
        if draft == [token]:  # else it is not claimed
            self._agreed.append(int(row.argmax()) == token)
        return token


class Asserts(Verifies):
    """Compares each token with what the passes that score drafts say, and breaks down where they differ."""

    def _token(self, row: Tensor, text: list[int], draft: list[int]) -> int:
        token = super()._token(row, text, draft)
        if int(row.argmax()) != token:
            raise RuntimeError("the passes disagree")
        return token


def trees(rounds: list[Round]) -> Any:
    return rounds


def bundles(rounds: list[Round]) -> Any:
    return [{"emitted": round_.emitted} for round_ in rounds]


def alone(rounds: list[Round]) -> Any:
    return [token for round_ in rounds for token in round_.emitted]


def counters(rounds: list[Round]) -> Any:
    text = alone(rounds)
    accepted = sum(len(round_.accepted or ()) for round_ in rounds)
    return [{"emitted": text, "work": {"rounds": len(rounds), "drafted": 2 * len(rounds), "accepted": accepted}}]


def report_on(
    made: Callable[[Target], Any], form: Callable[[list[Round]], Any] = trees, *, ready: bool = False
) -> Report:
    """A decoder whose rounds are handed over in this form, judged by some prompts, alone and together."""

    def factory(target: Target) -> Any:
        decoder = made(target)
        return with_methods(generate=lambda *asked: [form(rounds) for rounds in decoder.generate(*asked)])

    found, target = ground(), ground().target
    few = [*found.stock.of(PROMPTS)[::4], *found.stock.of(PROMPT_BATCHES)[::2]]
    subject = make_subject(factory(target), target, truth=found.truth) if ready else found.subject(factory)
    return run_battery(subject, ASKED, QUICK, cases=few, stock=found.stock)


# ----------------------------------------------------------------------------------------- hostile: nobody heeds the passes


@pytest.mark.parametrize("form", [trees, bundles, counters, alone])
def test_passes_that_nobody_heeds_are_no_witness_in_any_form(form: Callable[..., Any]) -> None:
    """Plain uncached passes decide, cached ones over right drafts are made for show: nothing is passed, and nothing failed."""
    report = report_on(lambda target: Verifies(target, drafts="copy", looks_again="always"), form)
    found = statuses(report)
    assert set(found.values()) == {Status.NOT_OBSERVABLE}
    assert IGNORED in result_of(report, "WITNESS-01").reason
    assert (report.witness.rounds, report.witness.accepted, report.exit_code) == (0, 0, 4)


@pytest.mark.parametrize(
    "made", [PlainBeside, ClaimsByDrafts, lambda target: Verifies(target, drafts="uncached", looks_again="always")]
)
def test_whatever_plain_passes_are_made_over(made: Callable[[Target], Any]) -> None:
    """Over a cache of their own, one token at a time, or without one, where they are the drafter's as well; and though the other
    passes change what is claimed."""
    report = report_on(made)
    assert set(statuses(report).values()) == {Status.NOT_OBSERVABLE}
    assert (report.witness.rounds, report.exit_code) == (0, 4)


def test_passes_that_decide_nothing_where_what_decides_is_hidden_leave_the_decoders_own_word() -> None:
    """On a copy of the model each token is decided, and what the passes that score drafts answer changes nothing."""
    report = report_on(lambda target: Verifies(target, looks_again="always", hidden=True))
    assert statuses(report)["SEQUENCE-01"] is Status.PASSED
    assert "by the decoder's own word in 8 requests" in witness_words(report)


@pytest.mark.parametrize("looks_again", ["always", "never"])
def test_who_breaks_down_on_wrong_rows_has_the_decoders_own_word(looks_again: str) -> None:
    """That it looks at the passes is seen and not what for: plain decoding that asserts and a right decoder that does are alike."""
    report = report_on(lambda target: Asserts(target, looks_again=looks_again))
    assert statuses(report)["SEQUENCE-01"] is Status.PASSED
    told = "by the decoder's own word" in witness_words(report)
    assert told == (looks_again == "always"), witness_words(report)


@pytest.mark.parametrize(("looks_again", "drafts"), [("always", "copy"), ("never", "cached")])
def test_where_no_second_decoder_can_be_had_it_is_the_decoders_own_word(looks_again: str, drafts: str) -> None:
    """Wrong and right decoders make the same passes here, and are told apart by nothing: both are believed, and that is said."""
    report = report_on(lambda target: Verifies(target, drafts=drafts, looks_again=looks_again), ready=True)
    assert statuses(report)["SEQUENCE-01"] is Status.PASSED
    assert "by the decoder's own word" in witness_words(report)


# -------------------------------------------------------------------------------------------------- twins that are right


RIGHT = [
    (drafts, looks_again, fresh)
    for drafts in ("copy", "cached", "uncached")
    for looks_again in ("never", "close", "ends")
    for fresh in (False, True)
    if looks_again == "never" or not fresh
]
# One of each kind of drafts, passes and forms; all together take a minute.
SOME = [(trees, *RIGHT[0]), (bundles, *RIGHT[2]), (alone, *RIGHT[3]), (counters, *RIGHT[4]), (trees, *RIGHT[-1])]
REST = [(form, *one) for form in (trees, bundles, counters, alone) for one in RIGHT if (form, *one) not in SOME]


@pytest.mark.parametrize(
    ("form", "drafts", "looks_again", "fresh"),
    [*SOME, *(pytest.param(*one, marks=pytest.mark.sweep) for one in REST)],
)
def test_whoever_heeds_them_loses_nothing(form: Callable[..., Any], drafts: str, looks_again: str, fresh: bool) -> None:
    """However it drafts, and wherever it looks again by a plain pass: at close choices, or at the end of each round."""
    report = report_on(lambda target: Verifies(target, drafts=drafts, looks_again=looks_again, fresh=fresh), form)
    found = statuses(report)
    assert not {Status.FAILED, Status.ERROR, Status.UNDECIDED} & set(found.values()), sentences(report)
    assert {found[check] for check in ("SEQUENCE-01", "WITNESS-01")} == {Status.PASSED}, sentences(report)
    assert "own word" not in witness_words(report)
    assert report.exit_code == 0


@pytest.mark.parametrize("drafts", ["cached", "uncached"])
def test_where_it_cannot_be_told_nobody_is_called_wrong(drafts: str) -> None:
    """The target drafts for itself, verifies over new caches and decides refused tokens plainly: all its calls are plain ones."""
    report = report_on(lambda target: Verifies(target, drafts=drafts, looks_again="ends", fresh=True))
    assert set(statuses(report).values()) <= {Status.PASSED, Status.NOT_OBSERVABLE}, sentences(report)


# ------------------------------------------------------------------------------------------------------- made-up calls


@given(tokens, tokens, st.data())
def test_plain_decoding_is_seen_beside_drafts(prompt: Tokens, emitted: Tokens, data: st.DataObject) -> None:
    """Passes over the text before every token, and a draft somewhere: both are seen; without one such pass the draft alone is."""
    text = (*prompt, *emitted)
    calls = [Call(text[:end]) for end in range(len(prompt), len(text))]
    draft = Call((*text[len(prompt) - 1 : len(prompt)], 10, 11), len(prompt) - 1)
    at = data.draw(st.integers(0, len(calls)))
    both = [*calls[:at], draft, *calls[at:]]
    assert passes_of(both, [(prompt, emitted)]) is Passes.TWICE
    left_out = data.draw(st.sampled_from([call for call in both if call != draft]))
    assert passes_of([call for call in both if call != left_out], [(prompt, emitted)]) is Passes.DRAFT


@given(tokens)
def test_every_row_of_a_pass_can_be_wrong_by_far(text: Tokens) -> None:
    """Each row says another token, which leads by more than the row was wide; no token that is spared is said."""
    model = ground().target.model
    with torch.no_grad():
        right = model(torch.tensor([text])).logits[0]
        spared = right.argsort(descending=True)[:, 1].tolist()
        with slipped(model, lambda call: call.tokens == text, spared, every_row=True):
            wrong = model(torch.tensor([text])).logits[0]
    first, second = wrong.topk(2).values.unbind(dim=-1)
    assert not (wrong.argmax(dim=-1) == right.argmax(dim=-1)).any()
    assert not set(wrong.argmax(dim=-1).tolist()) & set(spared)
    assert (first - second > right.amax(dim=-1) - right.amin(dim=-1)).all()
