"""The proof that the battery tells right from wrong and the matrix of faults and seams, a line at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_oracle.run import Cell, Proof


def print_proof(console: Console, proof: Proof) -> None:
    """One line: what was run, how it went, and what was said."""
    told = f"{proof.check} at case {proof.caught_at}: " if proof.caught_at is not None else ""
    line = Text.assemble(
        (f"{'ok' if proof.good else 'NOT OK':<8}", "green" if proof.good else "bold red"),
        f"{proof.what:<11}{proof.name:<30} {proof.target:<12} {told}{proof.statement}",
    )
    console.print(line, soft_wrap=True)


def print_cell(console: Console, cell: Cell) -> None:
    """One line: fault, seam, the check that saw it, and how its cause was named."""
    if cell.named is None:
        told, style = "not seen", "dim"
    else:
        told = f"{cell.check:<14}{cell.named}{', certain' if cell.certain else ''}"
        told += f": {', '.join(cell.causes)}" if len(cell.causes) > 1 else ""
        style = "" if cell.good else "bold red"
    line = Text(f"{cell.fault:<36} {cell.seam:<14} {told}", style=style)
    console.print(line, soft_wrap=True)


def print_matrix(console: Console, cells: Sequence[Cell]) -> None:
    """What the cells come to."""
    seen = [cell for cell in cells if cell.named is not None]
    first = sum(cell.named in ("alone", "first") for cell in seen)
    wrong = sum(not cell.good for cell in cells)
    share = f" ({first / len(seen):.1%})" if seen else ""
    console.print(
        f"\n{len(seen)} of {len(cells)} cells see their fault; the right cause is named first in {first}{share}; "
        f"a wrong cause is called certain in {wrong}"
    )
