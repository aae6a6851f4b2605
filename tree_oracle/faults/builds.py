"""Wrong ways to build a tree, and detours to the right one, another admissible tree among them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from tree_oracle.construct import Draft, Pool, TreeSpark, packed_order
from tree_oracle.construct.draft import Law
from tree_oracle.tree import CandidateTree

Arrays = tuple[list[int], list[int]]
Slots = Int[np.ndarray, " m"]
_NOWHERE = -1


def _kept(pool: Pool, kept: Slots) -> Arrays:
    """Tokens and parents of these slots of the pool, in this order; a parent that is not among them is found nowhere."""
    slots = {int(old): new for new, old in enumerate(kept)}
    parents = [slots.get(int(pool.tree.parents[old]), _NOWHERE) for old in kept]
    return pool.tree.tokens[kept].tolist(), parents


def _first(policy: TreeSpark, pool: Pool, *keys: np.ndarray) -> Slots:
    """The root and the first candidates by these keys, the most important first; in creation order."""
    below = np.lexsort([key[1:] for key in reversed(keys)])[: policy.budget] + 1
    return np.array([0, *sorted(below.tolist())], dtype=np.int64)


def _latest_first(policy: TreeSpark, pool: Pool) -> Slots:
    """Equal scores in reverse creation order, so the deeper first: a child may be taken and its parent cut off."""
    return _first(policy, pool, -pool.scores, -np.arange(len(pool.scores)))


def depth_rule_dropped(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: of equal scores the deeper comes first, and a child whose parent was cut off has none."""
    pool = policy.pool(draft, root)
    return _kept(pool, _latest_first(policy, pool))


def latest_first_of_a_depth(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: of equal scores the shallower comes first, of one depth the one created last: another admissible tree."""
    pool = policy.pool(draft, root)
    return _kept(pool, _first(policy, pool, -pool.scores, pool.tree.depths, -np.arange(len(pool.scores))))


def orphan_adopted(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: as above, but a child whose parent was cut off is hung from the node stored before it."""
    tokens, parents = depth_rule_dropped(policy, draft, root)
    return tokens, [node - 1 if parent == _NOWHERE else parent for node, parent in enumerate(parents)]


def best_first(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: the tree grows from the root, each time by the best candidate whose parent is in it."""
    pool = policy.pool(draft, root)
    ready, kept = [(0.0, 0, 0)], list[int]()
    while ready and len(kept) <= policy.budget:
        _, _, node = heapq.heappop(ready)
        kept.append(node)
        for child in pool.tree.children(node):
            heapq.heappush(ready, (-float(pool.scores[child]), int(pool.tree.depths[child]), child))
    return _kept(pool, np.array(kept))


def budget_counts_root(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: the root takes one of the places of the budget."""
    pool = policy.pool(draft, root)
    return _kept(pool, packed_order(pool)[: policy.budget])


def root_set_aside(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: the candidates are ordered without the root, which is put back in front."""
    pool = policy.pool(draft, root)
    return _kept(pool, np.array([0, *[slot for slot in packed_order(pool) if slot][: policy.budget]]))


def parent_one_late(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: the parent is looked up one row too late."""
    tree = policy.build(draft, root).tree
    return tree.tokens.tolist(), [_NOWHERE, *(tree.parents[1:] + 1).tolist()]


def parent_from_wider_table(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: the parent is looked up in a table with one row more in front, one row later."""
    tree = policy.build(draft, root).tree
    table = [_NOWHERE, *range(len(tree))]
    return tree.tokens.tolist(), [table[parent + 1] for parent in tree.parents.tolist()]


def parent_by_token_and_depth(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: nodes of equal token and depth are taken for one, so that the first of them gets the children of all."""
    tree = policy.build(draft, root).tree
    labels = list(zip(tree.tokens.tolist(), tree.depths.tolist(), strict=True))
    return tree.tokens.tolist(), [_NOWHERE, *(labels.index(labels[parent]) for parent in tree.parents[1:])]


def parent_by_history(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: the parent is looked up by its tokens from the root on."""
    tree = policy.build(draft, root).tree
    paths = [tuple(tree.tokens[list(tree.path(node))].tolist()) for node in range(len(tree))]
    return tree.tokens.tolist(), [_NOWHERE, *(paths.index(path[:-1]) for path in paths[1:])]


def one_level_more(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Fault: one level more than the depth is drafted, as where the depth counts steps after the first level."""
    return replace(policy, depth=policy.depth + 1).build(draft, root).tree


def within_depth(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Twin: candidates beyond the depth are left out, of which there are none."""
    pool = policy.pool(draft, root)
    order = packed_order(pool)
    return _kept(pool, order[pool.tree.depths[order] <= policy.depth][: policy.budget + 1])


def packed_by_edge(policy: TreeSpark, draft: Draft, root: int) -> Arrays:
    """Fault: packed by a node's own probability instead of its path's; what has no parent then is left out."""
    pool = policy.pool(draft, root)
    assert pool.tree.edge_log_probs is not None
    kept = _first(policy, pool, -pool.tree.edge_log_probs, pool.tree.depths)
    closed = [slot for slot in kept if set(pool.tree.path(int(slot))) <= set(kept.tolist())]
    return _kept(pool, np.array(closed))


def frontier_not_cut(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Fault: every node of a level proposes."""
    return replace(policy, frontier=policy.most_candidates).build(draft, root).tree


@dataclass(frozen=True, slots=True)
class _Asked:
    """A draft that is asked for another law than the one that is meant."""

    draft: Draft
    root: int | None = None  # always after this token
    late: int = 0  # how many depths too late

    def log_probs(self, depth: int, parent_token: int) -> Law:
        token = parent_token if self.root is None else self.root
        return self.draft.log_probs(max(1, depth - self.late), token)


def law_of_root(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Fault: every law is asked for after the root's token instead of the parent's."""
    return policy.build(_Asked(draft, root=root), root).tree


def law_of_depth_above(policy: TreeSpark, draft: Draft, root: int) -> CandidateTree:
    """Fault: below the first level every law is asked for at the depth of the parent."""
    return policy.build(_Asked(draft, late=1), root).tree
