"""TreeSpark's trees for several requests at once, level by level, in arrays with one row for each request.

Every request has its own draft, vocabulary and root, and the trees are those of ``TreeSpark.build``, bit for bit: rows never
meet, and what a request lacks is filled with scores of -inf, which nothing chooses. This is how a serving system builds, and
where a parent can be looked up in the row of another request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.laws import AnyDraft, Laws
from tree_oracle.construct.policy import Built
from tree_oracle.construct.treespark import TreeSpark
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.tree.values import frozen


@dataclass(slots=True)
class _Pools:
    """All candidates so far in creation order, the root first; missing ones score -inf."""

    tokens: Int[np.ndarray, "batch n"]
    parents: Int[np.ndarray, "batch n"]
    edges: Float[np.ndarray, "batch n"]
    scores: Float[np.ndarray, "batch n"]


def build_batch(policy: TreeSpark, drafts: Sequence[AnyDraft], roots: Sequence[int]) -> list[Built]:
    """One tree for each request.

    Raises:
        UsageError: not one root for each draft.
        InvalidDraft: a law of a draft is none.
    """
    if len(drafts) != len(roots):
        raise UsageError(f"{len(drafts)} drafts and {len(roots)} roots; expected one root for each draft")
    laws = [Laws(draft) for draft in drafts]
    batch = len(roots)
    pools = _Pools(
        np.array(roots, dtype=np.int64).reshape(batch, 1),
        np.full((batch, 1), -1),
        np.zeros((batch, 1)),
        np.zeros((batch, 1)),
    )
    frontier = np.zeros((batch, 1), dtype=np.int64)
    for _ in range(policy.depth):
        frontier = _level(policy, laws, pools, frontier)
        if not frontier.size:
            break
    return _packed(policy, pools)


def _level(
    policy: TreeSpark, laws: list[Laws], pools: _Pools, frontier: Int[np.ndarray, "batch f"]
) -> Int[np.ndarray, "batch f"]:
    """Let the frontier propose; the next frontier."""
    batch, width = frontier.shape
    proposed = {
        (row, column): laws[row].top(_history(pools, row, int(frontier[row, column])), policy.branching)
        for row, column in np.argwhere(np.take_along_axis(pools.scores, frontier, axis=1) > -np.inf).tolist()
    }
    widest = max((len(ranked.tokens) for ranked in proposed.values()), default=0)  # may be far below the branching
    tokens = np.zeros((batch, width, widest), dtype=np.int64)
    edges = np.full(tokens.shape, -np.inf)
    for (row, column), ranked in proposed.items():
        tokens[row, column, : len(ranked.tokens)] = ranked.tokens
        edges[row, column, : len(ranked.tokens)] = ranked.edges
    first, many = pools.scores.shape[1], width * widest
    above = np.take_along_axis(pools.scores, frontier, axis=1)[:, :, None]
    scores = (above + edges).reshape(batch, many)
    pools.tokens = np.hstack([pools.tokens, tokens.reshape(batch, many)])
    pools.parents = np.hstack([pools.parents, np.repeat(frontier, widest, axis=1)])
    pools.edges = np.hstack([pools.edges, edges.reshape(batch, many)])
    pools.scores = np.hstack([pools.scores, scores])
    best = np.argsort(-scores, axis=1, kind="stable")[:, : policy.frontier]
    chosen: Int[np.ndarray, "batch f"] = first + np.sort(best, axis=1)
    return chosen


def _history(pools: _Pools, row: int, node: int) -> tuple[int, ...]:
    tokens: list[int] = []
    while node >= 0:
        tokens.append(int(pools.tokens[row, node]))
        node = int(pools.parents[row, node])
    return tuple(reversed(tokens))


def _packed(policy: TreeSpark, pools: _Pools) -> list[Built]:
    # Levels are created one after the other, so a stable sort puts the shallower of equal ones first.
    order = np.argsort(-pools.scores, axis=1, kind="stable")
    sizes = (pools.scores > -np.inf).sum(axis=1)
    return [_tree(policy, pools, row, order[row, :size]) for row, size in enumerate(sizes.tolist())]


def _tree(policy: TreeSpark, pools: _Pools, row: int, order: Int[np.ndarray, " n"]) -> Built:
    kept = order[: policy.budget + 1]
    names = {int(slot): name for name, slot in enumerate(kept)}
    parents = [-1, *(names[slot] for slot in pools.parents[row, kept[1:]].tolist())]
    tree = CandidateTree(pools.tokens[row, kept], parents, pools.edges[row, kept])
    return Built(tree, frozen(pools.scores[row, kept]), pool_size=len(order) - 1)
