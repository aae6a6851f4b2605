"""The work ledger and the cost of masks as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tree_oracle.numerics.ledger import RoundWork
from tree_oracle.numerics.mask_cost import MaskCost


def print_work(console: Console, found: Sequence[RoundWork]) -> None:
    """A line for each round."""
    head = (
        "round",
        "pool",
        "packed by depth",
        "rows",
        "again",
        "padding",
        "visible",
        "computed",
        "mask",
        "logits",
        "cache",
    )
    table = Table(*head, box=None)
    for number, one in enumerate(found):
        table.add_row(
            str(number),
            "not shown" if one.pool is None else str(one.pool),
            " ".join(map(str, one.packed)) or "none",
            str(one.rows),
            str(one.again),
            str(one.padding),
            "not shown" if one.visible is None else str(one.visible),
            str(one.computed),
            *(f"{size} B" for size in (one.mask_bytes, one.logit_bytes, one.cache_bytes)),
        )
    console.print(table)


def print_costs(console: Console, found: Sequence[MaskCost]) -> None:
    """A line for each kernel and size; times are medians."""
    table = Table("kernel", "nodes", "prefix", "star", "chain", "all-visible", "pairs", "forbidden pairs", box=None)
    for one in found:
        table.add_row(
            one.kernel,
            str(one.nodes),
            str(one.prefix),
            *(f"{one.median[shape] * 1e6:.0f} us" for shape in ("star", "chain", "all")),
            " / ".join(str(one.pairs[shape]) for shape in ("star", "chain", "all")),
            "skipped" if one.skips else "no difference seen",
        )
    console.print(table)
