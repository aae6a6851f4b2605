"""Rows that agree are evidence only where wrong histories would disagree: measured on every tiny architecture.

One wrong token moves a row, at the least, this many times as far as is allowed (seed 0, CPU, sdpa where there is one):

    float32     gpt2 790    llama 896    mixtral 744    qwen3 24,580
                cohere2 71  gemma2 17,900  gemma3 10,200  gptoss 39  llama4 624  mistral 961
    bfloat16    gpt2 0.06   llama 0.08   mixtral 0.02   qwen3 1.9
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import CHECKS
from tree_oracle.checks.say import NothingToJudge
from tree_oracle.checks.view import View
from tree_oracle.record import Array, Case, Limits, Noise, Round, Status, TreeData
from tree_oracle.target import SequentialTruth, load_target
from tree_oracle.target.tiny import CONFIGURATIONS
from tree_oracle.target.tiny_configurations import EAGER_ONLY

pytestmark = pytest.mark.sweep

ALLOWED = Noise(sequential=0.25, control=0.5)  # 1 logit, binary fractions so that sums are exact


def separation(noise: Noise) -> str:
    ratio = noise.wrong_history / noise.allowed
    return (
        f"a wrong history moved a row by {noise.wrong_history:.3g}, {noise.allowed:.3g} is allowed: {ratio:.3g} times"
    )


@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_in_float32_wrong_histories_stand_far_above_the_noise(name: str) -> None:
    """On every tiny architecture the smallest change by one wrong token is over ten times what is allowed."""
    attention = "eager" if name in EAGER_ONLY else "sdpa"
    noise = SequentialTruth(load_target(f"tiny:{name}", attention=attention)).noise()
    assert noise.has_power, separation(noise)
    assert noise.wrong_history > 10 * noise.allowed, separation(noise)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_in_bfloat16_the_noise_says_that_it_has_no_power(name: str) -> None:
    """Where one wrong token can move a row by less than rounding does, right rows of a real target are undecided."""
    truth = SequentialTruth(load_target(f"tiny:{name}", dtype="bfloat16"))
    noise = truth.noise()
    assert noise.wrong_history <= noise.allowed, separation(noise)
    assert not noise.has_power
    right = truth.plain_rows([(1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 5)]).astype(np.float32)
    status, reason = judged("HISTORY-01", truth, rounds(right))
    assert status is Status.UNDECIDED
    assert f"one wrong token in the history moved a row by only {noise.wrong_history:.3g}" in reason


@given(st.floats(0, 4), st.floats(0, 4), st.floats(0, 8))
def test_noise_has_power_when_wrong_histories_exceed_it(sequential: float, control: float, wrong: float) -> None:
    """Power is exactly that every wrong history tried was moved by more than twice the error plus the control."""
    assert Noise(sequential, control, wrong).has_power == (wrong > 2 * sequential + control)


@dataclass
class Table:
    """A truth whose row is a one-hot of the last token, with a noise of our choosing."""

    measured: Noise
    exact: bool = False
    plain_error: float = 0.0  # of every plain row

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        return np.stack([8.0 * np.eye(16)[history[-1]] for history in histories])

    def noise(self) -> Noise:
        return self.measured

    def error(self, history: Sequence[int]) -> float:
        return self.plain_error


def rounds(*rows: np.ndarray, tokens: Sequence[tuple[int, ...]] = ((3, 4, 5),)) -> tuple[Round, ...]:
    """A root and two children, after two cached tokens."""
    texts = [*tokens, *tokens][: len(rows)]
    return tuple(
        Round(emitted=(), prefix=(1, 2, 3), tokens=text, parents=(-1, 0, 0), rows=Array.of(values))
        for text, values in zip(texts, rows, strict=True)
    )


HANDED_OVER = Case(prefix=(1, 2, 3), trees=(TreeData(tokens=(3, 4, 5), parents=(-1, 0, 0)),))


def judged(check: str, truth: Any, seen: tuple[Round, ...]) -> tuple[Status, str]:
    """The status of the first finding, of the refusal to judge, or a pass."""
    try:
        for finding in CHECKS[check].judge(View(HANDED_OVER, seen, truth)):
            return finding.status, finding.sentence
    except NothingToJudge as nothing:
        return nothing.status, str(nothing)
    return Status.PASSED, ""


def noise_of(wrong_history: float) -> Noise:
    return Noise(ALLOWED.sequential, ALLOWED.control, wrong_history)


POWER = st.sampled_from([(4.0, Status.PASSED), (1.0, Status.UNDECIDED), (0.0, Status.UNDECIDED)])


@given(POWER, st.integers(0, 2), st.integers(0, 15), st.floats(-2, 2).filter(lambda by: abs(by) != 1))
def test_a_row_fails_by_its_distance_and_passes_only_with_power(
    power: tuple[float, Status], node: int, entry: int, by: float
) -> None:
    """A row farther off than is allowed has failed either way; rows within it have passed where the noise has power only."""
    wrong_history, agreed = power
    truth = Table(noise_of(wrong_history))
    rows = truth.rows([(3,), (4,), (5,)])
    rows[node, entry] += by
    expected = Status.FAILED if abs(by) > 1 else agreed
    assert judged("HISTORY-01", truth, rounds(rows))[0] is expected
    after_a_commit = rounds(truth.rows([(3,), (4,), (5,)]), rows)
    assert judged("COMMIT-03", truth, after_a_commit)[0] is expected


@given(st.integers(0, 2), st.integers(6, 15), st.floats(-9, 7).filter(lambda by: abs(by) != 3.5))
def test_a_row_is_given_the_room_that_the_plain_pass_needs_there(node: int, entry: int, by: float) -> None:
    """Above the sampled floor of 1 a row still agrees within 2 x 1.5 + 0.5, where the plain pass itself is off by 1.5."""
    truth = Table(noise_of(4.0), plain_error=1.5)
    rows = truth.rows([(3,), (4,), (5,)])
    rows[node, entry] += by
    assert judged("HISTORY-01", truth, rounds(rows))[0] is (Status.FAILED if abs(by) > 3.5 else Status.PASSED)


def test_where_the_plain_pass_is_off_as_far_as_a_wrong_history_nothing_is_decided() -> None:
    """A row that only the plain pass's own error of 3 explains is undecided where a wrong token may move it by 4."""
    truth = Table(noise_of(4.0), plain_error=3.0)
    rows = truth.rows([(3,), (4,), (5,)])
    rows[1, 9] += 2
    status, reason = judged("HISTORY-01", truth, rounds(rows))
    assert status is Status.UNDECIDED
    assert reason.startswith("the plain pass is off by 3 logits after 4 tokens")
    rows[1, 9] += 5
    assert judged("HISTORY-01", truth, rounds(rows))[0] is Status.FAILED


