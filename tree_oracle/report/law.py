"""Verification laws in the terminal: tables of rules and pairs of laws, and what a black box showed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from tree_oracle.report.catalogue import _table

if TYPE_CHECKING:
    from tree_oracle.run.law_sampling import BlackBox
    from tree_oracle.run.law_table import Measured, Ruled
    from tree_oracle.verify.law import Ruling
    from tree_oracle.verify.rules import Card

_STYLES = {"proven": "green", "approximate": "yellow", "flagged": "red"}


def print_ruled(console: Console, rows: Iterable[Ruled]) -> None:
    """One line per declaration."""
    table = _table("rule", "", "siblings proposed", "standing", "evidence")
    for row in rows:
        standing = f"[{_STYLES[row.standing]}]{row.standing}[/]"
        said = f"{row.reason}; {row.evidence}" if row.reason else row.evidence
        table.add_row(row.rule, row.number, f"{row.siblings} {row.proposal}", standing, escape(said))
    console.print(table)


def print_measured(console: Console, rows: Iterable[Measured]) -> None:
    """One line per rule, proposal and pair of laws."""
    table = _table("rule", "siblings proposed", "laws", "total variation", "acceptance", "accepted", "bound")
    for row in rows:
        wrong = row.exact and row.total_variation != "0"  # in floats it may be 1e-16
        table.add_row(
            row.rule,
            row.proposal,
            row.instance,
            f"{row.total_variation}{' (rounded)' if wrong else ''}",
            row.acceptance,
            row.expected_length,
            row.bound,
        )
    console.print(table)


def print_card(console: Console, card: Card) -> None:
    """The page of one rule."""
    kind = "an approximate mode" if card.approximate else f"an exact rule, {card.number}" if card.number else "reduced"
    console.print(f"[bold]{card.name}[/bold]  {kind}\n")
    assumed = "; ".join(card.assumptions) or "none"
    for name, text in (("formula", card.formula), ("used by", card.source), ("assumes", assumed)):
        console.print(escape(f"{name:<10}{text}"), soft_wrap=True)
    console.print()


def print_ruling(console: Console, ruling: Ruling) -> None:
    """What may be said of a declared mode."""
    console.print(f"[bold]declared[/bold]   {escape(ruling.mode)}", soft_wrap=True)
    console.print(f"standing   [{_STYLES[ruling.standing.value]}]{ruling.standing.value}[/]")
    console.print(f"evidence   {escape(ruling.evidence)}", soft_wrap=True)
    for reason in ruling.reasons:
        console.print(f"because    {escape(reason)}", soft_wrap=True)


def print_black_box(console: Console, found: BlackBox) -> None:
    """What sampling showed, with both figures without which it means nothing: false alarm and detectable distance."""
    laws = f"target {list(found.target)}, draft {list(found.draft)}"
    verdict = "[red]does not follow the target[/]" if found.refuted else "no evidence against the target's law"
    size = "infinite" if found.log10_e is None else f"10^{found.log10_e:.1f}"
    console.print(f"\n[bold]sampled[/bold]    {found.sessions} sessions of {found.rounds} rounds; {escape(laws)}")
    console.print(f"verdict    {verdict}: e = {size}, {found.tokens} tokens", soft_wrap=True)
    console.print(f"alarm      a right decoder is called wrong at most once in {1 / found.false_alarm:,.0f} runs")
    console.print(
        f"power      a total variation of {found.detectable:.3f} is expected to show after the commonest history "
        f"({found.often} tokens)",
        soft_wrap=True,
    )
    if found.first_token is not None:
        console.print(f"first      P = {found.first_token:.3g} for the first token alone, at the number fixed before")
    shares = ", ".join(f"{seen:.3f} for {due:.3f}" for seen, due in zip(found.seen, found.due, strict=True))
    console.print(f"farthest   after {escape(str(list(found.history)))}: {shares}", soft_wrap=True)
