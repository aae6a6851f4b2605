"""Planted faults of caches with slots, windows and rings: what a commit or a rollback leaves there."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.decoder.caches.filled import static_cache, window_cache
from tree_oracle.faults import held
from tree_oracle.faults.fault import Fault

_WINDOWED = "exact:layers=full+sliding+chunked,window=4,chunk=4"
_STATIC = static_cache(128)

HELD_FAULTS = (
    Fault(
        "ring-of-wrong-width",
        "SWA",
        "COMMIT-01",
        "rows are written to a ring modulo another number of slots than they are read by",
        "more committed tokens than the window has positions",
        "ring buffers whose size and window differ by the token itself",
        Parts(prefill=held.ring_of_wrong_width),
        "the ring has another number of slots, for writing and reading alike",
        Parts(prefill=held.ring_of_odd_width),
        target=_WINDOWED,
    ),
    Fault(
        "draft-written-into-the-ring",
        "SWA",
        "COMMIT-01",
        "a round's rows are written into a ring without room for them before it is known which are kept",
        "a rejected node, and more committed tokens than the window has positions",
        "ring buffers of the window's size under speculation",
        Parts(prefill=held.narrow_ring, commit=held.drafts_in_the_ring),
        "the same in a ring with room for the whole tree besides the window",
        Parts(prefill=held.wide_ring, commit=held.drafts_in_the_ring),
        target=_WINDOWED,
    ),
    Fault(
        "window-evicts-one-row-early",
        "SWA",
        "COMMIT-01",
        "after a commit a sliding layer holds one row fewer than the next token sees",
        "more committed tokens than the window has positions",
        "windows that count the next token although it is not cached",
        Parts(prefill=window_cache, commit=held.window_evicts_early),
        "a sliding layer holds one row more than the next token sees",
        Parts(prefill=window_cache, commit=held.window_evicts_late),
        target=_WINDOWED,
    ),
    Fault(
        "rolled-back-after-the-cut",
        "ROLLBACK",
        "COMMIT-01",
        "a sliding layer is rolled back after the pass has evicted rows that come back into the window",
        "a rejected node, and more committed tokens than the window has positions",
        "caches of windows cropped after a rejected draft",
        Parts(prefill=window_cache, commit=held.rolled_back_after_the_cut),
        "the window is put together from what it held and the path, and cut last",
        Parts(prefill=window_cache, commit=held.window_in_two_pieces),
        target=_WINDOWED,
    ),
    Fault(
        "sliding-layers-not-rolled-back",
        "ROLLBACK",
        "COMMIT-01",
        "only layers that keep every row are rolled back; sliding ones hold rejected rows",
        "one rejected node",
        "rollbacks that pass over layers with windows",
        Parts(prefill=window_cache, commit=held.window_never_rolled_back),
        "the last layer is committed first",
        Parts(prefill=window_cache, commit=held.layers_reversed),
        target=_WINDOWED,
    ),
    Fault(
        "static-count-set-back-alone",
        "KV-COMMIT",
        "COMMIT-01",
        "the count of a static cache is set back and no row is moved",
        "accepted slots that are not 1, 2, 3, ...; shows from the next round on",
        "static caches cropped by a number after a tree",
        Parts(prefill=_STATIC, commit=held.count_set_back_alone),
        "rows are copied down slot by slot in ascending order",
        Parts(prefill=_STATIC, commit=held.slot_by_slot),
    ),
    Fault(
        "static-stale-slot-counted",
        "ROLLBACK",
        "COMMIT-01",
        "the count of a static cache takes in the slot behind the kept rows, which holds a rejected one",
        "one rejected node",
        "counts of static caches set by the tree's last slot",
        Parts(prefill=_STATIC, commit=held.stale_slot_counted),
        "rows are copied down slot by slot in ascending order",
        Parts(prefill=_STATIC, commit=held.slot_by_slot),
    ),
    Fault(
        "static-stale-slot-visible",
        "MASK-LAYOUT",
        "COMMIT-03",
        "every node also sees the first slot behind the tree, in which an earlier round left a row",
        "a round over a smaller tree, or with fewer accepted nodes, than the one before it had nodes",
        "masks over a static cache that are one column too long",
        Parts(prefill=_STATIC, target_pass=held.over_slots(stale=True)),
        "the mask is laid over all slots by hand, and hides what is not filled",
        Parts(prefill=_STATIC, target_pass=held.over_slots(stale=False)),
    ),
)
