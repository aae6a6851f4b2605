"""Planted faults of windows and chunks. They show only on a target that has them, and name one."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import windows
from tree_oracle.faults.fault import Fault
from tree_oracle.masked.kinds import CHUNKED, SLIDING

_WINDOWED = "exact:layers=full+sliding+chunked,window=4,chunk=4"

WINDOW_FAULTS = (
    Fault(
        "window-by-slot",
        "SWA",
        "HISTORY-01",
        "the window of a sliding layer is counted in storage slots",
        "a sliding layer, prefix and depth beyond its window, and a sibling or cousin in an earlier slot",
        "window edges from the index in the flattened tree",
        Parts(target_pass=windows.in_layers(SLIDING, windows.by_slot)),
        "the window is counted in positions, found by counting what a node sees",
        Parts(target_pass=windows.in_layers(SLIDING, windows.by_row_sum)),
        target=_WINDOWED,
    ),
    Fault(
        "window-missing",
        "SWA",
        "HISTORY-01",
        "one mask for all layers lets a sliding layer look outside its window",
        "a sliding layer, and prefix and depth beyond its window",
        "a dense mask handed to every layer, which no library cuts to the window",
        Parts(target_pass=windows.in_layers(SLIDING, windows.missing)),
        "the window is cut out of a mask that has been cut already",
        Parts(target_pass=windows.in_layers(SLIDING, windows.twice)),
        target=_WINDOWED,
    ),
    Fault(
        "window-one-too-wide",
        "SWA",
        "HISTORY-01",
        "the window reaches one position too far, because the node itself is not counted",
        "a sliding layer, and prefix and depth beyond its window",
        "windows that exclude the token itself in one engine and include it in another",
        Parts(target_pass=windows.in_layers(SLIDING, windows.one_too_wide)),
        "the window is cut out of a mask that has been cut already",
        Parts(target_pass=windows.in_layers(SLIDING, windows.twice)),
        target=_WINDOWED,
    ),
    Fault(
        "window-of-the-root",
        "SWA",
        "HISTORY-01",
        "over the cached prefix every node has the window of the root",
        "a sliding layer, a prefix that fills its window, and one node",
        "prefix kernels that take one window start per request",
        Parts(target_pass=windows.in_layers(SLIDING, windows.of_the_root)),
        "the mask is put together row by row",
        Parts(target_pass=windows.in_layers(SLIDING, windows.of_each_node)),
        target=_WINDOWED,
    ),
    Fault(
        "window-columns-shifted",
        "SWA",
        "HISTORY-01",
        "the mask of a sliding layer has only the columns of its window and is laid over the first keys, not the last",
        "a sliding layer, and a prefix longer than its window",
        "columns of the mask that are not the columns of the keys",
        Parts(target_pass=windows.in_layers(SLIDING, windows.pushed_to_the_left)),
        "the mask has only the columns of the window and is laid over the last keys",
        Parts(target_pass=windows.in_layers(SLIDING, windows.pushed_to_the_right)),
        target=_WINDOWED,
    ),
    Fault(
        "chunk-by-slot",
        "SWA",
        "HISTORY-01",
        "the chunks of a chunked layer are counted in storage slots",
        "a chunked layer, and a node whose slot and whose depth lie in different chunks",
        "chunk edges from the index in the flattened tree",
        Parts(target_pass=windows.in_layers(CHUNKED, windows.by_slot)),
        "the chunks are counted in positions, found by counting what a node sees",
        Parts(target_pass=windows.in_layers(CHUNKED, windows.by_row_sum)),
        target=_WINDOWED,
    ),
)
