"""Claim: what is said of a check that saw nothing is true of each case it is said of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from grounds import ground, result_of
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache

from tree_oracle.checks import choose
from tree_oracle.checks.scenes import PROMPTS
from tree_oracle.decoder import Seam
from tree_oracle.record import Case, Limits, Round, Status
from tree_oracle.run import Budget, examine, run_battery
from tree_oracle.run.outcome import outcome_of
from tree_oracle.run.reasons import Reasons
from tree_oracle.target import Target

QUICK = Budget(cases=0, shrink_runs=0, diagnose=False)
WORDS = ("nothing drafted", "no rows", "refused", "token {} of {}", "no cache")
reasons = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 99), st.integers(0, 99)), min_size=1).map(
    lambda drawn: [word.format(a, b) for word, a, b in drawn]
)
BLIND = st.sampled_from([Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE])


@given(BLIND, reasons)
def test_each_reason_is_told_with_the_number_of_its_cases(status: Status, given_: list[str]) -> None:
    """One kind is told as its first case gave it; of several every one that is told has the right count, and all are counted."""
    said = Reasons((status, reason) for reason in given_).of(status, "")
    kinds = Counter(re.sub(r"\d+", "", reason) for reason in given_)
    if len(kinds) == 1:
        assert said == given_[0]
        return
    told = re.findall(r"in (\d+) of (\d+) cases: (.*?)(?=; in |$)", said)
    rest = re.findall(r"in (\d+) for other reasons", said)
    assert {whole for _, whole, _ in told} == {str(len(given_))}
    assert sum(int(count) for count, _, _ in told) + sum(map(int, rest)) == len(given_)
    for count, _, reason in told:
        assert kinds[re.sub(r"\d+", "", reason)] == int(count)
        assert reason in given_


@given(BLIND, reasons, st.text("ab"))
def test_a_status_that_no_case_has_and_a_pass_are_told_apart(status: Status, given_: list[str], otherwise: str) -> None:
    """Of a pass nothing is said, what failed is told by its first case, and where no case has the status something else is said."""
    found = Reasons([(Status.FAILED, reason) for reason in given_])
    assert found.of(Status.PASSED, otherwise) == ""
    assert found.of(Status.FAILED, otherwise) == given_[0]
    assert found.of(status, otherwise) == otherwise


def test_what_was_refused_is_told_beside_what_was_not_seen() -> None:
    """Of a check with several kinds of cases both reasons are told, since mending one alone shows nothing."""
    hidden, refused = (Status.NOT_OBSERVABLE, "no parameter"), (Status.NOT_APPLICABLE, "refused: one prompt only")
    assert Reasons([refused, hidden]).of(Status.NOT_OBSERVABLE, "") == "refused: one prompt only; no parameter"
    assert Reasons([refused]).of(Status.NOT_APPLICABLE, "") == "refused: one prompt only"
    assert Reasons([(Status.NOT_APPLICABLE, "no tie"), hidden]).of(Status.NOT_OBSERVABLE, "") == "no parameter"


@pytest.mark.parametrize("offered", [frozenset({Seam.GENERATE}), frozenset({Seam.GENERATE, Seam.SESSION})])
def test_no_method_is_asked_for_that_the_decoder_has(offered: frozenset[Seam]) -> None:
    """What a text does not show is asked of ``open`` where there is none, and of the rounds alone where there is one."""
    (check,) = choose(["GATHER-02"])
    bare = Round(emitted=(1,), prefix=(2,), tokens=(2, 1), parents=(-1, 0))
    asked = Case(prefix=(2,), limits=Limits(1))
    found = outcome_of(check, asked, ground().truth, lambda case: (bare,), told_by_text=True, offered=offered)
    more = "" if Seam.SESSION in offered else "; needs that, or the method open"
    assert (found.status, found.reason) == (Status.NOT_OBSERVABLE, f"rounds do not show scores{more}")


class NowAndThen:
    """Drafts one token that is never right where a prompt has an odd length, and nothing elsewhere; shows its text alone."""

    def __init__(self, target: Target, *, cached: bool) -> None:
        self._model, self._cached = target.model, cached

    def generate(self, prompts: Sequence[Sequence[int]], limits: Limits) -> list[list[int]]:
        return [self._text(list(prompt), limits) for prompt in prompts]

    def _text(self, text: list[int], limits: Limits) -> list[int]:
        out, cache, drafts = list[int](), DynamicCache(), len(text) % 2 == 1
        most = limits.max_length or 10**6
        while len(out) < limits.max_new_tokens and len(text) < most and not (out and out[-1] in limits.eos_ids):
            held = int(cache.get_seq_length()) if self._cached else 0
            draft = self._draft(text, drafts)
            rows = self._run([*text[held:], *draft], cache)
            out.append(int(rows[len(text) - held - 1].argmax()))
            if draft and self._cached:
                cache.crop(-len(draft))
            text.append(out[-1])
        return out

    def _draft(self, text: list[int], drafts: bool) -> list[int]:
        if not drafts:
            return []
        return [int(self._run(text, None)[-1].argmin())]

    def _run(self, tokens: list[int], cache: DynamicCache | None) -> torch.Tensor:
        handed = {"past_key_values": cache} if self._cached and cache is not None else {}
        with torch.no_grad():
            rows: torch.Tensor = self._model(torch.tensor([tokens]), **handed).logits[0]
        return rows


@pytest.mark.sweep
@pytest.mark.parametrize("cached", [True, False])
def test_a_reason_is_about_the_requests_that_gave_it(cached: bool) -> None:
    """Where something is drafted in some requests, what is said of the others is said of so many, by the checks and by the doctor."""
    found = ground()
    subject = found.subject(lambda target: NowAndThen(target, cached=cached))
    few = found.stock.of(PROMPTS)[:6]
    silent = sum(len(case.prefix) % 2 == 0 for case in few)
    assert 0 < silent < len(few)
    report = run_battery(subject, choose(ids=["COMMIT-03", "WITNESS-01"]), QUICK, cases=few, stock=found.stock)
    commit, witness = result_of(report, "COMMIT-03"), result_of(report, "WITNESS-01")
    assert commit.status is Status.NOT_OBSERVABLE
    if cached:
        assert witness.status is Status.PASSED
        # The text of one token that is drafted for has one round, and nothing follows it.
        unseen = "no witness that speculation ran: no target call scores a draft"
        assert f"in {silent} of 11 cases: {unseen}" in commit.reason  # six more show tokens alone, beside the tap
        assert f"in {5 - silent} of 11 cases: no node is accepted" in commit.reason
        (tap,) = [one for one in examine(subject) if (one.seam, one.what) == (Seam.TAP, "answers")]
        assert tap.good
        assert "nothing is seen in the others: no witness that speculation ran" in tap.sentence
    else:
        assert witness.status is Status.NOT_OBSERVABLE
        assert re.search(rf"in {silent} of 12 cases: [^;]*the target was seen to decide every token", witness.reason)