def test_a_right_row_in_the_tail_of_the_errors_passes() -> None:
    """After these tokens tiny:gpt2 is off by more than the sampled floor allows, in the plain pass as in a tree."""
    truth = SequentialTruth(load_target("tiny:gpt2"))
    tail = (1, 2, 0, 0, 1, 223, 201, 107, 73, 103, 116, 103, 85, 116, 194, 84, 184, 185)
    assert truth.error(tail) > 2 * truth.noise().sequential
    seen = truth.plain_rows([tail], shared=True).astype(np.float32)
    shown = Round(emitted=(), prefix=tail, tokens=(185,), parents=(-1,), rows=Array.of(seen))
    assert judged("HISTORY-01", truth, (shown,))[0] is Status.PASSED


@given(POWER, st.sampled_from([0.5, 4.0]), st.sampled_from([0.5, 4.0]))
def test_a_change_that_noise_would_hide_is_not_asked_for(
    power: tuple[float, Status], reached: float, elsewhere: float
) -> None:
    """Without power a changed node whose row stays is no fault and no pass; a row that must stay and moved is one always."""
    wrong_history, agreed = power
    truth = Table(noise_of(wrong_history))
    before = truth.rows([(3,), (4,), (5,)])
    after = before.copy()
    after[2, 9] += reached
    after[1, 9] += elsewhere
    status, _ = judged("HISTORY-02", truth, rounds(before, after, tokens=((3, 4, 5), (3, 4, 6))))
    stayed = reached < 1 and agreed is Status.PASSED
    assert status is (Status.FAILED if elsewhere > 1 or stayed else agreed)


class Close(Table):
    """A truth that has the token after the last one half a logit below its choice."""

    def rows(self, histories: Sequence[Sequence[int]]) -> np.ndarray:
        seconds = [7.5 * np.eye(16)[history[-1] + 1] for history in histories]
        return np.asarray(super().rows(histories) + np.stack(seconds))


def close_round(truth: Table) -> Round:
    """A root and its child, accepted; the child and the bonus are near ties, and the child's score is the true one."""
    row = truth.rows([(3,)])[0]
    scores = np.array([0.0, row[4] - np.log(np.exp(row).sum())])
    return Round(
        emitted=(4, 5), prefix=(1, 2, 3), tokens=(3, 4), parents=(-1, 0), accepted=(1,), bonus=5, scores=Array.of(scores)
    )  # fmt: skip


@given(POWER, st.sampled_from(["GREEDY-01", "SEQUENCE-01", "GATHER-02"]), st.booleans())
def test_a_near_tie_or_a_score_is_evidence_with_power_only(
    power: tuple[float, Status], check: str, wrong: bool
) -> None:
    """Where noise would hide a wrong history, a near tie or a score that agrees is undecided, and a wrong one fails always."""
    wrong_history, agreed = power
    table = Close(noise_of(wrong_history))
    truth: Any = table
    right = close_round(table)
    far = {"scores": Array.of(np.array([0.0, -9.0]))} if check == "GATHER-02" else {"emitted": (4, 12), "bonus": 12}
    seen = msgspec.structs.replace(right, **far) if wrong else right
    case = Case(prefix=(1, 2, 3), limits=Limits(max_new_tokens=2))
    found, status = list[Status](), Status.PASSED
    try:
        found.extend(one.status for one in CHECKS[check].judge(View(case, (seen,), truth)))
    except NothingToJudge as nothing:
        status = nothing.status
    assert (Status.FAILED if Status.FAILED in found else status) is (Status.FAILED if wrong else agreed)


def test_an_exact_truth_needs_no_power() -> None:
    """Rows that are compared bit for bit pass although nothing was measured."""
    truth = Table(Noise(), exact=True)
    assert judged("HISTORY-01", truth, rounds(truth.rows([(3,), (4,), (5,)])))[0] is Status.PASSED
