"""Planted faults of work: passes that are not said, and counts that were not counted. None of them changes a token."""

from __future__ import annotations

from tree_oracle.decoder import Parts
from tree_oracle.faults import works
from tree_oracle.faults.fault import Fault

WORK_FAULTS = (
    Fault(
        "hidden-second-pass",
        "WORK",
        "WORK-01",
        "the target is run twice over the tree in every round",
        "any round; never shows in tokens",
        "verification that scores first and fills the cache afterwards",
        Parts(target_pass=works.second_pass),
        "a draft model is run over the tree beside the target",
        Parts(target_pass=works.second_pass_of_draft),
    ),
    Fault(
        "prefix-run-every-round",
        "WORK",
        "WORK-01",
        "the committed tokens are run again before every round",
        "a second round; never shows in tokens",
        "research code that hands the whole text to the model in every step",
        Parts(hold=works.prefix_every_round),
        "the prompt is run in chunks of two tokens",
        Parts(hold=works.prefix_in_chunks),
    ),
    Fault(
        "accepted-row-run-again",
        "WORK",
        "WORK-01",
        "the newest cached row is computed by a pass of its own before every round",
        "a second round; never shows in tokens",
        "decoders that cannot keep rows of a tree and run the accepted path again",
        Parts(hold=works.newest_row_again),
        "the target is warmed up with other tokens before the first round",
        Parts(hold=works.warmed_up),
    ),
    Fault(
        "root-counted-as-packed",
        "WORK",
        "WORK-02",
        "the root is counted among the candidates that were packed",
        "any round; never shows in tokens",
        "budgets that count the root read as budgets that do not",
        Parts(work=works.root_among_the_packed),
        "candidates are counted by the length of their paths",
        Parts(work=works.packed_by_walking),
    ),
    Fault(
        "draft-pass-per-level",
        "WORK",
        "WORK-02",
        "the draft's backbone is run once for every level of the tree",
        "a tree with a level; never shows in tokens",
        "parallel drafts that are driven like autoregressive ones",
        Parts(work=works.draft_pass_per_level),
        "the draft's backbone is run once, and that is said",
        Parts(work=works.one_draft_pass),
    ),
    Fault(
        "head-run-beyond-the-frontier",
        "WORK",
        "WORK-03",
        "the draft's head is run over every candidate of a level instead of the frontier",
        "a level with more candidates than the frontier holds; never shows in the tree",
        "level-wise expansion that cuts after the head instead of before it",
        Parts(build=works.every_parent_asked),
        "the frontier is asked a second time, where the first answers were not kept",
        Parts(build=works.frontier_asked_twice),
    ),
)
