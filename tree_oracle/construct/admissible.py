"""Every tree that TreeSpark's rule allows when scores tie.

The rule leaves three ties open: equal log-probabilities at the cut of the top k, equal scores of one depth at the cut of the
frontier, and equal scores of one depth at the cut of the budget. (Across depths it decides: the shallower first.) A decoder
may resolve each as it likes, so on tied drafts there are many right trees. Siblings are distinct, so a tree is the set of its
token paths, whatever its storage order: that is its canonical form.

``admissible`` lists the set by trying every resolution, for small cases. ``admits`` decides membership of one tree of any
size without a list. Write key(v) = (-s(v), d(v)), smaller is better, and let the cut be the worst key in the tree if the
tree is full, and worse than anything if it is not. The tree is admissible exactly when

1. the children of each node are among its top k for some resolution;
2. every level has a frontier that holds all nodes with children, and no node that proposes a child with a key better than
   the cut which the tree lacks.

Nothing else can matter: a candidate that the tree lacks has no better key than the cut, and its own children have worse ones
(they are deeper and score no higher), so they neither belong in the tree nor keep a node of it out of a frontier.

Ties are equalities of float64 sums, taken from the root down. They mean something where the sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from tree_oracle.construct.held import Held, held
from tree_oracle.construct.laws import AnyDraft, Laws, histories_of
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree

if TYPE_CHECKING:
    from tree_oracle.construct.treespark import TreeSpark

Path: TypeAlias = tuple[int, ...]  # the tokens from below the root to a node
Paths: TypeAlias = frozenset[Path]
Key: TypeAlias = tuple[float, int]
Item = TypeVar("Item")

_WORST: Key = (np.inf, 0)


def paths_of(tree: CandidateTree) -> Paths:
    """The canonical form of a tree whose siblings are distinct: its paths without the root."""
    return frozenset(history[1:] for history in histories_of(tree)[1:])


def admissible(policy: TreeSpark, draft: AnyDraft, root: int, *, most: int = 1000) -> frozenset[Paths]:
    """The canonical forms of all trees that the policy allows.

    Raises:
        UsageError: there are more than ``most`` of them, or as many pools.
    """
    laws = Laws(draft)
    scores: dict[Path, float] = {(): 0.0}
    states: set[tuple[Paths, Paths]] = {(frozenset(), frozenset([()]))}  # pool and frontier
    for _ in range(policy.depth):
        states = _few(most, (after for before in states for after in _level(policy, laws, root, before, scores, most)))
        if not any(frontier for _, frontier in states):
            break
    trees = (kept for pool, _ in states for kept in _cuts(pool, lambda path: (-scores[path], len(path)), policy.budget))
    return frozenset(_few(most, map(frozenset, trees)))


def admits(policy: TreeSpark, tree: CandidateTree, draft: AnyDraft, root: int, *, shallower_first: bool = True) -> bool:
    """Whether ``tree`` is one of them.

    Without ``shallower_first`` the cut of the budget is by score alone, as in EAGLE: d(v) is no part of the key, and the
    same two conditions decide which of the *closed* sets are admissible.
    """
    paths = paths_of(tree)
    if tree.tokens[0] != root or not len(paths) == len(tree) - 1 <= policy.budget or tree.max_depth > policy.depth:
        return False
    found = held(tree, Laws(draft), policy.branching, policy.depth)
    return found is not None and _Membership(policy, tree, found, shallower_first).holds


def _few(most: int, items: Iterable[Item]) -> set[Item]:
    found: set[Item] = set()
    for item in items:
        found.add(item)
        if len(found) > most:
            raise UsageError(f"ties can be resolved in more than {most} ways; expected a smaller case")
    return found


def _level(
    policy: TreeSpark, laws: Laws, root: int, state: tuple[Paths, Paths], scores: dict[Path, float], most: int
) -> Iterator[tuple[Paths, Paths]]:
    """What pool and frontier may be one level further down; the scores of new paths are noted."""
    pool, frontier = state
    # Each of a node's offers ends in a state of its own, so too many of one node are too many of all.
    offers = [_few(most, _offers(path, laws, root, policy.branching, scores)) for path in sorted(frontier)]
    for chosen in product(*offers):
        level = [path for children in chosen for path in children]
        for kept in _cuts(level, lambda path: -scores[path], policy.frontier):
            yield pool.union(level), frozenset(kept)


def _offers(path: Path, laws: Laws, root: int, branching: int, scores: dict[Path, float]) -> Iterator[tuple[Path, ...]]:
    """Every set of children that a node may propose."""
    law = laws.after((root, *path))
    possible = np.flatnonzero(law > -np.inf).tolist()
    scores |= {(*path, token): scores[path] + float(law[token]) for token in possible}
    for tokens in _cuts(possible, lambda token: -float(law[token]), branching):
        yield tuple((*path, token) for token in tokens)


def _cuts(items: Iterable[Item], key: Callable[[Item], object], count: int) -> Iterator[tuple[Item, ...]]:
    """Every choice of the ``count`` items of the smallest keys."""
    ranked: Sequence[Item] = sorted(items, key=key)  # type: ignore[arg-type]
    if len(ranked) <= count:
        yield tuple(ranked)
        return
    cut = key(ranked[count - 1])
    tied = [item for item in ranked if key(item) == cut]
    sure = [item for item in ranked[:count] if key(item) != cut]
    for some in combinations(tied, count - len(sure)):
        yield (*sure, *some)


class _Membership:
    """One tree whose children are proposals of their parents, held against condition 2."""

    def __init__(self, policy: TreeSpark, tree: CandidateTree, found: Held, shallower_first: bool) -> None:
        self._policy, self._tree, self._held = policy, tree, found
        self._depths = tree.depths.tolist()
        self._below = int(shallower_first)  # what one level more counts between equal scores
        self._ranks = [self._below * depth for depth in self._depths]
        keys = [(-score, rank) for score, rank in zip(found.scores, self._ranks, strict=True)]
        self._cut = max(keys[1:]) if len(tree) - 1 == policy.budget else _WORST

    @property
    def holds(self) -> bool:
        return all(self._has_frontier(depth) for depth in range(min(self._policy.depth, self._tree.max_depth + 1)))

    def _may_propose(self, node: int) -> bool:
        """Whether the tree has room for nothing that the node proposes and the tree lacks."""
        omitted = self._held.omitted[node]
        key = (-(self._held.scores[node] + max(omitted, default=-np.inf)), self._ranks[node] + self._below)
        return not omitted or key >= self._cut

    def _has_frontier(self, depth: int) -> bool:
        """Condition 2 for one level. The root is the whole frontier of its own."""
        level = [node for node in range(len(self._tree)) if self._depths[node] == depth]
        barred = [node for node in level if not self._may_propose(node)]
        inner = [node for node in level if self._tree.children(node)]
        size = self._policy.frontier if depth else 1
        return (
            not set(barred) & set(inner)
            and self._all_fit(inner, level, size)
            and self._none_needed(barred, level, size)
        )

    def _all_fit(self, inner: list[int], level: list[int], size: int) -> bool:
        """Whether nodes with children find room: all that score better than the worst of them are in before it."""
        scores = self._held.scores
        worst = min((scores[node] for node in inner), default=np.inf)
        return sum(scores[node] > worst or (scores[node] == worst and node in inner) for node in level) <= size

    def _none_needed(self, barred: list[int], level: list[int], size: int) -> bool:
        """Whether the others of at least the barred nodes' best score fill the frontier without them."""
        scores = self._held.scores
        best = max((scores[node] for node in barred), default=None)
        return best is None or sum(scores[node] >= best and node not in barred for node in level) >= size
