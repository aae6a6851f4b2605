"""Planted faults of decoders that count by their cache.

Each is one mistake that takes two parts to make: what stays in the cache, and a pass that goes by it.
"""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import commits, lengths
from tree_oracle.faults.fault import Fault

_TWIN = "positions are counted from the rows of a cache that is kept rightly, prefix and path cut out apart"

LENGTH_FAULTS = (
    Fault(
        "rejected-rows-counted",
        "ROLLBACK",
        "COMMIT-03",
        "every row of a round stays in the cache, is seen, and counts in the positions of the next round",
        "one rejected node, and a further round",
        "decoders that never crop, and take cache positions from the length of the cache",
        Parts(commit=commits.everything, target_pass=lengths.by_cached_rows),
        _TWIN,
        Parts(commit=commits.two_pieces, target_pass=lengths.by_cached_rows),
    ),
    Fault(
        "root-run-before",
        "POSITION",
        "HISTORY-01",
        "the prompt is run to its last token, which is then run again as the root of the first tree",
        "any round; one row too many stays for the whole text",
        "prefills of the whole prompt before a pass that begins with the root",
        Parts(commit=lengths.behind_the_first_root, target_pass=lengths.root_run_before),
        _TWIN,
        Parts(commit=commits.two_pieces, target_pass=lengths.by_cached_rows),
    ),
)
