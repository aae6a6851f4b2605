"""Which selections from a pool TAPS allows when utilities, or prefixes at the cut of the pool, are equal.

A closed set T is a selection from the pool P exactly if P holds T and, candidates coming by descending utility and those of T
first among equals,

1. each node of T, or one below it in T, reaches the threshold;
2. each other candidate of P falls short of the threshold, or found no room with its missing ancestors when it came.

When a candidate comes, what was kept is known from T alone: the nodes of T that are worth no less, with their ancestors. So 2
is asked of each candidate by itself. P holds every prefix better than its cut, and any closed choice of those at the cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.construct.admissible import Paths
from tree_oracle.construct.laws import AnyDraft, History, Laws, Ranked, histories_of
from tree_oracle.construct.policy import Built


@dataclass(frozen=True, slots=True, eq=False)
class Valued:
    """Candidates, by slot, with what the scorer makes of them. The root's entries mean nothing."""

    built: Built  # with the draft's own scores
    reach: Float[np.ndarray, " n"]  # log
    ranks: Int[np.ndarray, " n"]  # by utility, 0 the best; equal ones have equal ranks
    reaches: Bool[np.ndarray, " n"]  # the threshold, as far as float64 can tell
    may_fall_short: Bool[np.ndarray, " n"]  # of it; both are so where it is too near to call


def by_worth(worth: Float[np.ndarray, " n"], slack: Callable[[float, float], float]) -> Int[np.ndarray, " n"]:
    """Ranks by descending worth; neighbours that are no further apart than the slack have one rank."""
    order = np.argsort(-worth, kind="stable")
    values = worth[order].tolist()
    steps = [
        before > after and before - after > slack(before, after)
        for before, after in zip(values, values[1:], strict=False)
    ]
    ranks = np.zeros(len(worth), dtype=np.int64)
    ranks[order[1:]] = np.cumsum(steps)
    return ranks


class Preferring(Laws):
    """Laws that put wanted tokens first among the equal ones at a cut."""

    def __init__(self, draft: AnyDraft, wanted: Iterable[History]) -> None:
        super().__init__(draft)
        self._wanted: dict[History, set[int]] = {}
        for *above, token in wanted:
            self._wanted.setdefault(tuple(above), set()).add(token)

    def top(self, history: History, count: int) -> Ranked:
        """See ``Laws``."""
        ranked, wanted = super().top(history, count), self._wanted.get(history, set())
        if not len(ranked.tokens) or wanted <= set(ranked.tokens.tolist()):
            return ranked
        law, cut = self.after(history), ranked.edges[-1]
        above = ranked.tokens[ranked.edges > cut]
        equal = sorted(np.flatnonzero(law == cut).tolist(), key=lambda token: (token not in wanted, token))
        tokens = np.array([*above.tolist(), *sorted(equal[: len(ranked.tokens) - len(above)])], dtype=np.int64)
        return Ranked(tokens, law[tokens])


class Selection:
    """One set of paths held against all candidates of all pools."""

    def __init__(self, every: Valued, paths: Paths, pool: int, budget: int) -> None:
        self._every, self._pool, self._budget = every, pool, budget
        self._tree = every.built.tree
        self._own = [not history[1:] or history[1:] in paths for history in histories_of(self._tree)]
        self._all_there = sum(self._own) == len(paths) + 1
        self._kept_at = self._ranks_at_which_kept()
        self._in_order = sorted(self._kept_at[node] for node in range(1, len(self._tree)) if self._own[node])

    @property
    def holds(self) -> bool:
        """Whether some pool gives this set."""
        if not self._all_there or (self._in_order and self._in_order[-1] == np.inf):
            return False
        scores = self._every.built.scores
        cut = scores[self._pool] if len(scores) - 1 > self._pool else -np.inf
        in_pool = [True] * len(scores)
        for node in range(1, len(scores)):
            in_pool[node] = in_pool[self._tree.parents[node]] and (self._own[node] or self._passed_over(node))
            if scores[node] > cut and not in_pool[node]:
                return False
        needed = sum(score > cut or own for score, own in zip(scores.tolist(), self._own, strict=True)) - 1
        return bool(needed <= min(self._pool, len(scores) - 1) <= sum(in_pool) - 1)

    def _ranks_at_which_kept(self) -> list[float]:
        """For each node of the set, the rank of the best one at or below it in the set that reaches the threshold."""
        found = [np.inf] * len(self._tree)
        for node in range(len(self._tree) - 1, 0, -1):
            if self._own[node]:
                own = float(self._every.ranks[node]) if self._every.reaches[node] else np.inf
                found[node] = min(found[node], own)
                parent = int(self._tree.parents[node])
                found[parent] = min(found[parent], found[node])
        return found

    def _passed_over(self, node: int) -> bool:
        """Whether a candidate that the set lacks was below the threshold or found no room."""
        if self._every.may_fall_short[node]:
            return True
        rank = int(self._every.ranks[node])
        kept = bisect_right(self._in_order, rank)
        missing = [
            above for above in self._tree.path(node)[1:] if not (self._own[above] and self._kept_at[above] <= rank)
        ]
        return kept + len(missing) > self._budget
