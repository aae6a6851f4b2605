"""Planted faults of an attention operator: how its mask is kept, addressed and read."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import attends
from tree_oracle.faults.attends import through
from tree_oracle.faults.fault import Fault

ATTEND_FAULTS = (
    Fault(
        "mask-ends-at-key-512",
        "MASK-IGNORED",
        "ATTEND-01",
        "keys from the 512th on are seen by every row",
        "nodes whose columns lie behind the 512th",
        "masks that were sized for short contexts",
        Parts(attend=through(attends.open_past_512)),
        "keys before and after the 512th are attended to apart and put together",
        Parts(attend=attends.in_two_parts),
    ),
    Fault(
        "tile-below-diagonal-open",
        "MASK-TILE",
        "ATTEND-01",
        "tiles below the diagonal are taken to be visible without a look at the mask",
        "a tree wider than a tile",
        "kernels whose fast path assumes a causal triangle",
        Parts(attend=through(attends.tiles_below_open)),
        "the mask is put together tile by tile",
        Parts(attend=through(attends.tile_by_tile)),
    ),
    Fault(
        "attention-window-by-slot",
        "SWA",
        "ATTEND-02",
        "the window of an attention operator is counted in slots",
        "a window, and a node whose slot is not its depth",
        "windows from the index into the flattened tree",
        Parts(attend=through(attends.window_by_slot)),
        "the window is counted in depths",
        Parts(attend=through(attends.window_by_depth)),
    ),
    Fault(
        "mask-stride-of-the-widest",
        "MASK-LAYOUT",
        "ATTEND-01",
        "rows of the mask are written one behind the other and read with the stride of the widest mask",
        "more than one row, and a mask narrower than the widest",
        "mask buffers allocated for the largest tree",
        Parts(attend=through(attends.stride_of_the_widest)),
        "rows are written and read with the stride of the widest mask",
        Parts(attend=through(attends.padded_to_the_widest)),
    ),
    Fault(
        "mask-bits-from-whole-bytes",
        "MASK-LAYOUT",
        "ATTEND-01",
        "a row of a packed mask is read from the byte in which its first bit lies",
        "columns that fill no whole byte, and more than one row",
        "packed masks whose offsets are counted in bytes",
        Parts(attend=through(attends.bits_from_whole_bytes)),
        "a row of a packed mask is read from its first bit",
        Parts(attend=through(attends.bits_from_their_offset)),
    ),
    Fault(
        "row-without-keys",
        "MASK-LAYOUT",
        "ATTEND-02",
        "no node sees itself, and a row that then sees nothing averages over all keys",
        "any node; the root of a prefix of one token sees nothing at all",
        "strictly triangular masks, and padding rows without a key",
        Parts(attend=through(attends.diagonal_left_out)),
        "the diagonal is left out and put back",
        Parts(attend=through(attends.diagonal_put_back)),
    ),
    Fault(
        "key-loop-ends-at-the-row",
        "MASK-TILE",
        "ATTEND-02",
        "the loop over keys ends at the number of the row, as if there were no cached prefix",
        "a cached prefix",
        "causal kernels that align the mask at the upper left",
        Parts(attend=through(attends.stopped_at_the_row)),
        "the loop over keys ends at the node's own column",
        Parts(attend=through(attends.stopped_at_the_node)),
    ),
    Fault(
        "mask-of-the-call-before",
        "MASK-STALE",
        "ATTEND-03",
        "the mask of the call before is kept while the shapes are the same",
        "two trees of one size, one after the other",
        "cached mask objects, and graphs that replay one",
        Parts(attend=through(attends.KeptMask())),
        "the buffer of the call before is written anew",
        Parts(attend=through(attends.RewrittenMask())),
    ),
)
