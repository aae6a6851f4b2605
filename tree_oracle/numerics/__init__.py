"""How far rows may differ on one device, dtype and kernel: measured errors, and the tolerances that follow from them."""

from tree_oracle.numerics.cell import Cell as Cell
from tree_oracle.numerics.cell import Figures as Figures
from tree_oracle.numerics.cell import Found as Found
from tree_oracle.numerics.cell import Tolerance as Tolerance
from tree_oracle.numerics.cell import Verdict as Verdict
from tree_oracle.numerics.compared import Compared as Compared
from tree_oracle.numerics.compared import Errors as Errors
from tree_oracle.numerics.compared import compare as compare
from tree_oracle.numerics.document import Sweep as Sweep
from tree_oracle.numerics.document import ToleranceReport as ToleranceReport
from tree_oracle.numerics.document import read_cell_arrays as read_cell_arrays
from tree_oracle.numerics.document import read_tolerance as read_tolerance
from tree_oracle.numerics.floor import WrongFloor as WrongFloor
from tree_oracle.numerics.floor import floor_from as floor_from
from tree_oracle.numerics.measure import measure_cell as measure_cell
from tree_oracle.numerics.sweep import run_sweep as run_sweep
