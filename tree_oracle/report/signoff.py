"""The sign-off sheet as Markdown: two questions, answered apart, and what was not asked."""

from __future__ import annotations

from tree_oracle.numerics.bundle import Sheet
from tree_oracle.numerics.bundle.sheet import Answer, SiteFigures
from tree_oracle.record import counted
from tree_oracle.report.markdown_text import cell, prose

MARK = "<!-- tree-oracle sign-off -->"

_HEAD = ("site", "pass", "largest error", "MARE", "MERE", "RMSE", "small wrong")
_ANSWER = ("site", "against", "MARE", "MERE", "RMSE", "small wrong", "L0", "L1", "L2")
_TITLES = {
    1: "1. Is the tree pass as good as the sequential one on this device?",
    2: "2. Is this device as good as another one?",
}


def signoff_page(sheet: Sheet) -> str:
    """The whole text. The same sheet gives the same text."""
    bundle = sheet.bundle
    parts = [
        MARK,
        f"# Sign-off: {cell(bundle.target)}",
        prose(
            f"{counted(bundle.instances, 'tree')} of {counted(bundle.width, 'row')} behind {counted(bundle.prefix, 'token')}, "
            f"seed {bundle.seed}. Golden rows are float64 rows from the CPU for the weights as each dtype holds them; the "
            f"program that ran on the sites agrees with them to {bundle.agreement:.2g} logits in float64."
        ),
        _table(_HEAD, [row for site in sheet.sites for row in _site_rows(site)]),
        f"## {_TITLES[1]}",
        "\n".join(f"- {cell(site.site.name)}: {prose(rule_line(site))}" for site in sheet.sites),
        _ratios(sheet, 1),
        f"## {_TITLES[2]}",
        _ratios(sheet, 2) or "Not measured: no two sites ran the same dtype and kernel.",
        prose(
            "A figure is a ratio of errors against the golden rows: tree over plain in question 1, site over site in question "
            "2. A limit that a correct plain pass exceeds is infeasible and judges nothing."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def rule_line(found: SiteFigures) -> str:
    """The rule of the tolerances on one site, and whether its passes repeat."""
    if found.lost:
        return f"rows that are not finite: {found.lost}; nothing else is said"
    tree, plain, width = found.gap["tree"], found.gap["plain"], found.width
    holds = "holds" if found.holds else "does not hold"
    again = "repeats bit for bit" if not found.again else f"gives other bits when repeated, rows: {found.again}"
    sum_ = f"2 x {plain:.3g} + {width:.3g} = {found.allowed:.3g}"
    return f"the rule {holds}: tree error {tree:.3g}, allowed {sum_} logits; the tree pass {again}"


def _site_rows(found: SiteFigures) -> list[tuple[str, ...]]:
    return [
        (
            found.site.name,
            name,
            f"{found.gap[name]:.3g}",
            f"{words.mare:.3g}",
            f"{words.mere:.3g}",
            f"{words.rmse:.3g}",
            f"{words.small_wrong} of {words.small}",
        )
        for name, words in found.words.items()
    ]


def _ratios(sheet: Sheet, question: int) -> str:
    rows = [_row(answer) for answer in sheet.answers if answer.question == question]
    return _table(_ANSWER, rows) if rows else ""


def _row(answer: Answer) -> tuple[str, ...]:
    found = answer.ratios
    figures = [found.mare, found.mere, found.rmse, found.small_wrong]
    told = ["no ratio" if one is None else f"{one:.3g}" for one in figures]
    return (answer.site, answer.other or "its own plain pass", *told, *answer.limits.values())


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(map(cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
