"""``trace diff`` names the cell in which two arrays differ, and not their shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tree_oracle.record import Array, LayerRows
from tree_oracle.trace.parting import parted

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
GRIDS = arrays.arrays(np.float32, (3, 4), elements=st.floats(width=32))


def changed(rows: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    other = rows.copy()
    other[place] = value
    return other


def test_the_first_cell_and_how_many() -> None:
    """Both values of the first cell that differs, and the count over all."""
    other = changed(changed(ROWS, (1, 2), 0.5), (2, 0), 7.0)
    assert parted(Array.of(ROWS), Array.of(other)) == ("[1, 2] is 6.0", "[1, 2] is 0.5; 2 of 12 cells differ")


@given(GRIDS, GRIDS)
def test_bits_are_compared(one: np.ndarray, other: np.ndarray) -> None:
    """The count is that of cells with other bits, be they NaN or zeros with a sign."""
    count = int((one.view(np.uint32) != other.view(np.uint32)).sum())
    assume(count)
    assert parted(Array.of(one), Array.of(other))[1].endswith(f"; {count} of 12 cells differ")


def test_a_cache_names_layer_and_part() -> None:
    """Of caches the layer, keys or values, and the cell."""
    rows = Array.of(ROWS[None])
    mine = (LayerRows(rows, rows), LayerRows(rows, rows))
    theirs = (LayerRows(rows, rows), LayerRows(rows, Array.of(changed(ROWS, (0, 1), 9.0)[None])))
    assert parted(mine, theirs) == ("[1].values[0, 0, 1] is 1.0", "[1].values[0, 0, 1] is 9.0; 1 of 12 cells differ")


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        ((1, 2), (1, 3), ("(1, 2)", "(1, 3)")),
        (None, (1, 3), ("None", "(1, 3)")),
        (tuple(range(60)), (*range(59), 7), ("[59] is 59", "[59] is 7")),
        (tuple(range(60)), tuple(range(61)), ("its length is 60", "its length is 61")),
        (Array.of(ROWS), Array.of(ROWS[:2]), ("Array(float32, (3, 4))", "Array(float32, (2, 4))")),
        (Array.of(ROWS), None, ("Array(float32, (3, 4))", "None")),
    ],
)
def test_what_has_no_cells_in_common_is_shown_whole(mine: object, theirs: object, said: tuple[str, str]) -> None:
    """Short values are shown whole; of long ones the first place; of arrays of two shapes these."""
    assert parted(mine, theirs) == said
