"""Medusa's static tree (Cai et al., arXiv 2401.10774): ranks of the heads' lists, the same for every parent of a depth.

``MEDUSA_63`` is the tree of 63 nodes that was found by simulation for a 7B model (``mc_sim_7b_63``) and that the published
program falls back on: its default. It is written down as the number of children of each inner node, because in this tree, as
in any that was grown by best ranks, the children of a node have the ranks 0, 1, 2, ...

Budget: the authors' pass has len(choices) + 1 rows, the root first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tree_oracle.construct.laws import Sight
from tree_oracle.construct.published import Published
from tree_oracle.construct.rank_fit import Ranks
from tree_oracle.construct.rank_tree import RankTree
from tree_oracle.record import DraftLaw


def choices_of(children: Mapping[Ranks, int]) -> tuple[Ranks, ...]:
    """The rank paths of a tree whose nodes have this many children each, none where nothing is said."""
    return tuple((*ranks, rank) for ranks, count in children.items() for rank in range(count))


MEDUSA_63 = choices_of(
    {
        (): 10,
        **{(rank,): count for rank, count in enumerate((10, 7, 3, 2, 1, 1, 1, 1, 1, 1))},
        **{(0, rank): count for rank, count in enumerate((10, 3, 2, 1, 1, 1, 1, 1))},
        (1, 0): 2,
        (2, 0): 1,
        (0, 0, 0): 2,
    }
)

PUBLISHED = Published(
    name="medusa",
    title="Medusa: static trees over independent heads",
    source="FasterDecoding/Medusa, medusa/model/medusa_choices.py and utils.py",
    budget="choices count no root; the pass has one row more",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.DEPTH,
    scope="heads with ten candidates each; greedy targets, and typical acceptance, which is approximate",
    closed_under_ties=True,
    make=partial(RankTree, choices=MEDUSA_63),
)
