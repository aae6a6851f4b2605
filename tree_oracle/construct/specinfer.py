"""SpecInfer's expansion configurations (Miao et al., arXiv 2305.09781): how many children every node of a level has.

    <k_1, ..., k_m>:  each node at depth d - 1 has its k_d most probable tokens as children

which is the static tree of all rank paths below these bounds. What several draft models propose is merged by
``tree_oracle.tree.merge``.

Budget: the authors' limit of 64 tree tokens counts the root, their configuration does not.
"""

from __future__ import annotations

from itertools import product

from tree_oracle.construct.draws import Draw
from tree_oracle.construct.laws import Sight
from tree_oracle.construct.published import Published
from tree_oracle.construct.rank_tree import RankTree
from tree_oracle.record import DraftLaw
from tree_oracle.tree.values import whole_number

SHIPPED = (1, 1, 3, 1, 1, 1, 1, 1)


def expansion(*widths: int, draw: Draw | None = None) -> RankTree:
    """The policy of one configuration; without arguments the one that was shipped.

    Raises:
        UsageError: a width is no integer of at least 1.
    """
    bounds = [whole_number("width", width, at_least=1) for width in widths or SHIPPED]
    levels = (product(*map(range, bounds[:depth])) for depth in range(1, len(bounds) + 1))
    return RankTree(tuple(ranks for level in levels for ranks in level), draw)


PUBLISHED = Published(
    name="specinfer",
    title="SpecInfer: expansion configurations",
    source="flexflow/FlexFlow, src/runtime/request_manager.cc",
    budget="widths count no root; the limit of 64 tree tokens does",
    law=DraftLaw.DETERMINISTIC,
    sees=Sight.PATH,
    scope="one draft model, widths up to 3, eight levels; greedy targets (the program), independent draws (the paper)",
    closed_under_ties=True,
    make=expansion,
)
