"""A recorded text is evidence for a law of ends only if it came to what that law speaks of."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from grounds import ground
from trace_grounds import fields_of

from tree_oracle.checks import choose
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.decoder.parts import Parts
from tree_oracle.faults import stops
from tree_oracle.record import CheckResult, EndReason, Limits, Round, Status
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import Recorder

PROMPT = (3, 5, 2, 7)
PASSED, FAILED, HIDDEN = Status.PASSED, Status.FAILED, Status.NOT_OBSERVABLE
CHECKS = choose(["STOP-01", "STOP-02", "STOP-04"])


def _decoded(parts: Parts, limits: Limits) -> tuple[Round, ...]:
    (rounds,) = ReferenceDecoder(ground().target, parts).generate((PROMPT,), limits)
    return tuple(rounds)


@cache
def _text() -> tuple[int, ...]:
    """What greedy decoding says, far enough."""
    return tuple(token for round_ in _decoded(Parts(), Limits(12)) for token in round_.emitted)


def _absent() -> int:
    return next(token for token in range(61) if token not in _text())


def _judged(path: Path, limits: Limits, parts: Parts | None = None, *, ends: bool = True) -> dict[str, CheckResult]:
    told: dict[str, Any] = {"max_new_tokens": limits.max_new_tokens, "eos_ids": limits.eos_ids, "stop": limits.stop}
    with Recorder(path) as trace:
        request = trace.request(PROMPT, **told)
        for round_ in _decoded(parts or Parts(), limits):
            shown = fields_of(round_)
            trace.round(request, **{name: value for name, value in shown.items() if ends or name != "end"})
        trace.done(request)
    return {one.check: one for one in judge_trace(path, CHECKS, truth=ground().truth, target="exact").results}


@pytest.mark.parametrize("ends", [True, False])
def test_an_end_that_never_came_is_no_evidence(tmp_path: Path, ends: bool) -> None:
    """A text that its cap cut passes STOP-02 and says nothing of end tokens or stop sequences, be the decoder right or not."""
    limits = Limits(6, (_absent(),), stop=((_absent(), 1),))
    for name, parts in (("right", Parts()), ("wrong", Parts(stop=stops.no_end_tokens))):
        found = _judged(tmp_path / f"{name}.jsonl", limits, parts, ends=ends)
        assert {one: result.status for one, result in found.items()} == {
            "STOP-01": HIDDEN, "STOP-02": PASSED, "STOP-04": HIDDEN,
        }  # fmt: skip
        cut = "the text is cut by max_new_tokens, so nothing shows that one ends it"
        assert found["STOP-01"].reason == f"no end token came: {cut}"
        assert found["STOP-04"].reason == f"no stop sequence came: {cut}"


def test_an_end_that_came_is_judged(tmp_path: Path) -> None:
    """A text that its end token ended passes STOP-01 and says nothing of its caps; one that went on fails STOP-01."""
    limits = Limits(12, (_text()[2],))
    right = _judged(tmp_path / "right.jsonl", limits)
    assert (right["STOP-01"].status, right["STOP-02"].status) == (PASSED, HIDDEN)
    assert right["STOP-02"].reason == "no text came to its caps: the text ends with an end token"
    wrong = _judged(tmp_path / "wrong.jsonl", limits, Parts(stop=stops.no_end_tokens))
    assert wrong["STOP-01"].status is FAILED


def test_a_stop_sequence_that_came_is_judged(tmp_path: Path) -> None:
    """A text that its stop sequence ended passes STOP-04, and nothing is known of its end tokens."""
    found = _judged(tmp_path / "t.jsonl", Limits(12, (_absent(),), stop=(_text()[2:4],)))
    assert (found["STOP-01"].status, found["STOP-02"].status, found["STOP-04"].status) == (HIDDEN, HIDDEN, PASSED)
    assert "the text ends with a stop sequence" in found["STOP-01"].reason


@pytest.mark.parametrize("ends", [True, False])
def test_an_end_that_nothing_explains_is_judged(tmp_path: Path, ends: bool) -> None:
    """A text that drops its end token holds none and fails: by STOP-01 where it says that one ended it, by STOP-02 anyway."""
    limits = Limits(12, (_text()[2],))
    found = _judged(tmp_path / "t.jsonl", limits, Parts(stop=stops.end_token_dropped), ends=ends)
    assert found["STOP-02"].status is FAILED
    assert found["STOP-01"].status is (FAILED if ends else HIDDEN)


def test_a_cap_that_was_passed_is_judged(tmp_path: Path) -> None:
    """A text that goes on behind its cap fails STOP-02 though nothing ended it there."""
    cut = next(count for count in range(1, 6) if _passes(Limits(count)))
    assert _judged(tmp_path / "t.jsonl", Limits(cut), Parts(stop=stops.cap_not_cut))["STOP-02"].status is FAILED


def _passes(limits: Limits) -> bool:
    rounds = _decoded(Parts(stop=stops.cap_not_cut), limits)
    return sum(len(one.emitted) for one in rounds) > limits.max_new_tokens and rounds[-1].end is EndReason.CAP
