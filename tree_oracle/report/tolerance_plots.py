"""Plots of a tolerance report as SVG text that stands inside a page: no script, no font file, no link.

    curves   share of rows whose error is above x: the tree pass beside the plain pass, for each dtype
    flips    share of rows whose choice changed, against the margin of the true row
    map      every cell by its verdict and its separation

Colours tell nothing alone: lines differ in dashes and cells are written on.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tree_oracle.numerics import Found, ToleranceReport, Verdict
from tree_oracle.numerics.choices import by_margin
from tree_oracle.numerics.document import Arrays
from tree_oracle.record import MissingEngine

_COLOURS = {"float64": "#7a8b99", "float32": "#2f81c9", "bfloat16": "#d9822b", "float16": "#4fa35a"}
_FILLS = {
    Verdict.EXACT: "#4fa35a",
    Verdict.USABLE: "#8cc796",
    Verdict.OVERLAP: "#e0b04c",
    Verdict.INFEASIBLE: "#d9822b",
    Verdict.UNDECIDED: "#b9a7d6",
    Verdict.EXCEEDED: "#d9534f",
    Verdict.NOT_ROUNDING: "#c2577a",
    Verdict.NOT_FINITE: "#c0392b",
    Verdict.UNMEASURED: "#9aa4b0",
}
Measured = Sequence[tuple[Found, Arrays]]


def error_curves(measured: Measured, name: str) -> str:
    """Errors of all cells of one target, by dtype; empty where there are none."""
    figure, axes = _figure(name, 6.4, 3.6)
    for dtype, colour in _COLOURS.items():
        for which, dashes in (("tree", "-"), ("plain", "--")):
            found = [arrays[which] for cell, arrays in measured if cell.cell.dtype == dtype and which in arrays]
            gaps = np.sort(np.concatenate(found)) if found else np.array([])
            if len(gaps) and gaps[-1] > 0:
                above = 1 - np.arange(len(gaps)) / len(gaps)
                axes.step(gaps, above, dashes, color=colour, label=f"{dtype} {which}", where="post", linewidth=1.4)
    axes.set(xscale="log", yscale="log", xlabel="error, logits", ylabel="share of rows above")
    _label_decades(axes.xaxis)
    return _drawn(figure, axes, name)


def flips_by_margin(measured: Measured, name: str) -> str:
    """Flips of the tree pass against the margin of the true row, by dtype."""
    figure, axes = _figure(name, 6.4, 3.2)
    for dtype, colour in _COLOURS.items():
        found = [arrays for cell, arrays in measured if cell.cell.dtype == dtype and "margin" in arrays]
        if not found:
            continue
        changed, room = (np.concatenate([arrays[which] for arrays in found]) for which in ("flipped", "margin"))
        bins = by_margin(changed, room, bins=12)
        middles = [(low + high) / 2 for low, high, _, _ in bins]
        axes.plot(middles, [flips / rows for *_, rows, flips in bins], "o-", color=colour, label=dtype, markersize=4)
    axes.set(xlabel="margin of the true row, logits", ylabel="share of choices changed")
    return _drawn(figure, axes, name)


def cell_map(report: ToleranceReport, name: str) -> str:
    """Rows are target, kernel and size; columns are dtypes."""
    places = list(dict.fromkeys(_place(found) for found in report.cells))
    dtypes = list(dict.fromkeys(found.cell.dtype for found in report.cells))
    figure, axes = _figure(name, 3.6 + 1.5 * len(dtypes), 0.7 + 0.28 * len(places))
    for found in report.cells:
        across, down = dtypes.index(found.cell.dtype), places.index(_place(found))
        axes.add_patch(_square(across, down, _FILLS[found.verdict]))
        axes.text(
            across + 0.5,
            down + 0.5,
            _label(found),
            ha="center",
            va="center",
            fontsize=7,
            gid=f"on-fill-{down}-{across}",
        )
    axes.set(xlim=(0, len(dtypes)), ylim=(len(places), 0))
    axes.set_xticks(np.arange(len(dtypes)) + 0.5, dtypes)
    axes.set_yticks(np.arange(len(places)) + 0.5, places, fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return _text(figure, name)


def _place(found: Found) -> str:
    cell = found.cell
    return f"{cell.target} {cell.kernel} w{cell.width} b{cell.batch} p{cell.prefix}"


def _label(found: Found) -> str:
    if found.verdict is Verdict.USABLE and found.allowed is not None and found.figures is not None:
        return f"{found.allowed:.1e}, x{found.figures.tolerance.separation:.2g}"
    return ", ".join((found.verdict.value, *found.signs))


def _square(across: int, down: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((across + 0.02, down + 0.05), 0.96, 0.9, facecolor=colour, edgecolor="none")


def _figure(name: str, width: float, height: float) -> tuple[Any, Any]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingEngine(
            f"the page has plots, which need the extra `plots` ({error}); install it with: pip install 'tree-oracle[plots]'. "
            "--markdown needs nothing more"
        ) from error
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9})
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _label_decades(axis: Any) -> None:
    """Numbers between powers of ten only where fewer than about half a decade is shown: over more they overlap."""
    from matplotlib.ticker import LogFormatterSciNotation

    axis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(0.6, 0.2)))


def _drawn(figure: Any, axes: Any, name: str) -> str:
    if not axes.lines:
        return ""
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7, frameon=False)
    return _text(figure, name)


def _text(figure: Any, name: str) -> str:
    """The SVG element alone; black becomes the page's own colour, ids are this plot's own."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = svg.replace("#000000", "currentColor")
    key = re.sub(r"\W+", "-", name)
    svg = re.sub(r'\bid="', f'id="{key}-', svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{key}-", svg)
