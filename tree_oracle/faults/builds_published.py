"""Wrong ways to build by published policies other than TreeSpark, and detours to the right tree.

Each builder has its policy's defaults at hand, as the program that it stands for has; the decoder declares the policy.
"""

from __future__ import annotations

import numpy as np

from tree_oracle.construct import (
    DDTree,
    Draft,
    Eagle2,
    JetSpec,
    OptTree,
    Pool,
    TreePolicy,
    TreeSpark,
    expansion,
    packed_order,
)
from tree_oracle.faults.builds import Arrays
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.formats import ParentList, in_level_order

_EAGLE, _OPT, _JET = Eagle2(), OptTree(), JetSpec()


def _eagle_pool(draft: Draft, root: int) -> Pool:
    return TreeSpark(_EAGLE.branching, _EAGLE.frontier, _EAGLE.budget, _EAGLE.depth).pool(draft, root)


def orphan_found_by_search(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Fault: the best of the pool by score, equal ones the last created first; a parent that was cut off is searched for in
    sorted order, which finds the one after it."""
    pool = _eagle_pool(draft, root)
    best = np.lexsort((-np.arange(len(pool.scores)), -pool.scores))
    return _searched(pool, np.sort(np.append(0, best[best > 0][: _EAGLE.budget])))


def search_after_closure(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Twin: parents are searched for in sorted order among nodes that were taken the shallower first."""
    pool = _eagle_pool(draft, root)
    return _searched(pool, np.sort(packed_order(pool)[: _EAGLE.budget + 1]))


def _searched(pool: Pool, kept: np.ndarray) -> Arrays:
    parents = np.searchsorted(kept, pool.tree.parents[kept])
    return pool.tree.tokens[kept].tolist(), [-1, *parents[1:].tolist()]


def depth_of_levels(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Fault: the authors' depth 7 is read as seven levels, where it gives eight."""
    return Eagle2(depth=7).build(draft, root).tree


def depth_of_steps(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Twin: the authors' depth 7 is read as they do."""
    return Eagle2.published(depth=7).build(draft, root).tree


def total_without_root(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Fault: the authors' total of 60 is read as 60 candidates."""
    return Eagle2(budget=60).build(draft, root).tree


def total_with_root(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Twin: the root is one of the authors' 60."""
    return Eagle2.published(total_token=60).build(draft, root).tree


def parent_rows_shifted(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Fault: of equal scores the last created comes first, parents are looked up all at once, and the row of one that was cut
    off is missing, so that later nodes get the parent of the one after them."""
    tree = OptTree(budget=10 * _OPT.budget).build(draft, root).tree
    scores = _sums(tree)
    best = np.lexsort((-np.arange(len(tree)), -scores))
    kept = np.sort(np.append(0, best[best > 0][: _OPT.budget]))
    found = np.argwhere(tree.parents[kept][1:, None] == kept)[:, 1]
    return tree.tokens[kept].tolist(), [-1, *found.tolist(), *[0] * (len(kept) - 1 - len(found))]


def parents_one_by_one(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Twin: the tree of the rule, each parent looked up by itself."""
    tree = _OPT.build(draft, root).tree
    return tree.tokens.tolist(), [-1, *(int(parent) for parent in tree.parents[1:])]


def _sums(tree: CandidateTree) -> np.ndarray:
    assert tree.edge_log_probs is not None
    scores = np.zeros(len(tree))
    for node in range(1, len(tree)):
        scores[node] = scores[tree.parents[node]] + tree.edge_log_probs[node]
    return scores


def best_prefixes(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Fault: the most probable prefixes are taken, where a node's children are to be taken all at once."""
    return DDTree(budget=_JET.budget, depth=_JET.depth).build(draft, root).tree


def fans_by_level(policy: TreePolicy, draft: Draft, root: int) -> CandidateTree:
    """Twin: the tree of the rule, stored level by level."""
    return in_level_order(_JET.build(draft, root).tree)[0]


def merged_by_token_and_depth(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Fault: of nodes of equal token and depth the first is kept, and the children of the others are hung below it."""
    tree = expansion().build(draft, root).tree
    return _merged(tree, list(zip(tree.tokens.tolist(), tree.depths.tolist(), strict=True)))


def merged_by_history(policy: TreePolicy, draft: Draft, root: int) -> Arrays:
    """Twin: of nodes of equal history the first is kept, which are no two."""
    tree = expansion().build(draft, root).tree
    return _merged(tree, [tuple(tree.tokens[list(tree.path(node))].tolist()) for node in range(len(tree))])


def _merged(tree: CandidateTree, labels: list[tuple[int, ...]]) -> Arrays:
    """The first node of each label, and below it the children of all."""
    slots, tokens, parents, first = list[int](), list[int](), list[int](), dict[tuple[int, ...], int]()
    for node, label in enumerate(labels):
        if label not in first:
            first[label] = len(tokens)
            tokens.append(int(tree.tokens[node]))
            parents.append(slots[tree.parents[node]] if node else -1)
        slots.append(first[label])
    return tokens, parents


def counted_by_token(tree: CandidateTree, prefix_len: int) -> ParentList:
    """Fault: candidates are counted by tokens that are not 0."""
    return _first_nodes(tree, 1 + int((tree.tokens[1:] != 0).sum()))


def counted_by_no_token(tree: CandidateTree, prefix_len: int) -> ParentList:
    """Twin: candidates are counted by tokens that are not -1."""
    return _first_nodes(tree, 1 + int((tree.tokens[1:] != -1).sum()))


def _first_nodes(tree: CandidateTree, count: int) -> ParentList:
    return ParentList(tree.tokens[:count].copy(), tree.parents[:count].copy())
