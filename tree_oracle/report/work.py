"""The work ledger and the cost of masks as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tree_oracle.numerics.ledger import RoundWork
from tree_oracle.numerics.mask_cost import MaskCost
from tree_oracle.numerics.profile import SizeWork


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


def print_profile(console: Console, found: Sequence[SizeWork]) -> None:
    """A line for each size; beside the block, how many times it is that of the first tree of the same depth."""
    head = ("nodes", "depth", "rows", "padding", "visible", "computed", "block", "mask", "logits", "cache")
    table, first = Table(*head, box=None), dict[int, int]()
    for one in found:
        work = one.work
        block = first.setdefault(one.depth, work.block)
        table.add_row(
            str(one.nodes),
            str(one.depth),
            str(work.rows),
            str(work.padding),
            "not shown" if work.visible is None else str(work.visible),
            str(work.computed),
            str(work.block) + (f" (x {work.block / block:.3g})" if work.block != block else ""),
            *(f"{size} B" for size in (work.mask_bytes, work.logit_bytes, work.cache_bytes)),
        )
    console.print(table)


def print_depths(console: Console, found: Sequence[MaskCost]) -> None:
    """A line for each kernel, size and depth; times are medians."""
    table = Table("kernel", "nodes", "prefix", "depth", "visible pairs", "time", "deeper takes longer", box=None)
    for one in found:
        for name in (name for name in one.median if name.startswith("depth ")):
            table.add_row(
                one.kernel,
                str(one.nodes),
                str(one.prefix),
                name.removeprefix("depth "),
                str(one.pairs[name]),
                f"{one.median[name] * 1e6:.0f} us",
                {True: "yes", False: "no difference seen", None: "one depth only"}[one.deeper],
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
