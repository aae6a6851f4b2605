"""The checks and the planted faults, as lists and as pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tree_oracle.report.ladder import rung

if TYPE_CHECKING:
    from tree_oracle.checks import Check
    from tree_oracle.faults import Planted


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def print_checks(console: Console, checks: Iterable[Check]) -> None:
    """One line per check."""
    table = _table("check", "level", "rung", "seen through", "law")
    for check in checks:
        seams = ", ".join(dict.fromkeys(source.seam.value for source in check.sources))
        table.add_row(check.id, check.level.value, f"L{check.rung}", seams, escape(check.law))
    console.print(table)


def print_check(console: Console, check: Check, faults: Iterable[Planted]) -> None:
    """The page of one check."""
    console.print(f"[bold]{check.id}[/bold]  {check.level.value}, {rung(check.rung)}\n")
    console.print(escape(check.page), soft_wrap=True)
    console.print(f"\nneeds     {', '.join(check.needs)}")
    for source in check.sources:
        console.print(f"cases     {source.scene.name}, through {source.seam.value}")
    console.print(f"source    {escape(check.source)}")
    for fault in faults:
        if fault.check == check.id:
            console.print(f"catches   {fault.name}: {escape(fault.sentence)}", soft_wrap=True)


def print_faults(console: Console, faults: Iterable[Planted]) -> None:
    """One line per planted fault."""
    table = _table("fault", "caught by", "what is wrong", "wakes on")
    for fault in faults:
        table.add_row(fault.name, fault.check, escape(fault.sentence), escape(fault.wakes))
    console.print(table)


def print_fault(console: Console, fault: Planted) -> None:
    """The page of one planted fault."""
    console.print(f"[bold]{fault.name}[/bold]  a planted fault of the class {fault.kind}\n")
    for name, text in (
        ("wrong", fault.sentence),
        *([("measure", fault.measure)] if fault.measure else []),
        ("wakes on", fault.wakes),
        ("caught by", fault.check),
        ("shows on", fault.target),
        ("seen in", fault.seen_in),
        ("twin", fault.twin_sentence),
        ("try it", f"tree-oracle check --fault {fault.name}"),
    ):
        console.print(escape(f"{name:<10}{text}"), soft_wrap=True)


def check_data(check: Check) -> dict[str, object]:
    """A check as plain data."""
    sources = [{"seam": source.seam.value, "cases": source.scene.name} for source in check.sources]
    return {
        "id": check.id,
        "family": check.family,
        "level": check.level.value,
        "rung": check.rung,
        "needs": list(check.needs),
        "sources": sources,
        "law": check.law,
        "source": check.source,
    }


def fault_data(fault: Planted) -> dict[str, str]:
    """A planted fault as plain data."""
    return {
        "name": fault.name,
        "class": fault.kind,
        "family": fault.family,
        "check": fault.check,
        "sentence": fault.sentence,
        "wakes": fault.wakes,
        "target": fault.target,
        "seen_in": fault.seen_in,
        "twin": fault.twin_sentence,
    }
