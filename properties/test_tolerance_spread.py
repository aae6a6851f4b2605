"""The tables behind the verdicts say every figure that was measured, and a usable cell says how many rows stand behind it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tree_oracle.numerics import Cell, Errors, Figures, Found, Sweep, Tolerance, ToleranceReport, Verdict
from tree_oracle.numerics.cell import Control, Effect
from tree_oracle.numerics.choices import Choices
from tree_oracle.numerics.distance import Spread
from tree_oracle.numerics.operator_words import Words
from tree_oracle.report.tolerance import cell_line, markdown_page
from tree_oracle.report.tolerance_html import tolerance_page
from tree_oracle.report.tolerance_spread import TABLES, largest_share, standing

SWEEP = Sweep(("tiny:llama",), "cpu", ("float32", "bfloat16", "int8"), ("sdpa",), (9,), (1,), (16,), rows=9)


def spread(largest: float, n: int = 9) -> Spread:
    return Spread(n, largest, p50=largest / 8, p90=largest / 4, p99=largest, rms=largest / 5)


def errors(largest: float) -> Errors:
    choices = Choices(9, flips=1, widest_flip=largest / 2, ties=2, near_ties=3, kl_mean=1e-6, kl_max=2e-5)
    words = Words(**dict.fromkeys(Words.__struct_fields__, 0))
    return Errors(
        spread(largest), ulp_p50=1.5, ulp_max=9.0, cosine=1.0, balance=0.0, choices=choices, words=words, lost=0
    )


def found(cell: Cell, verdict: Verdict, *, judged: int = 9, exceeded: int = 0, scale: float = 1e-5) -> Found:
    """A cell with made figures: what a page says of them must not depend on the processor."""
    rule = Tolerance(4 * scale, scale, 2 * scale, 9, judged, judged / 10, exceeded, 0, 0, separation=2.5)
    figures = Figures(
        tree=errors(1.25 * scale),
        plain=errors(scale),
        passes={"decode": errors(0.75 * scale), "wide": errors(1.5 * scale)},
        controls={name: Control(spread(scale / at, 18), 18 - at) for at, name in enumerate(("width", "layout"), 1)}
        | {"repeat": Control(spread(0.0, 17), 17)},
        effects={"token": Effect(8, 0.5, 2.0, 8), "swapped": Effect(7, 1e-4, 1.0, 6)},
        tolerance=rule,
        kernels=("sdpa-flash",),
        routed=0,
        invariant=False,
    )
    return Found(cell, verdict, "as it was made", figures)


def report() -> ToleranceReport:
    first, second, third = SWEEP.cells
    cells = (
        found(first, Verdict.USABLE),
        found(second, Verdict.OVERLAP, scale=0.1),
        Found(third, Verdict.UNMEASURED, "no"),
    )
    return ToleranceReport(sweep=SWEEP, environment={"torch": "here"}, cells=cells, complete=True)


def test_the_markdown_page_is_as_it_was(snapshot: SnapshotAssertion) -> None:
    """A usable, an overlapping and an unmeasured cell, with everything that was measured of them."""
    assert markdown_page(report()) == snapshot


def test_the_tables_of_the_html_page_are_as_they_were(snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    """The same tables and the same standing as in Markdown."""
    page = tolerance_page(report(), tmp_path / "made.json")
    assert page.partition("<h2>Behind the verdicts</h2>")[2].partition("<h2>")[0] == snapshot
    assert page.count("usable (9 rows, at most 29 %)") == 2  # in the table and among the reasons


def test_no_figure_is_left_out() -> None:
    """Every pass, control and kind of wrong history has a row in its table, and every row fits its head."""
    first, _, last = report().cells
    figures = first.figures
    assert figures is not None
    named = {title: [row[1] for row in rows(first)] for title, _, _, rows in TABLES}
    passes = ["tree", "plain", *figures.passes]
    assert list(named.values()) == [
        [*(f"error of {name}" for name in passes), *(f"change by {name}" for name in figures.controls)],
        passes,
        list(figures.effects),
    ]
    assert all(len(row) == len(head) for _, _, head, rows in TABLES for row in rows(first))
    assert not any(list(rows(last)) for _, _, _, rows in TABLES)


@given(rows=st.integers(1, 10**6))
def test_the_largest_share_is_where_none_seen_becomes_unlikely(rows: int) -> None:
    """With that share of exceeding rows, none among so many is seen once in twenty times."""
    share = largest_share(rows)
    assert 0 < share < 1
    assert (1 - share) ** rows == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(
    ("judged", "exceeded", "told"),
    [
        (1, 0, "usable (1 row, at most 95 %)"),
        (9, 0, "usable (9 rows, at most 29 %)"),
        (5016, 0, "usable (5016 rows, at most 0.06 %)"),
        (66, 2, "usable (66 rows, 2 above)"),
    ],
)
def test_nine_rows_do_not_look_like_five_thousand(judged: int, exceeded: int, told: str) -> None:
    """Beside the verdict stands how many rows were judged, and what so many leave possible; other verdicts stand alone."""
    made = found(SWEEP.cells[0], Verdict.USABLE, judged=judged, exceeded=exceeded)
    assert standing(made) == told
    assert f": {told}: as it was made" in cell_line(made)
    for other in (Verdict.EXACT, Verdict.OVERLAP, Verdict.EXCEEDED):
        assert standing(msgspec.structs.replace(made, verdict=other)) == other.value
