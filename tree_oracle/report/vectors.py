"""The corpus and a run over it, on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tree_oracle.record import Status
from tree_oracle.report.terminal import STYLES

if TYPE_CHECKING:
    from tree_oracle.vectors.model import AnyGroup, AnyVector, Flag
    from tree_oracle.vectors.runner import VectorReport, VectorResult

_SHOWN = 20  # vectors that did not pass and are told one by one


def print_groups(console: Console, groups: Iterable[AnyGroup]) -> None:
    """One line for each group."""
    table = Table("group", "operation", "vectors", "about", box=None, pad_edge=False, header_style="bold")
    for group in groups:
        table.add_row(group.group, group.operation, str(len(group.vectors)), group.about)
    console.print(table)


def print_vectors(console: Console, vectors: Iterable[AnyVector]) -> None:
    """One line for each vector."""
    for vector in vectors:
        console.print(Text(f"{vector.id:<22}{vector.comment}  [{', '.join(vector.flags)}]"), soft_wrap=True)


def print_flag(console: Console, name: str, flag: Flag) -> None:
    """What a flag stands for."""
    console.print(Text(f"{name}: {flag.bug_type}; {flag.effect} ({flag.fault_class})"), soft_wrap=True)


def print_vector_result(console: Console, result: VectorResult) -> None:
    """One line for a vector that failed or is in error."""
    line = Text.assemble((f"{result.id:<22}", "bold"), (f"{result.status.value:<8}", STYLES[result.status]))
    console.print(Text.assemble(line, result.sentence), soft_wrap=True)


def print_vector_report(console: Console, report: VectorReport) -> None:
    """What did not pass, and which flags it has in common; the counts; the verdict."""
    bad = [result for result in report.results if result.status in (Status.FAILED, Status.ERROR)]
    for result in bad[:_SHOWN]:
        print_vector_result(console, result)
    if len(bad) > _SHOWN:
        console.print(f"... and {len(bad) - _SHOWN} more; --json has them all")
    for reason, count in Counter(r.sentence for r in report.results if r.status is Status.NOT_OBSERVABLE).items():
        console.print(Text(f"not seen  {count} vectors: {reason}"), soft_wrap=True)
    if report.problem:
        console.print(Text(f"problem   {report.problem}", style="bold red"), soft_wrap=True)
    failed = Counter(flag for result in bad if result.status is Status.FAILED for flag in result.flags)
    if failed:
        common = ", ".join(
            f"{flag} {count}" for flag, count in sorted(failed.items(), key=lambda one: (-one[1], one[0]))
        )
        console.print(Text(f"flags     {common}"), soft_wrap=True)
    counts = report.counts
    console.print(f"vectors   {', '.join(f'{counts[status]} {status.value}' for status in Status)}", soft_wrap=True)
    console.print(f"corpus    {report.digest}", soft_wrap=True)
    words = {0: "every vector that was asked passed", 1: "failed", 3: "error", 4: "nothing was shown"}
    style = {0: "bold green", 1: "bold red"}.get(report.exit_code, "bold yellow")
    console.print(Text(f"verdict   {words[report.exit_code]} (exit code {report.exit_code})", style=style))
