"""The floor of a target as a tolerance report has it, for the checks to judge by.

A report speaks of the weights, device, dtype and kernel that it measured, and of nothing else: one of others is refused. All
of its cells for this target are taken together, whatever their sizes: the largest error, the largest change, the smallest
effect of a wrong history. One cell that gives no number (noise and faults overlap, a sign of something else than rounding, ...)
takes the number from all, so a report is best measured at the sizes that are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tree_oracle.numerics.cell import Figures, Found, Verdict
from tree_oracle.numerics.document import ToleranceReport, read_tolerance
from tree_oracle.numerics.held import DYNAMIC
from tree_oracle.numerics.weights import weights_of
from tree_oracle.record import Noise, UsageError
from tree_oracle.record.installed import FILES
from tree_oracle.target import Target
from tree_oracle.target.backends import KERNELS, backend_for

_PLACE = (
    "kind",
    "name",
    "capability",
    "torch",
    "plugin",
    "runtime",
    "reduced_float32",
)  # what decides how a device rounds
_DIGITS = 12
_LARGEST = 1e9  # logits, or rows: no measurement comes near it


class WrongFloor(UsageError):
    """A tolerance report that says nothing of the target that is judged."""


def floor_from(path: Path, target: Target) -> Noise:
    """The floor of ``target``; its ``cache`` is 0, since a report measures rows.

    Raises:
        WrongFloor: the report is of other weights, of another device, dtype or kernel, of a planted fault, cut, or
            measured nothing; or its figures contradict each other.
        FileError: it cannot be read.
    """
    report = read_tolerance(path)
    if not report.complete:
        raise WrongFloor(
            f"{path.name} is not whole: its sweep was cut; go on with: tree-oracle tolerance measure --resume"
        )
    if report.sweep.fault:
        raise WrongFloor(
            f"{path.name} was measured with a planted fault, {report.sweep.fault}; measure without --fault"
        )
    _refuse_elsewhere(report, path, target)
    cells = _about(report.cells, path, target)
    measured = [(found, found.figures) for found in cells if found.verdict is not Verdict.UNMEASURED]
    if not measured:
        raise WrongFloor(f"{path.name} measured nothing of {target.spec} here: {cells[0].reason}")
    figures = [one for _, one in measured if one is not None]
    for one in figures:
        _refuse_impossible(one, path)
    return Noise(
        sequential=max((one.tolerance.sequential for one in figures), default=0.0),
        control=max((one.tolerance.floor for one in figures), default=0.0),
        wrong_history=min((_smallest(one) for one in figures), default=0.0),
        samples=sum(one.tolerance.controls for one in figures),
        origin=_origin(path, report, [found for found, _ in measured]),
        unusable=next((_useless(found) for found, _ in measured if found.allowed is None), ""),
    )


def _refuse_impossible(figures: Figures, path: Path) -> None:
    """Figures that no measurement gives, so that nobody is judged by a slip of an editor."""
    rule = figures.tolerance
    sizes = {"sequential": rule.sequential, "floor": rule.floor, "smallest effect": _smallest(figures)}
    for name, size in sizes.items():
        if not 0 <= size < _LARGEST:  # a NaN is neither
            raise WrongFloor(f"{path.name} says {name} {size!r}; expected 0 or more logits, below {_LARGEST:g}")
    if not 1 <= rule.controls < _LARGEST:
        raise WrongFloor(f"{path.name} says controls {rule.controls}; expected how many rows were measured, at least 1")
    if rule.allowed != 2 * rule.sequential + rule.floor:
        raise WrongFloor(
            f"{path.name} says allowed {rule.allowed!r}; expected 2 x {rule.sequential!r} + {rule.floor!r}, its own figures"
        )


def _refuse_elsewhere(report: ToleranceReport, path: Path, target: Target) -> None:
    """A place is told by what decides its rounding, not by its name alone."""
    here = backend_for(target.device).environment()
    for fact in _PLACE:
        then, now = report.environment.get(fact, ""), str(getattr(here, fact))
        if then != now:
            raise WrongFloor(
                f"{path.name} was measured on another device: {fact} {then or 'not said'!r} there, {now or 'not said'!r} here; "
                "measure it here"
            )


def _about(cells: Sequence[Found], path: Path, target: Target) -> list[Found]:
    """The cells of this target, narrowed down one fact at a time so that a refusal names the first that differs."""
    weights = weights_of(target)
    facts: tuple[tuple[str, str, Callable[[Found], str]], ...] = (
        ("dtype", target.dtype, lambda found: found.cell.dtype),
        ("kernel", _kernel(target), lambda found: found.cell.kernel),
        ("cache", DYNAMIC, lambda found: found.cell.cache),  # what a check runs plain passes without
        ("weights", weights, lambda found: found.weights or "of an older release, which does not say which"),
    )
    left = list(cells)
    for name, wanted, fact in facts:
        # What could not be measured has no weights; it counts as this target's by its name.
        fitting = [one for one in left if fact(one) == wanted or (name == "weights" and _unmeasured(one, target))]
        if not fitting:
            held = ", ".join(sorted({_short(fact(one)) for one in left})) or "none"
            raise WrongFloor(
                f"{path.name} is of another target: {name} {held} there, {_short(wanted)} of {target.spec} here; measure it "
                "with: tree-oracle tolerance measure"
            )
        left = fitting
    return left


def _unmeasured(found: Found, target: Target) -> bool:
    return found.verdict is Verdict.UNMEASURED and found.cell.target == target.spec


def _kernel(target: Target) -> str:
    """The kernel of a model that is not told which to take: the first one of its implementation."""
    return next(kernel.name for kernel in KERNELS.values() if kernel.implementation == target.attention)


def _smallest(figures: Figures) -> float:
    return min((effect.smallest for effect in figures.effects.values()), default=0.0)


def _useless(found: Found) -> str:
    signs = f" [{', '.join(found.signs)}]" if found.signs else ""
    return f"the tolerance report has no number for {found.cell.name}: {found.verdict.value}{signs}: {found.reason}"


def _origin(path: Path, report: ToleranceReport, cells: Sequence[Found]) -> str:
    sizes = sorted({(one.cell.width, one.cell.batch, one.cell.prefix) for one in cells})
    told = ", ".join(f"width {width} batch {batch} prefix {prefix}" for width, batch, prefix in sizes)
    code = report.environment.get(FILES, "")[:_DIGITS] or "not said"
    return f"measured in {path.name} at {told}, by code {code}, weights {cells[0].weights[:_DIGITS]}"


def _short(value: str) -> str:
    return value[:_DIGITS] if len(value) == 64 else value
