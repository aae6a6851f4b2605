"""Planted faults of the witness: speculation that is off, unseen, or counted without having run."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import unseen
from tree_oracle.faults.fault import Fault

WITNESS_FAULTS = (
    Fault(
        "speculation-silently-off",
        "WITNESS",
        "WITNESS-01",
        "every node is run by itself, in a pass over one token: nothing is verified together",
        "a tree of two candidates; never shows in tokens, rows or caches",
        "engines that fall back to plain decoding for a setting, a batch size or a request for rows",
        Parts(target_pass=unseen.one_by_one),
        "a draft model runs the nodes one by one beside the pass of the target",
        Parts(target_pass=unseen.one_by_one_beside),
    ),
    Fault(
        "small-trees-run-unseen",
        "WITNESS",
        "WITNESS-02",
        "trees of few nodes are run by a captured copy of the target, where no call of it is seen",
        "a small tree beside a larger one in one request; never shows in tokens",
        "graphs that were captured for some sizes and are replayed without any Python",
        Parts(target_pass=unseen.few_nodes_unseen),
        "the copy is run over small trees too, and thrown away",
        Parts(target_pass=unseen.few_nodes_warmed),
    ),
    Fault(
        "round-without-a-draft-counted",
        "WITNESS",
        "WITNESS-03",
        "the counter of verify rounds counts those that had nothing to verify",
        "a round over the root alone; never shows in tokens",
        "counters that are raised once a step",
        Parts(work=unseen.every_round_counted),
        "a round is counted where some node has a parent",
        Parts(work=unseen.rounds_with_leaves_counted),
    ),
)
