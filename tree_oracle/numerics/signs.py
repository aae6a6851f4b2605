"""What does not look like rounding, told from controls that involve no tree.

Rounding is as large in one pass as in another, repeats bit for bit, and in each row depends on that row's own history alone.
Each sign is one of these sentences broken:

    not repeatable   the same pass again gives other bits
    neighbours       rows of a pass change with the tokens of later ones, as under one scale for all rows (``neighbours``). In a
                     mixture of experts asked only where the other tokens go to the same experts
    width            many rows in one pass are more than twice as far off as one row at a time: activations are rounded there
    state            rows behind a cached prefix are more than twice as far off as rows without a cache: it stores too little
    empty row        only the tree pass, or only a wide one, has rows that are not finite
    tree alone       tree rows exceed the tolerance and twice the plain pass's error of their own history, and no sign above
                     says why

"More than twice" is asked of the largest and of the median error over the *same* histories, beyond what the same pass again
changes. One row in a mixture of experts that goes to other experts moves the largest; only a different arithmetic moves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tree_oracle.numerics.cell import Verdict
from tree_oracle.numerics.distance import Spread

REPEAT, NEIGHBOURS, WIDTH, STATE, EMPTY, TREE = (
    "not repeatable",
    "neighbours",
    "width",
    "state",
    "empty row",
    "tree alone",
)
EXPLAINED = {
    REPEAT: "the same pass again gives other bits: its kernels do not repeat",
    NEIGHBOURS: "a row changes with the tokens of later rows in the same pass: they share something, such as a scale",
    WIDTH: "rows computed together are more than twice as far off as rows computed alone: the arithmetic depends on width",
    STATE: "rows behind a cached prefix are more than twice as far off as rows without one: the cache stores too little",
    EMPTY: "a pass over many rows holds rows that are not finite while plain ones are: a softmax over nothing, or an overflow",
    TREE: "tree rows are off by more than the plain pass explains, and no pass without a tree is",
}
FACTOR = 2.0  # the rule's own: see ``tolerance``


@dataclass(frozen=True, slots=True)
class Shown:
    """What the signs are read from. Errors are those against float64."""

    plain: Spread  # no cache, a row at a time
    cached: Spread  # behind a cache, a row at a time: the same histories
    decode: Spread  # a chain, a row at a time
    wide: Spread  # the same chain, all rows at once
    repeated: float  # largest change when a pass is repeated
    beside: int  # rows that changed with their neighbours
    unexplained: int  # tree rows beyond the rule and beyond twice the plain pass's error
    measurable: bool = (
        True  # the reference is of a wider dtype; else errors are differences and do not say which side is off
    )


def signs(found: Shown) -> tuple[str, ...]:
    """The signs that show in finite rows, in the order above."""
    width = found.measurable and _larger(found.wide, found.decode, found.repeated)
    state = found.measurable and _larger(found.cached, found.plain, found.repeated)
    broken = {
        REPEAT: found.repeated > 0,
        NEIGHBOURS: found.beside > 0,
        WIDTH: width,
        STATE: state,
        TREE: found.unexplained > 0 and not (width or state or found.beside),
    }
    return tuple(name for name, shows in broken.items() if shows)


def despite(shown: tuple[str, ...], decided: Verdict, reason: str) -> tuple[Verdict, str]:
    """The verdict and its reason where signs show: a rule that is made from a fault is no rule, however feasible.

    A verdict that names a fault of the tree pass already stays.
    """
    if not shown or decided is Verdict.EXCEEDED:
        return decided, reason
    names = " and ".join(shown)
    return (
        Verdict.NOT_ROUNDING,
        f"the passes without a tree show {names}; but for that the cell is {decided.value}: {reason}",
    )


def signs_of_loss(lost: Mapping[str, int]) -> tuple[str, ...]:
    """The signs in how many rows of each pass are not finite: those of a row at a time are the plain and decode ones."""
    alone = any(lost.get(name, 0) for name in ("sequential", "plain", "decode"))
    return (EMPTY,) if any(lost.values()) and not alone else ()


def _larger(one: Spread, other: Spread, repeated: float) -> bool:
    return one.largest > FACTOR * other.largest + repeated and one.p50 > FACTOR * other.p50 + repeated
