"""How many judged rows exceed the control rows by chance is said with every floor that was measured."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_oracle.checks import choose
from tree_oracle.record import Noise, Status
from tree_oracle.run.tally import FLOOR, Finished, Head, Tally, bare_result
from tree_oracle.run.trace_judge import judge_trace
from tree_oracle.trace import Recorder

CHECK = choose(ids=["HISTORY-01"])[0]


@pytest.mark.parametrize(("controls", "judged"), [(1, 1), (1, 3), (2, 2), (3, 2), (4, 1), (0, 2)])
def test_the_figure_is_the_mean_over_all_orders(controls: int, judged: int) -> None:
    """Where every order of the errors is as likely, so many judged rows exceed the largest control row on average."""
    counts = [
        sum(error > max(order[:controls], default=-1) for error in order[controls:])
        for order in permutations(range(controls + judged))
    ]
    assert Noise(samples=controls).by_chance(judged) == pytest.approx(float(Fraction(sum(counts), len(counts))))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_controls_leave_less_to_chance(controls: int, rows: int) -> None:
    """The figure falls with each control row and is never more than the rows that were judged."""
    found = Noise(samples=controls).by_chance(rows)
    assert 0 <= Noise(samples=controls + 1).by_chance(rows) <= found <= rows


def record(path: Path, controls: int) -> Path:
    row = [float(-abs(token - 3)) for token in range(8)]
    with Recorder(path) as trace:
        for number in range(controls):
            request = trace.request([1 + number])
            trace.round(request, control=True, tokens=[1 + number], parents=[-1], rows=[row], emitted=[3])
            trace.done(request)
        request = trace.request([1, 2], max_new_tokens=2)
        trace.round(request, tokens=[2, 3, 4], parents=[-1, 0, 0], rows=[row] * 3, accepted=[1], emitted=[3, 3])
        trace.done(request)
    return path


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        (0, "no control rows in the trace"),
        (3, "from 3 control rows; of 3 judged rows about 0.75 exceed the largest of them by chance"),
    ],
)
def test_a_trace_says_it(tmp_path: Path, controls: int, said: str) -> None:
    """Judging a trace counts its control rows and the rows of trees, which are the ones that are judged."""
    report = judge_trace(record(tmp_path / "run.jsonl", controls), choose(ids=["GREEDY-02", "HISTORY-01"]))
    assert report.environment[FLOOR] == said


def test_a_run_says_it_over_all_checks() -> None:
    """Rows of all checks are added up; a run in which none was held against a floor has no such line."""
    tally = Tally([CHECK])
    tally.head = Head("d", "t", "C", {})
    tally.add(Finished(bare_result(CHECK, Status.PASSED), rows=50, floor=Noise(0.25, 0.5, 3.0, samples=99)))
    found = tally.report()
    size = "1 logits are allowed, and the least of the wrong histories moved a row by 3"
    assert found.environment[FLOOR].startswith(f"{size}; from 99 control rows; of 50 judged rows about 0.5 exceed")
    tally.add(Finished(bare_result(CHECK, Status.PASSED)))
    assert FLOOR not in tally.report().environment
