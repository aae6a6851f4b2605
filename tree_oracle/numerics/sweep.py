"""Many cells, one after another: whatever goes wrong in one is that cell's reason, and the sweep goes on.

The report is written after every cell, whole or not at all, so an interrupted sweep keeps what it finished. Going on with it
asks for the same sweep by the same code in the same place: cells of two kinds must not stand in one report.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from tree_oracle.faults.rounding import find_number_fault
from tree_oracle.numerics.cell import Cell, Found, Verdict
from tree_oracle.numerics.document import Sweep, ToleranceReport, read_tolerance, write_arrays
from tree_oracle.numerics.gathered import Arrays
from tree_oracle.numerics.measure import measure_cell
from tree_oracle.record import Unsupported, UsageError, first_line, write_file
from tree_oracle.target import Target, load_target
from tree_oracle.target.backends import KernelFailed, Kind, backend_for, kernel_named, kind_of

OnCell = Callable[[Found], None]
Load = Callable[[Cell], Target]


def load_cell(cell: Cell) -> Target:
    """The target of a cell.

    Raises:
        UsageError: an unknown name, or a device, dtype or kernel that is not to be had here.
        KernelFailed: the kernel is offered here, and fails on a small case.
    """
    backend, kernel = backend_for(cell.device), kernel_named(cell.kernel)
    if kernel.compiles:
        raise UsageError(f"{kernel.name} in a model is not measured: it is compiled anew for every shape; ask for flex")
    hindered = backend.dtype_hindrance(cell.dtype) or backend.hindrance(kernel.name, cell.dtype)
    if hindered is not None:
        raise hindered.error(f"{kernel.name} in {cell.dtype} on {cell.device}")
    return load_target(cell.target, device=cell.device, dtype=cell.dtype, attention=kernel.implementation)


def run_sweep(
    sweep: Sweep,
    path: Path,
    environment: dict[str, str],
    *,
    resume: bool = False,
    on_cell: OnCell = lambda _: None,
    load: Load = load_cell,
) -> ToleranceReport:
    """Measure every cell and write the report at ``path`` after each.

    Raises:
        UsageError: a sweep without cells, an unknown fault, or a report to go on with that is of another sweep, code or place.
        FileError: that report cannot be read.
    """
    if not sweep.cells:
        raise UsageError("a sweep without cells; expected at least one target, dtype, kernel, width, batch and prefix")
    kept = _kept(path, sweep, environment) if resume and path.exists() else ()
    targets = _Loaded(load, sweep.fault)
    report = _report(sweep, environment, kept)
    write_file(path, report)
    for number, cell in enumerate(sweep.cells[len(kept) :], start=len(kept)):
        found, arrays = _measured(cell, targets, sweep)
        if arrays is not None:
            write_arrays(path, number, arrays.named())
        report = _report(sweep, environment, (*report.cells, found))
        write_file(path, report)
        on_cell(found)
    return report


def _report(sweep: Sweep, environment: dict[str, str], cells: tuple[Found, ...]) -> ToleranceReport:
    complete = len(cells) == len(sweep.cells)
    return ToleranceReport(sweep=sweep, environment=environment, cells=cells, complete=complete)


class _Loaded:
    """The model that was loaded last: cells that share one stand together."""

    def __init__(self, load: Load, fault: str) -> None:
        self._load = load
        self._plant = find_number_fault(fault).planted if fault else None
        self._key: tuple[str, ...] = ()
        self._clean: Target | None = None
        self._target: Target | None = None

    def of(self, cell: Cell) -> tuple[Target, Target]:
        """The target to measure, and the one that the reference is made from."""
        key = (cell.target, cell.device, cell.dtype, cell.kernel)
        if self._target is None or self._clean is None or key != self._key:
            self._target = self._clean = None  # first: two models may not fit beside each other
            self._clean = self._load(cell)
            self._target = self._clean if self._plant is None else self._plant(self._clean)
            self._key = key
        return self._target, self._clean


def _measured(cell: Cell, targets: _Loaded, sweep: Sweep) -> tuple[Found, Arrays | None]:
    try:
        target, clean = targets.of(cell)
        found, arrays = measure_cell(cell, target, rows=sweep.rows, seed=sweep.seed, clean=clean)
        if sweep.fault and _same(found, measure_cell(cell, clean, rows=sweep.rows, seed=sweep.seed)[0]):
            raise Unsupported(
                f"{sweep.fault} does nothing in this dtype and size: every figure is that of the right target"
            )
        return found, arrays
    except Exception as error:  # what a driver raises is known to nobody; the sweep must go on
        return Found(cell, Verdict.UNMEASURED, _reason(error)), None


def _same(one: Found, other: Found) -> bool:
    """The same figures, to the last digit, however long they took."""
    return msgspec.structs.replace(one, seconds=0.0) == msgspec.structs.replace(other, seconds=0.0)


def _reason(error: Exception) -> str:
    """What kind of thing stands in the way, and whose words say so."""
    line = first_line(error)
    if isinstance(error, KernelFailed):
        return line
    kind = kind_of(error)
    if kind is Kind.REFUSED:
        return f"unsupported: {line}"
    return f"{kind}: {line}" if kind is Kind.OUT_OF_MEMORY else f"{kind}: {type(error).__name__}: {line}"


def _kept(path: Path, sweep: Sweep, environment: dict[str, str]) -> tuple[Found, ...]:
    old = read_tolerance(path)
    if old.sweep != sweep:
        raise UsageError(f"{path} is of another sweep; name another file, or take --resume away")
    if old.environment != environment:
        names = sorted(
            name for name in {*old.environment, *environment} if old.environment.get(name) != environment.get(name)
        )
        raise UsageError(
            f"{path} was measured elsewhere or by other code: {', '.join(names)} differ; name another file"
        )
    return old.cells
