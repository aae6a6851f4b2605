"""A cell: one combination of everything that rounding depends on, and what was found in it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tree_oracle.numerics.compared import Errors
from tree_oracle.numerics.distance import Spread


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured. ``width`` counts rows of the tree pass, root included; ``prefix`` counts tokens, root included."""

    target: str
    device: str
    dtype: str
    kernel: str
    width: int
    batch: int
    prefix: int
    cache: str = "dynamic"  # that rows are held in (``held``)

    @property
    def name(self) -> str:
        """One line that a reader can tell cells apart by."""
        size = f"width {self.width} batch {self.batch} prefix {self.prefix}"
        held = "" if self.cache == "dynamic" else f" cache {self.cache}"
        return f"{self.target} {self.device} {self.dtype} {self.kernel} {size}{held}"


class Verdict(StrEnum):
    """What may be done with a cell."""

    EXACT = "exact"  # every row bit-equal, as it has to be on the exact model
    USABLE = "usable"  # the tolerance is feasible and has power
    OVERLAP = "overlap"  # noise and faults overlap: no number tells them apart
    INFEASIBLE = "infeasible"  # the plain pass itself exceeds what was measured of it
    UNDECIDED = "undecided"  # too few control rows to say anything of so many judged ones
    EXCEEDED = "exceeded"  # the tree pass is farther off than the plain pass explains
    NOT_ROUNDING = (
        "not rounding"  # what was measured of passes without a tree is no rounding: it would make room for itself
    )
    NOT_FINITE = "not finite"  # rows hold NaN or infinity
    UNMEASURED = "not measured"  # the place cannot do it; the reason says why


class Control(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The change of rows when they are computed again in a way that changes no history."""

    change: Spread
    equal: int  # rows that are the same bit for bit


class Effect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far rows of wrong histories, computed in the cell's dtype, lie from the right rows."""

    n: int
    smallest: float
    median: float
    caught: int  # that are farther off than the tolerance allows


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rule with its figures: allowed = 2 x ``sequential`` + ``floor``. What it is worth is in the verdict."""

    allowed: float
    sequential: float  # largest error of the plain pass on the rows that the rule was made from
    floor: float  # largest change in any control
    controls: int  # plain rows that the rule was made from
    judged: int  # rows of the tree pass that it was then tried on, without those judged apart
    by_chance: float  # judged / (controls + 1): how many exceed the largest control by chance alone
    exceeded: int  # judged rows above it
    unexplained: int  # of those, rows above 2 x the plain pass's error at the same history + floor
    plain_exceeded: int  # plain rows of the judged histories above it: 0 where it is feasible
    separation: (
        float  # smallest effect of a wrong history over allowed; above 1 it has power. 0 where nothing is allowed
    )


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything measured in a cell."""

    tree: Errors
    plain: Errors  # of the same histories
    passes: dict[str, Errors]  # of a chain, without any tree: decode and wide
    controls: dict[str, Control]
    effects: dict[str, Effect]
    tolerance: Tolerance
    kernels: tuple[str, ...]  # that the profile of a tree pass shows
    routed: int  # rows judged apart, since a rounding step sent them to other experts (``routing``)
    invariant: bool  # width changes no bit of any control row
    plain_kernels: tuple[str, ...] | None = (
        None  # that the profile of a plain pass shows; None: not asked, in older reports
    )


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell with its verdict. ``figures`` is missing where there was nothing to measure; ``reason`` says why."""

    cell: Cell
    verdict: Verdict
    reason: str
    figures: Figures | None = None
    signs: tuple[str, ...] = ()  # what does not look like rounding (``signs``)
    seconds: float = 0.0
    weights: str = ""  # SHA-256 of what was measured (``weights``); empty in reports of older releases

    @property
    def allowed(self) -> float | None:
        """The recommended tolerance in logits; ``None`` where no number tells noise from faults.

        A cell with a sign has none, whatever its verdict: the fault is in the very passes that the rule is made from.
        """
        if self.figures is None or self.signs or self.verdict not in (Verdict.EXACT, Verdict.USABLE):
            return None
        return self.figures.tolerance.allowed
