"""A tolerance report as one HTML file: tables, plots and reasons, without network or script (see ``html``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from tree_oracle.numerics import ToleranceReport, read_cell_arrays
from tree_oracle.numerics.signs import EXPLAINED
from tree_oracle.record.files import write_bytes
from tree_oracle.report.html import page_environment
from tree_oracle.report.tolerance import HEAD, MARK, MEANS, OPERATOR_HEAD, RULE, counted, operator_rows, row_of
from tree_oracle.report.tolerance_plots import cell_map, error_curves, flips_by_margin
from tree_oracle.report.tolerance_spread import BOUND_MEANS, TABLES, standing


def tolerance_page(report: ToleranceReport, path: Path) -> str:
    """The whole page; the rows behind the figures are read from beside ``path``. The same files give the same text.

    Raises:
        MissingEngine: matplotlib is not installed.
        FileError: the rows cannot be read.
    """
    return page_environment().get_template("tolerance.html").render(**_facts(report, path))


def write_tolerance_html(path: Path, report: ToleranceReport, source: Path) -> None:
    """Write the whole page or nothing.

    Raises:
        MissingEngine, FileError: as for ``tolerance_page``.
    """
    write_bytes(path, tolerance_page(report, source).encode())


def _facts(report: ToleranceReport, path: Path) -> dict[str, Any]:
    measured = [(found, read_cell_arrays(path, number)) for number, found in enumerate(report.cells)]
    curves = []
    for target in dict.fromkeys(found.cell.target for found in report.cells):
        own = [(found, arrays) for found, arrays in measured if found.cell.target == target]
        curves.append((target, Markup(error_curves(own, f"errors-{target}"))))
    return {
        "mark": Markup(MARK),
        "report": report,
        "counted": counted(report),
        "rule": RULE,
        "bound": BOUND_MEANS,
        "standing": standing,
        "tables": [
            (title, means, head, [row for found in report.cells for row in rows(found)])
            for title, means, head, rows in TABLES
        ],
        "head": HEAD,
        "rows": [row_of(found) for found in report.cells],
        "operator_head": OPERATOR_HEAD,
        "operator_rows": [row for found in report.cells for row in operator_rows(found)],
        "means": {kind.value: text for kind, text in MEANS.items()},
        "explained": EXPLAINED,
        "curves": curves,
        "flips": Markup(flips_by_margin(measured, "flips")),
        "map": Markup(cell_map(report, "map")) if report.cells else "",
    }
