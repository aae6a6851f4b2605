"""The pages of a tolerance report stand alone, say what was measured and what was not, and are made from the kept file alone."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tree_oracle.cli import main
from tree_oracle.numerics import Found, Sweep, ToleranceReport, Verdict, read_tolerance, run_sweep
from tree_oracle.record import MissingEngine
from tree_oracle.report.tolerance import MARK, cell_line, counted, markdown_page, row_of
from tree_oracle.report.tolerance_html import tolerance_page
from tree_oracle.report.tolerance_plots import error_curves

SWEEP = Sweep(
    targets=("exact", "tiny:llama"),
    device="cpu",
    dtypes=("float32", "bfloat16"),
    kernels=("sdpa", "sdpa-cudnn"),
    widths=(12,),
    batches=(1,),
    prefixes=(14,),
    rows=24,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on disk: exact, usable, overlapping and unmeasured cells."""
    path = tmp_path_factory.mktemp("tolerance") / "kept.json"
    run_sweep(SWEEP, path, {"torch": "<b>here</b>"})
    return path


@pytest.fixture(scope="module")
def report(kept: Path) -> ToleranceReport:
    return read_tolerance(kept)


@pytest.fixture(scope="module")
def page(report: ToleranceReport, kept: Path) -> str:
    """The HTML page, which takes a second to plot."""
    return tolerance_page(report, kept)


class Page(HTMLParser):
    """Tags, ids and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.addresses += [named[name] or "" for name in ("src", "href", "xlink:href") if name in named]


def test_the_page_stands_alone(page: str) -> None:
    """No script, nothing loaded, every address leads to an element of the page, and no id stands twice."""
    found = Page(page)
    assert "script" not in found.tags
    assert "svg" in found.tags
    assert "default-src 'none'" in page
    assert len(found.ids) == len(set(found.ids))
    assert {address.removeprefix("#") for address in found.addresses} <= set(found.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(found.ids)
    assert "<b>here</b>" not in page
    assert "&lt;b&gt;here&lt;/b&gt;" in page


def test_the_same_files_give_the_same_page(page: str, report: ToleranceReport, kept: Path) -> None:
    """Neither the time nor a counter gets into HTML or Markdown."""
    assert page == tolerance_page(read_tolerance(kept), kept)
    assert markdown_page(report) == markdown_page(read_tolerance(kept))


def test_every_cell_is_told_with_its_reason(page: str, report: ToleranceReport) -> None:
    """Exact, usable, overlapping and unmeasured cells are all there, and only the first two have a number."""
    text = markdown_page(report)
    assert {found.verdict for found in report.cells} == {
        Verdict.EXACT,
        Verdict.USABLE,
        Verdict.OVERLAP,
        Verdict.UNMEASURED,
    }
    for found in report.cells:
        assert found.cell.name in page
        assert found.cell.name in text
        assert found.reason in cell_line(found)
        assert (row_of(found)[2] == "-") == (found.allowed is None)
    assert counted(report) == "8 cells: 2 exact, 1 usable, 1 overlap, 4 not measured"
    assert "sdpa-cudnn in float32 on cpu" in text


def test_what_is_missing_is_said(report: ToleranceReport) -> None:
    """A report of an interrupted sweep says how many cells were not reached."""
    for cells, words in ((report.cells[:3], "; 5 not reached yet"), ((), "0 cells: none; 8 not reached yet")):
        cut = ToleranceReport(sweep=report.sweep, environment={}, cells=cells, complete=False)
        assert counted(cut).endswith(words)


def called(*words: str) -> Result:
    return CliRunner().invoke(main, ["tolerance", *words])


def test_the_commands_measure_and_report(tmp_path: Path) -> None:
    """One sweep is measured into a file, pages are made from it, and a file of somebody else is not written over."""
    file, html, markdown = (str(tmp_path / name) for name in ("a.json", "a.html", "a.md"))
    small = (
        "--target",
        "exact",
        "--dtype",
        "float32",
        "--kernel",
        "eager",
        "--width",
        "3",
        "--prefix",
        "2",
        "--rows",
        "3",
    )
    measured = called("measure", file, *small)
    assert measured.exit_code == 0, measured.output
    assert "exact cpu float32 eager width 3 batch 1 prefix 2: exact: 3 rows bit for bit" in measured.output
    assert called("measure", file, *small, "--resume").output == ""
    shown = called("report", file, "--html", html, "--markdown", markdown)
    assert shown.exit_code == 0, shown.output
    assert "1 cell: 1 exact" in shown.output
    assert MARK in Path(html).read_text(encoding="utf-8")
    Path(markdown).write_text("mine", encoding="utf-8")
    refused = called("report", file, "--markdown", markdown)
    assert refused.exit_code == 2
    assert "is no tolerance page of tree-oracle" in refused.output


def test_a_planted_fault_ends_with_exit_code_1(tmp_path: Path) -> None:
    """The command that measures says so when something does not look like rounding; a wrong name is a wrong use."""
    size = (
        "--target",
        "tiny:llama",
        "--dtype",
        "float32",
        "--kernel",
        "sdpa",
        "--width",
        "12",
        "--prefix",
        "9",
        "--rows",
        "12",
    )
    found = called("measure", str(tmp_path / "a.json"), *size, "--fault", "row-shared-scale")
    assert found.exit_code == 1, found.output
    assert "[neighbours" in found.output
    wrong = called("measure", str(tmp_path / "b.json"), *size, "--fault", "rounding")
    assert wrong.exit_code == 2
    assert "unknown numerical fault 'rounding'" in wrong.output


def test_a_page_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where plots cannot be drawn, the message names the extra `plots` and what needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        MissingEngine, match="the extra `plots` .*pip install 'tree-oracle\\[plots\\]'.*--markdown needs"
    ):
        error_curves([], "none")


@pytest.mark.parametrize(("cells", "told"), [(0, "0 cells: none"), (1, "1 cell: "), (2, "2 cells: ")])
def test_one_cell_is_one_cell(cells: int, told: str) -> None:
    """The count of cells is a number with its noun."""
    sweep = Sweep(("exact",), "cpu", ("float32",), ("sdpa",), (9,), (1,), tuple(range(1, cells + 1)), rows=1)
    found = tuple(Found(cell, Verdict.UNMEASURED, "not here") for cell in sweep.cells)
    report = ToleranceReport(sweep=sweep, environment={}, cells=found, complete=True)
    assert counted(report).startswith(told)
    assert "1 row or more in each cell" in markdown_page(report)
