"""A tolerance report in lines and in Markdown. Everything is said of what was measured, and what was not is said to be so."""

from __future__ import annotations

from collections.abc import Iterable

from tree_oracle.numerics import Figures, Found, ToleranceReport, Verdict
from tree_oracle.numerics.signs import EXPLAINED
from tree_oracle.record import counted as number_of
from tree_oracle.report.markdown_text import cell, folded, prose
from tree_oracle.report.tolerance_spread import BOUND_MEANS, TABLES, number, standing

MARK = "<!-- tree-oracle tolerance -->"

MEANS = {
    Verdict.EXACT: "every row bit-equal, as it has to be on the exact model",
    Verdict.USABLE: "the plain pass meets the tolerance and every wrong history exceeds it",
    Verdict.OVERLAP: "noise and faults overlap, so there is no number",
    Verdict.INFEASIBLE: "the plain pass itself exceeds what was measured of it",
    Verdict.UNDECIDED: "too few control rows for so many judged ones",
    Verdict.EXCEEDED: "the tree pass is farther off than the plain pass explains",
    Verdict.NOT_ROUNDING: "what was measured without a tree does not look like rounding, so a rule from it would hide a fault",
    Verdict.NOT_FINITE: "rows hold NaN or infinity",
    Verdict.UNMEASURED: "the place cannot do it, for the reason given",
}
RULE = (
    "Allowed is 2 x the largest error of the plain pass + the largest change of a row between passes without any tree. It is "
    "made from one half of the rows and tried on the other. Errors are differences from a float64 run on the CPU over the same "
    "weights as the dtype holds them, in logits, up to a constant shift of a row."
)
HEAD = (
    "cell",
    "verdict",
    "allowed",
    "tree",
    "plain",
    "floor",
    "separation",
    "flips",
    "above, by chance",
    "width bits",
    "kernel",
)


def cell_line(found: Found) -> str:
    """One line of text."""
    signs = f" [{', '.join(found.signs)}]" if found.signs else ""
    return f"{found.cell.name}: {standing(found)}{signs}: {found.reason}"


def counted(report: ToleranceReport) -> str:
    """How many cells have each verdict, and whether any are missing."""
    kinds = [(kind, sum(found.verdict is kind for found in report.cells)) for kind in Verdict]
    told = ", ".join(f"{count} {kind.value}" for kind, count in kinds if count)
    missing = len(report.sweep.cells) - len(report.cells)
    return f"{number_of(len(report.cells), 'cell')}: {told or 'none'}" + (
        f"; {missing} not reached yet" if missing else ""
    )


def row_of(found: Found) -> tuple[str, ...]:
    """The figures of a cell, in the order of ``HEAD``; a dash where there is none."""
    figures = found.figures
    if figures is None:
        return (found.cell.name, found.verdict.value, *["-"] * (len(HEAD) - 2))
    rule, flips = figures.tolerance, figures.tree.choices
    return (
        found.cell.name,
        standing(found),
        "-" if found.allowed is None else number(found.allowed),
        number(figures.tree.gap.largest),
        number(figures.plain.gap.largest),
        number(rule.floor),
        number(rule.separation) if rule.allowed else "all differ",
        f"{flips.flips} of {flips.rows}, {flips.near_ties} near ties",
        f"{rule.exceeded} of {rule.judged}, {number(rule.by_chance)}",
        "equal" if figures.invariant else "differ",
        _kernels(figures),
    )


def _kernels(figures: Figures) -> str:
    """What the profile shows of each pass; reports of older releases hold the tree pass alone."""
    tree = ", ".join(figures.kernels) or "none seen"
    if figures.plain_kernels is None:
        return tree
    return f"tree {tree}; plain {', '.join(figures.plain_kernels) or 'none seen'}"


def operator_rows(found: Found) -> Iterable[tuple[str, ...]]:
    """The tree pass and the plain pass in operator owners' words."""
    if found.figures is None:
        return
    for name, errors in (("tree", found.figures.tree), ("plain", found.figures.plain)):
        words = errors.words
        small = f"{words.small_wrong} of {words.small}"
        figures = (number(words.mare), number(words.mere), number(words.rmse), small, number(errors.ulp_p50))
        yield (
            found.cell.name,
            name,
            *figures,
            f"{errors.balance:+.3f}",
            f"{1 - errors.cosine:.2g}",
            number(errors.choices.kl_max),
        )


OPERATOR_HEAD = ("cell", "pass", "MARE", "MERE", "RMSE", "small wrong", "ULP, median", "balance", "1 - cosine", "KL")


def markdown_page(report: ToleranceReport) -> str:
    """The whole text. The same report gives the same text."""
    sweep = report.sweep
    parts = [
        MARK,
        f"# Tolerances: {prose(', '.join(sweep.targets))} on {prose(sweep.device)}",
        prose(f"{counted(report)}. {number_of(sweep.rows, 'row')} or more in each cell, seed {sweep.seed}."),
        *([prose(f"A fault was planted on purpose: {sweep.fault}.")] if sweep.fault else []),
        prose(RULE),
        prose(BOUND_MEANS),
        _table(HEAD, map(row_of, report.cells)),
        "## Reasons",
        "\n".join(f"- {cell(found.cell.name)}: **{standing(found)}**. {prose(found.reason)}" for found in report.cells),
        *_signs(report),
        "## What the verdicts mean",
        "\n".join(f"- **{kind.value}**: {text}" for kind, text in MEANS.items()),
        *(
            folded(title, f"{prose(means)}\n\n{_table(head, [row for found in report.cells for row in rows(found)])}")
            for title, means, head, rows in TABLES
        ),
        folded("In operator owners' words", _table(OPERATOR_HEAD, _all_operator_rows(report))),
        folded("Place", _table(("fact", ""), sorted(report.environment.items()))),
    ]
    return "\n\n".join(parts) + "\n"


def _all_operator_rows(report: ToleranceReport) -> list[tuple[str, ...]]:
    return [row for found in report.cells for row in operator_rows(found)]


def _signs(report: ToleranceReport) -> list[str]:
    shown = [(found, sign) for found in report.cells for sign in found.signs]
    if not shown:
        return []
    lines = [f"- {cell(found.cell.name)}: **{sign}**: {prose(EXPLAINED[sign])}" for found, sign in shown]
    return ["## What does not look like rounding", "\n".join(lines)]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(cell(part) if part else "" for part in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
