"""What a kit holds, a line for each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from tree_oracle.kit import Kit


def print_kit(console: Console, kit: Kit) -> None:
    """Floors, margins, agreement and ties."""
    ties = sum(a != b for one in kit.tied for a, b in zip(one.smallest, one.largest, strict=True))
    floors = ", ".join(f"{floor.allowed:.3g} in {floor.dtype}" for floor in kit.floors)
    least = min(min(one.margins) for one in kit.quiet)
    for name, value in (
        ("target", f"{kit.architecture}, seed {kit.seed}, {kit.steps} steps"),
        ("floor", floors),
        ("quiet", f"{len(kit.quiet)} prompts; smallest margin {least:.3g}, {kit.least:.3g} asked for"),
        ("prefix", f"{kit.whole_prefix.found} of {kit.whole_prefix.of} changed tokens of them change the text"),
        ("drafter", f"agrees on {kit.agreement.found} of {kit.agreement.of} tokens ({kit.agreement.share:.0%})"),
        (
            "tied",
            f"{len(kit.tied)} prompts, {ties} ties, bit for bit in {', '.join(kit.tied_in) or 'no number format'}",
        ),
    ):
        console.print(Text(f"{name:<12}{value}"), soft_wrap=True)
