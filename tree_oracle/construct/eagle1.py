"""EAGLE-1's static tree of 25 nodes (Li et al., arXiv 2401.15077), over an autoregressive draft.

For greedy targets a node's children are its most probable tokens. For sampled ones they are draws without replacement in
order, ``RankTree(EAGLE_25, WithoutReplacement(seed))``, and the rule that verifies them needs the order of the draws.

Budget: the authors' choices count no root; the pass has one row more.
"""

from __future__ import annotations

from functools import partial

from tree_oracle.construct.laws import Sight
from tree_oracle.construct.medusa import choices_of
from tree_oracle.construct.published import Published
from tree_oracle.construct.rank_tree import RankTree
from tree_oracle.record import DraftLaw

EAGLE_25 = choices_of(
    {
        (): 4,
        (0,): 3,
        (1,): 2,
        (2,): 2,
        (3,): 1,
        (0, 0): 3,
        (0, 1): 2,
        (0, 2): 2,
        (1, 0): 1,
        (0, 0, 0): 3,
        (0, 0, 0, 0): 2,
    }
)

PUBLISHED = Published(
    name="eagle1",
    title="EAGLE-1: a static tree over a feature-level draft",
    source="SafeAILab/EAGLE, branch v1, eagle/model/choices.py and cnets.py",
    budget="choices count no root; the pass has one row more",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PATH,
    scope="25 nodes; greedy targets by the best tokens, sampled ones by draws without replacement",
    closed_under_ties=True,
    make=partial(RankTree, choices=EAGLE_25),
)
