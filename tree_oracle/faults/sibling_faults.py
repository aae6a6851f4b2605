"""Planted faults by which a node is given what belongs to one of its siblings, or to another tree of as many nodes."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import masks, passes, walks
from tree_oracle.faults.fault import Fault

_LOOKED_UP = (
    "a child is judged with the row found by looking its parent up",
    Parts(walk=walks.parent_looked_up),
)

SIBLING_FAULTS = (
    Fault(
        "first-child-shares-the-row",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a first child goes on in its parent's row of the mask: the parent sees it, and so do the siblings stored after it",
        "one node; what siblings see, a second child",
        "paths that the first child continues and the others copy",
        Parts(lay_out=masks.first_child_aliased),
        "the parent's row is copied before anything is added to it",
        Parts(lay_out=masks.row_copied_first),
    ),
    Fault(
        "mask-kept-by-node-count",
        "MASK-STALE",
        "HISTORY-01",
        "a tree is run with the mask of an earlier tree of the same request that has as many nodes",
        "two trees of one request that have as many nodes and another shape",
        "masks kept for a size, where the shape changes from round to round",
        Parts(target_pass=passes.mask_by_node_count),
        "the mask is kept for each tree, known by its parents",
        Parts(target_pass=passes.mask_by_parents),
    ),
    Fault(
        "rows-of-elder-sibling",
        "GATHER",
        "HISTORY-01",
        "every node that has an elder sibling is given that one's logits",
        "two siblings",
        "gather indices that are a child too early",
        Parts(target_pass=passes.rows_of_elder_sibling),
        "the rows are gathered through an identity index",
        Parts(target_pass=passes.rows_by_index),
    ),
    Fault(
        "first-childs-row",
        "GATHER",
        "GATHER-01",
        "all children of a node are judged with the row of the first of them",
        "a node with a child, and a row that misleads",
        "a pointer to the first child that is followed before the child is judged",
        Parts(walk=walks.first_childs_row),
        *_LOOKED_UP,
    ),
    Fault(
        "elder-siblings-row",
        "GATHER",
        "GATHER-01",
        "a child is judged with the row of the sibling that was tried before it",
        "two siblings, and a row that misleads",
        "one variable for the node that was tried and for the node that was accepted",
        Parts(walk=walks.elder_siblings_row),
        *_LOOKED_UP,
    ),
)
