"""Planted faults in how a mask is built while the tree is walked, and in how the model is told of it."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import handed, masks
from tree_oracle.faults.fault import Fault

_COPIED = ("the parent's row is copied before anything is added to it", Parts(lay_out=masks.row_copied_first))
_BY_POSITION = (
    "the ancestor mask is ANDed with what does not lie at a later position",
    Parts(lay_out=masks.causal_and_ancestors_by_position),
)
_STACKED = ("before each node the stack is filled from its own path", Parts(lay_out=masks.stack_of_the_path))

MASK_FAULTS = (
    Fault(
        "elder-siblings-inherited",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node sees the siblings stored before it, and so does all that is below it",
        "two siblings; what is inherited, a child of the second",
        "one running row per parent, to which its children are added as they are met",
        Parts(lay_out=masks.elders_inherited),
        *_COPIED,
    ),
    Fault(
        "all-siblings-inherited",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node sees all of its siblings, and so does all that is below it",
        "two siblings; what is inherited, a child of one of them",
        "rows copied from the parent's after all of its children were added to it",
        Parts(lay_out=masks.siblings_inherited),
        *_COPIED,
    ),
    Fault(
        "parent-row-written-in-place",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node is added to its parent's own row before it takes it: it sees the siblings stored before it, and its children",
        "one node below the root",
        "rows that are shared by reference, where a copy was meant",
        Parts(lay_out=masks.written_in_place),
        *_COPIED,
    ),
    Fault(
        "causal-by-position",
        "MASK-IGNORED",
        "VISIBLE-03",
        "a node sees every node at its own position or before",
        "two nodes of one depth, or a node that is no ancestor at a smaller one",
        "kernels that make a causal mask of the positions they are handed",
        Parts(lay_out=masks.causal_by_position),
        *_BY_POSITION,
    ),
    Fault(
        "levels-above-visible",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node sees itself and every node of the levels above its own",
        "a node with an uncle",
        "masks that are put together in blocks, level by level",
        Parts(lay_out=masks.levels_above),
        *_BY_POSITION,
    ),
    Fault(
        "one-row-per-depth",
        "MASK-LAYOUT",
        "VISIBLE-03",
        "a node sees every node stored before it that is no deeper",
        "two siblings, or a node with an uncle",
        "running rows, one for each depth, that are not begun anew for another branch",
        Parts(lay_out=masks.row_per_depth),
        *_STACKED,
    ),
    Fault(
        "ancestors-from-a-stack-by-depth",
        "MASK-LAYOUT",
        "VISIBLE-02",
        "the node stored last at each depth above is taken for the ancestor",
        "nodes that are not stored in depth-first order",
        "depth-first code fed with a tree that is stored level by level",
        Parts(lay_out=masks.stack_by_depth),
        *_STACKED,
    ),
    Fault(
        "queries-and-keys-exchanged",
        "MASK-LAYOUT",
        "HISTORY-01",
        "a node sees what is below it instead of what is above it",
        "one node below the root",
        "masks written by key and read by query",
        Parts(target_pass=handed.handed(handed.exchanged)),
        "the square over the nodes is transposed, and transposed again",
        Parts(target_pass=handed.handed(handed.exchanged_twice)),
    ),
    Fault(
        "mask-polarity-inverted",
        "MASK-LAYOUT",
        "HISTORY-01",
        "the model hides what the mask should show and shows what it should hide",
        "the root alone",
        "additive masks with zeros where they should hide; booleans that say where to look, taken for where not to",
        Parts(target_pass=handed.handed(handed.inverted)),
        "the mask is inverted, and inverted again",
        Parts(target_pass=handed.handed(handed.inverted_twice)),
    ),
)
