"""Planted faults in where a node is put: at which position, and at which place among the rows of its pass."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import layouts, passes
from tree_oracle.faults.fault import Fault

PLACE_FAULTS = (
    Fault(
        "position-without-prefix",
        "POSITION",
        "POSITION-01",
        "positions are depths: the prefix is not counted",
        "a prefix of more than one token",
        "position ids of a tree that nobody moved behind the cached rows",
        Parts(lay_out=layouts.position_without_prefix),
        "positions are counted from the visible columns",
        Parts(lay_out=layouts.position_by_row_sum),
    ),
    Fault(
        "rows-left-in-level-order",
        "GATHER",
        "HISTORY-01",
        "rows are handed on level by level, in whatever order the nodes are stored",
        "a node that is stored before one that is less deep",
        "passes that sort the nodes by depth and do not put the rows back",
        Parts(target_pass=passes.rows_in_level_order),
        "the rows are sorted by level and put back",
        Parts(target_pass=passes.rows_sorted_and_put_back),
    ),
)
