"""A comparison on a terminal: what got worse first."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tree_oracle.report.compare import Change, Comparison, Kind
from tree_oracle.report.ladder import rung
from tree_oracle.report.plain import on_one_line

_TOLD = (
    (Kind.BROKEN, "broken", "bold red"),
    (Kind.NEWLY_FAILING, "newly failing: not seen to pass before", "bold red"),
    (Kind.LOST, "no longer seen: passed before, and nothing is said now", "bold yellow"),
    (Kind.STILL_FAILING, "still failing", "red"),
    (Kind.HIDDEN, "failed before, and not seen now: not mended", "yellow"),
    (Kind.FIXED, "fixed", "green"),
    (Kind.GAINED, "seen to pass, and not before", "green"),
)

_OUTCOMES = (
    ("outcomes_lost", "outcomes that no longer come about"),
    ("outcomes_strayed", "outcomes of the run that failed, no loss where a right one need not come to them"),
    ("outcomes_gained", "new outcomes"),
)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Everything that changed or still fails, the figures, and one line that sums it up."""
    for kind, words, style in _TOLD:
        changes = comparison.of(kind)
        if changes:
            console.print(Text(f"{words} ({len(changes)})", style=style))
        for change in changes:
            console.print(Text(f"  {_line(change)}"), soft_wrap=True)
    for name, words in _OUTCOMES:
        if getattr(comparison, name):
            console.print(Text(f"{words}: {', '.join(map(on_one_line, getattr(comparison, name)))}"), soft_wrap=True)
    _print_figures(console, comparison)
    style = "bold red" if comparison.worse else "bold green"
    console.print(Text(_summary(comparison), style=style), soft_wrap=True)


def _line(change: Change) -> str:
    before, after = (status.value if status is not None else "not run" for status in (change.before, change.after))
    why = f": {on_one_line(change.why)}" if change.why else ""
    level = "" if change.level.value == "must" else f" ({change.level.value})"
    return f"{on_one_line(change.check):<13}{before} -> {after}{level}{why}"


def _print_figures(console: Console, comparison: Comparison) -> None:
    if comparison.obstacles:
        console.print(Text("figures are not compared, since the runs differ in", style="yellow"))
    for obstacle in comparison.obstacles:
        console.print(Text(f"  {on_one_line(obstacle)}"), soft_wrap=True)
    for figure in comparison.figures:
        console.print(Text(f"figure  {figure.name}: {figure.before} -> {figure.after}"), soft_wrap=True)


def _summary(comparison: Comparison) -> str:
    before, after = (rung(number) for number in comparison.held)
    held = f"held: {before}" if before == after else f"held: {before} -> {after}"
    if comparison.same:
        return f"nothing changed; {held} (exit code {comparison.exit_code})"
    word = "worse" if comparison.worse else "no worse"
    return f"{word}; {held} (exit code {comparison.exit_code})"
