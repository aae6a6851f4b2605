"""An exception of the decoder is told by the user's own line, and held against the checks of its answers alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from grounds import ground, result_of

from tree_oracle.checks import CHECKS, choose
from tree_oracle.checks.guard import call
from tree_oracle.checks.scenes import ROUNDS
from tree_oracle.decoder import ReferenceDecoder
from tree_oracle.record import DecoderError, Limits, Status, counted
from tree_oracle.run import Budget, run_battery

OF_WHAT_IS_SHOWN = ("RANK", "METRIC", "WORK")


def own() -> None:
    raise ValueError("nothing to say")


def of_a_library() -> None:
    json.loads("{")


def said(function: Callable[[], Any]) -> str:
    with pytest.raises(DecoderError) as caught:
        call("generate", function)
    return str(caught.value)


def test_the_users_own_line_is_named_as_it_is_written() -> None:
    """The innermost line of the user's code stands there with its text, wherever the exception came from."""
    here = Path(__file__).name
    assert f"({here}:" in said(own)
    assert said(own).endswith(': raise ValueError("nothing to say"))')
    assert f"({here}:" in said(of_a_library)
    assert ': json.loads("{"); raised in decoder.py:' in said(of_a_library)


class Raises:
    """A decoder of which nothing comes back: ``always``, or from the second round of a session on."""

    def __init__(self, target: Any, *, always: bool) -> None:
        self._inner, self._always = ReferenceDecoder(target), always

    def open(self, prompts: Sequence[Sequence[int]], limits: Limits) -> Any:
        """A session that breaks down."""
        session, steps = self._inner.open(prompts, limits), list[int]()

        def step(trees: Any) -> Any:
            steps.append(1)
            if self._always or len(steps) > 1:
                raise RuntimeError("out of pages")
            return session.step(trees)

        return type("Session", (), {"step": staticmethod(step)})()


@pytest.mark.sweep
@pytest.mark.parametrize("always", [True, False], ids=["at once", "in the second round"])
def test_what_rounds_show_beside_answers_is_not_failed_by_an_exception(always: bool) -> None:
    """RANK, METRIC and WORK call nothing failed that never came; the checks of answers do, the session's own among them."""
    found = ground("exact", cases=0)
    ids = ("SESSION-01", "SEQUENCE-01", "HISTORY-01", *(c.id for c in CHECKS.values() if c.family in OF_WHAT_IS_SHOWN))
    subject = found.subject(lambda target: Raises(target, always=always))
    some, budget = found.stock.of(ROUNDS)[:4], Budget(cases=0, shrink_runs=0, diagnose=always)
    report = run_battery(subject, choose(ids=ids), budget, stock=found.stock, cases=some)
    shown = {result.check: result.status for result in report.results if result.check.startswith(OF_WHAT_IS_SHOWN)}
    silent = {Status.NOT_OBSERVABLE, Status.NOT_APPLICABLE}  # not applicable: none of these cases is one of its own
    assert set(shown.values()) <= silent | (set() if always else {Status.UNDECIDED})
    assert shown["METRIC-01"] is (Status.NOT_OBSERVABLE if always else Status.UNDECIDED)
    assert result_of(report, "SEQUENCE-01").status is Status.FAILED
    assert report.exit_code == 1
    if always:
        assert [f.causes for r in report.results for f in r.findings if f.causes] == []
        assert "out of pages" in result_of(report, "METRIC-01").reason


@pytest.mark.parametrize(
    ("what", "many"), [("entry", "entries"), ("query", "queries"), ("key", "keys"), ("day", "days")]
)
def test_a_plural_is_spelt_as_it_is(what: str, many: str) -> None:
    """One of a kind is singular, and what ends with a consonant and y changes it."""
    assert [counted(number, what) for number in (0, 1, 2)] == [f"0 {many}", f"1 {what}", f"2 {many}"]
