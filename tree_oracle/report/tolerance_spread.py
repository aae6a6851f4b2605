"""What lies behind the verdicts of a tolerance report: every pass, control and wrong history by its quantiles and counts.

A rule that n judged rows kept is no promise for all rows. If a share p of rows exceeded it, n independent rows would all keep
it with chance (1 - p)^n; that is at least 5 % up to p = 1 - 0.05^(1/n), so this is the largest share that was not ruled out at
95 % (Clopper and Pearson, 1934, for none seen): 28.3 % after 9 rows, 0.06 % after 5,000. Rows of one tree share their prefix,
so it is a least figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context

from tree_oracle.numerics import Errors, Found, Verdict
from tree_oracle.numerics.distance import Spread
from tree_oracle.record import counted

Row = tuple[str, ...]

SPREAD_HEAD = ("cell", "what", "rows", "p50", "p90", "p99", "largest", "RMS", "bit for bit")
CHOICES_HEAD = ("cell", "pass", "rows", "flips", "widest flip", "ties", "near ties", "KL, mean", "KL, largest")
EFFECTS_HEAD = ("cell", "wrong history", "tried", "smallest", "median", "farther than allowed")
SPREAD_MEANS = (
    "Errors of passes against float64 (decode: a chain, one token at a time; wide: the same chain at once), and changes of "
    "rows between passes without any tree (repeat: again; width: decode against wide; layout: cached rows in another order; "
    "cached: decode against plain; batch: together against alone). A quantile is a figure that was seen."
)
CHOICES_MEANS = (
    "How often rounding changes the largest logit. A flip has it at another token than float64; a tie has several bit-equal "
    "largest logits; a near tie has a margin in float64 of at most twice what is allowed."
)
EFFECTS_MEANS = (
    "How far rows of wrong histories lie from the right ones: one token another (token), missing (dropped) or too many "
    "(added), or two neighbours that have changed places (swapped)."
)
BOUND_MEANS = (
    "A usable cell names its judged rows and, if none exceeded the rule, the largest share of rows exceeding it that so many "
    "independent ones leave possible at 95 %: 1 - 0.05^(1/n). Rows of one tree share a prefix, so it is a least figure."
)

_PERCENT = Context(prec=2, rounding=ROUND_CEILING)  # a bound that is rounded stays one


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}"


def largest_share(rows: int) -> float:
    """The largest share of exceeding rows that ``rows`` independent ones, none of which exceeds, leave possible at 95 %."""
    return float(1 - 0.05 ** (1 / rows))


def standing(found: Found) -> str:
    """The verdict; a usable one with how many rows stand behind it."""
    if found.verdict is not Verdict.USABLE or found.figures is None:
        return found.verdict.value
    rule = found.figures.tolerance
    share = _PERCENT.create_decimal(100 * largest_share(rule.judged))
    seen = f"{rule.exceeded} above" if rule.exceeded else f"at most {float(share):g} %"
    return f"{found.verdict.value} ({counted(rule.judged, 'row')}, {seen})"


def spread_rows(found: Found) -> Iterable[Row]:
    """Passes and controls by their quantiles, in the order of ``SPREAD_HEAD``."""
    figures = found.figures
    if figures is None:
        return
    for name, errors in _passes(found):
        yield (found.cell.name, f"error of {name}", *_quantiles(errors.gap), "-")
    for name, control in figures.controls.items():
        told = f"{control.equal} of {control.change.n}"
        yield (found.cell.name, f"change by {name}", *_quantiles(control.change), told)


def choice_rows(found: Found) -> Iterable[Row]:
    """Flips, ties and near ties of each pass, in the order of ``CHOICES_HEAD``."""
    for name, errors in _passes(found):
        made = errors.choices
        counts = (str(made.rows), str(made.flips), number(made.widest_flip), str(made.ties), str(made.near_ties))
        yield (found.cell.name, name, *counts, number(made.kl_mean), number(made.kl_max))


def effect_rows(found: Found) -> Iterable[Row]:
    """Wrong histories by kind, in the order of ``EFFECTS_HEAD``."""
    for kind, effect in found.figures.effects.items() if found.figures is not None else ():
        told = f"{effect.caught} of {effect.n}"
        yield (found.cell.name, kind, str(effect.n), number(effect.smallest), number(effect.median), told)


# Title, what it means, head, and the rows of a cell: the same tables in every form of the report.
TABLES = (
    ("Errors and changes by quantile", SPREAD_MEANS, SPREAD_HEAD, spread_rows),
    ("Choices that change", CHOICES_MEANS, CHOICES_HEAD, choice_rows),
    ("Wrong histories", EFFECTS_MEANS, EFFECTS_HEAD, effect_rows),
)


def _passes(found: Found) -> list[tuple[str, Errors]]:
    figures = found.figures
    return [] if figures is None else [("tree", figures.tree), ("plain", figures.plain), *figures.passes.items()]


def _quantiles(spread: Spread) -> Row:
    return (str(spread.n), *map(number, (spread.p50, spread.p90, spread.p99, spread.largest, spread.rms)))
