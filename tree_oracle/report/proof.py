"""The proof that the battery tells right from wrong, a line at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from tree_oracle.run import Proof


def print_proof(console: Console, proof: Proof) -> None:
    """One line: what was run, how it went, and what was said."""
    told = f"{proof.check} at case {proof.caught_at}: " if proof.caught_at is not None else ""
    line = Text.assemble(
        (f"{'ok' if proof.good else 'NOT OK':<8}", "green" if proof.good else "bold red"),
        f"{proof.what:<11}{proof.name:<30}{proof.target:<12}{told}{proof.statement}",
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    console.print(line)
