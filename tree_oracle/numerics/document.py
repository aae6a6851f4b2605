"""A tolerance report as data: what was asked for, where it ran, and every cell. Written once; pages are made from it.

The JSON file holds figures. The rows behind cell number n lie beside it in ``FILE.arrays/n.safetensors``, so that another
tolerance can be tried later without measuring again. The committed schema is ``schemas/tolerance-1.schema.json`` (``schema``).
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from safetensors.numpy import save

from tree_oracle.numerics.cell import Cell, Found
from tree_oracle.record import FileError
from tree_oracle.record.files import MAX_BYTES, decoded, read_bounded, write_bytes
from tree_oracle.trace.arrays import arrays_path, parse

FORMAT, VERSION = "tree-oracle-tolerance", 1

Arrays = dict[str, np.ndarray]


class Sweep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked for: every combination of these, each measured on ``rows`` tree rows at least."""

    targets: tuple[str, ...]
    device: str
    dtypes: tuple[str, ...]
    kernels: tuple[str, ...]
    widths: tuple[int, ...]
    batches: tuple[int, ...]
    prefixes: tuple[int, ...]
    rows: int
    seed: int = 0
    fault: str = ""  # a planted numerical fault, or none
    cache: str = "dynamic"  # that rows are held in

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All combinations; those that share a loaded model stand together."""
        return tuple(
            Cell(target, self.device, dtype, kernel, width, batch, prefix, self.cache)
            for target in self.targets
            for kernel in self.kernels
            for dtype in self.dtypes
            for width in self.widths
            for batch in self.batches
            for prefix in self.prefixes
        )


class ToleranceReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All cells that were measured so far; ``complete`` once they are all there."""

    format: str = FORMAT  # first, so that the beginning of a file tells what it is
    version: int = VERSION
    sweep: Sweep
    environment: dict[str, str]
    cells: tuple[Found, ...]
    complete: bool

    def allowed(self, cell: Cell) -> float | None:
        """The recommended tolerance of a cell, ``None`` where it was not measured or has none."""
        return next((found.allowed for found in self.cells if found.cell == cell), None)


def read_tolerance(path: Path) -> ToleranceReport:
    """Read the JSON file.

    Raises:
        FileError: it is missing, too large, not JSON, of another format or version, or misses a field.
    """
    return decoded(read_bounded(path, FORMAT, MAX_BYTES), path, ToleranceReport, FORMAT, VERSION)


def write_arrays(path: Path, number: int, arrays: Arrays) -> None:
    """Write the rows behind cell ``number`` of the report at ``path``."""
    write_bytes(arrays_path(path, number), save({name: np.ascontiguousarray(one) for name, one in arrays.items()}))


def read_cell_arrays(path: Path, number: int) -> Arrays:
    """The rows behind cell ``number``; empty where none were kept.

    Raises:
        FileError: the file cannot be read, or is no safetensors file within the bounds.
    """
    file = arrays_path(path, number)
    if not file.exists():
        return {}
    try:
        return {name: np.asarray(one.numpy()) for name, one in parse(read_bounded(file, FORMAT, MAX_BYTES)).items()}
    except ValueError as error:
        raise FileError(f"{file} is no safetensors file: {error}") from error
