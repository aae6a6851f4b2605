"""What the doctor found, a line at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from tree_oracle.run import Examined

_WORDS = {True: ("ok", "green"), False: ("ADAPTER", "bold red"), None: ("-", "dim")}


def print_examined(console: Console, line: Examined) -> None:
    """One line: whether it is well, the seam, and what was found."""
    word, style = _WORDS[line.good]
    console.print(Text.assemble((f"{word:<9}", style), f"{line.seam:<14} {line.sentence}"), soft_wrap=True)
