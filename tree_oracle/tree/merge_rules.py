"""Wrong rules of merging that have been shipped, or that a shortcut invites, as hypotheses: what tree would each have made?

    TOKEN             nodes of one token are one, wherever they stand
    TOKEN_AND_DEPTH   nodes of one token and depth are one (FlexFlow's merge keys nodes by token * 10000 + depth)
    CORRECTION        nodes of one depth whose token corrects the draft's next law equally are one

The last looks right from the draft's side: a first-order draft (z_d(.|w) = U_d + W e(w)) proposes the same children below
both. The target's law depends on the whole history, so it is as wrong as the others. Equal tokens have equal corrections.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.merge import Key, Merged, fused


class MergeRule(StrEnum):
    """The hypotheses."""

    TOKEN = "by token"
    TOKEN_AND_DEPTH = "by token and depth"
    CORRECTION = "by equal correction"


def merged_by(
    rule: MergeRule, drafts: Sequence[CandidateTree], corrections: Sequence[Int[np.ndarray, " n"]] | None = None
) -> Merged:
    """What the rule makes of the drafts; ``corrections`` numbers the corrections, equal ones alike, node by node.

    Raises:
        UsageError: no draft, or drafts that begin with different roots.
        ValueError: CORRECTION without corrections.
    """
    return fused(drafts, _key(rule, drafts, corrections))


def _key(rule: MergeRule, drafts: Sequence[CandidateTree], corrections: Sequence[Int[np.ndarray, " n"]] | None) -> Key:
    def token(draft: int, node: int) -> int:
        return int(drafts[draft].tokens[node])

    def depth(draft: int, node: int) -> int:
        return int(drafts[draft].depths[node])

    if rule is MergeRule.TOKEN:
        return lambda draft, node, _: token(draft, node)
    if rule is MergeRule.TOKEN_AND_DEPTH:
        return lambda draft, node, _: (token(draft, node), depth(draft, node))
    if corrections is None:
        raise ValueError("a merge by equal correction needs the corrections")
    return lambda draft, node, _: (depth(draft, node), int(corrections[draft][node]))
