"""Planted faults in the construction of a tree."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import builds
from tree_oracle.faults.fault import Fault

BUILD_FAULTS = (
    Fault(
        "depth-rule-dropped",
        "CONSTRUCT",
        "CONSTRUCT-01",
        "of equal scores the deeper candidate comes first, so that a node is kept and its parent cut off",
        "an edge of probability 1, and more equal scores than the budget has room for",
        "top-N over scores alone, with an order of equals that nobody chose",
        Parts(build=builds.depth_rule_dropped),
        "of equal scores the shallower comes first, of one depth the one that was created last",
        Parts(build=builds.latest_first_of_a_depth),
    ),
    Fault(
        "parent-row-off-by-one",
        "CONSTRUCT",
        "CONSTRUCT-01",
        "the parent is looked up one row too late",
        "one node",
        "parent tables with a row for the root in one place and without it in another",
        Parts(build=builds.parent_one_late),
        "the parent is looked up one row later in a table with one row more in front",
        Parts(build=builds.parent_from_wider_table),
    ),
    Fault(
        "one-level-more",
        "CONSTRUCT",
        "CONSTRUCT-02",
        "one level more is drafted than the depth allows",
        "a branch that still is among the best at full depth",
        "depths that count steps after the first level",
        Parts(build=builds.one_level_more),
        "candidates beyond the depth are left out, of which there are none",
        Parts(build=builds.within_depth),
    ),
    Fault(
        "siblings-merged-by-token-and-depth",
        "CONSTRUCT",
        "CONSTRUCT-03",
        "nodes of equal token and depth are taken for one, and the first of them gets the children of all",
        "one token under two parents of one level, both with children",
        "beams merged by label instead of history",
        Parts(build=builds.parent_by_token_and_depth),
        "the parent is looked up by its tokens from the root on",
        Parts(build=builds.parent_by_history),
    ),
    Fault(
        "orphan-kept",
        "CONSTRUCT",
        "CONSTRUCT-04",
        "a node whose parent was cut off is kept, below the node stored before it",
        "an edge of probability 1, and more equal scores than the budget has room for",
        "sorted searches for a parent that is not there",
        Parts(build=builds.orphan_adopted),
        "the tree grows from the root, each time by the best candidate whose parent is in it",
        Parts(build=builds.best_first),
    ),
    Fault(
        "budget-counts-root",
        "CONSTRUCT",
        "CONSTRUCT-04",
        "the root takes one of the places of the budget",
        "as many candidates as the budget, or more",
        "budgets of systems that count the root, read by one that does not",
        Parts(build=builds.budget_counts_root),
        "candidates are ordered without the root, which is put back in front",
        Parts(build=builds.root_set_aside),
    ),
)
