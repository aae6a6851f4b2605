"""Trees of every published policy by brute force: all ways to resolve all ties, with exact fractions, from the JSON alone.

Nothing of the project is imported. A tree is the set of its paths, tokens from below the root on. A policy is a search over
states, in which every choice that a rule leaves open is a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

Path = tuple[int, ...]
Tree = frozenset[Path]
ROOT: Path = ()


class Draft:
    """Probabilities of the draft of a vector."""

    def __init__(self, written: Any, root: int) -> None:
        self.written, self.root = written, root
        self.known: dict[Path, Fraction] = {ROOT: Fraction(1)}
        self.after = (
            {tuple(one["after"]): one["counts"] for one in written["laws"]} if written["kind"] == "path" else {}
        )

    def law(self, path: Path) -> dict[int, Fraction]:
        """The tokens that may follow, with their probabilities; none where nothing is written."""
        laws, counts = self.written["laws"], []
        if self.written["kind"] == "path":
            counts = self.after.get(path, [])
        elif len(path) < len(laws):
            counts = laws[len(path)] if self.written["kind"] == "marginal" else laws[len(path)][(self.root, *path)[-1]]
        return {token: Fraction(count, self.written["total"]) for token, count in enumerate(counts) if count}

    def chance(self, path: Path) -> Fraction:
        """The product along a path."""
        if path not in self.known:
            self.known[path] = self.chance(path[:-1]) * self.law(path[:-1]).get(path[-1], Fraction(0))
        return self.known[path]


def best(items: Iterable[Any], key: Callable[[Any], Any], count: int) -> Iterator[tuple[Any, ...]]:
    """Every choice of ``count`` items with the largest keys."""
    ordered = sorted(items, key=key, reverse=True)
    if len(ordered) <= count or not count:
        yield tuple(ordered[:count])
        return
    cut = key(ordered[count - 1])
    above = [item for item in ordered if key(item) > cut]
    equal = [item for item in ordered if key(item) == cut]
    for few in combinations(equal, count - len(above)):
        yield (*above, *few)


def families(draft: Draft, path: Path, count: int) -> Iterator[tuple[Path, ...]]:
    """Every choice of the most probable children of a node."""
    law = draft.law(path)
    for tokens in best(law, law.__getitem__, count):
        yield tuple((*path, token) for token in tokens)


def closed(paths: Iterable[Path]) -> bool:
    """Whether every node's parent is there."""
    there = {ROOT, *paths}
    return all(path[:-1] in there for path in there if path)


def beams(draft: Draft, width: int, frontier: int, depth: int) -> set[tuple[Tree, ...]]:
    """The levels that can be drafted: each of the frontier proposes, then the best of the level are the next frontier."""
    states: set[tuple[tuple[Tree, ...], Tree]] = {((), frozenset([ROOT]))}
    for _ in range(depth):
        states = {
            ((*levels, level), frozenset(kept))
            for levels, front in states
            for choice in product(*(families(draft, path, width) for path in sorted(front)))
            for level in [frozenset(child for family in choice for child in family)]
            for kept in best(level, draft.chance, frontier)
        }
    return {levels for levels, _ in states}


def treespark(draft: Draft, p: Any) -> set[Tree]:
    """Beams, then the best of the pool, the shallower first of equal ones."""
    return {
        frozenset(kept)
        for levels in beams(draft, p["branching"], p["frontier"], p["depth"])
        for kept in best(frozenset().union(*levels), lambda path: (draft.chance(path), -len(path)), p["budget"])
    }


def eagle2(draft: Draft, p: Any) -> set[Tree]:
    """Beams of one width, then the best of the pool by score alone, where that is a tree."""
    return {
        frozenset(kept)
        for levels in beams(draft, p["branching"], p["branching"], p["depth"])
        for kept in best(frozenset().union(*levels), draft.chance, p["budget"])
        if closed(kept)
    }


def opt_tree(draft: Draft, p: Any) -> set[Tree]:
    """Layers of the best n children, until the best n of all layers gain too little."""
    n, found = p["budget"], set[Tree]()
    states: set[tuple[Tree, Tree, Fraction]] = {(frozenset(), frozenset([ROOT]), Fraction(0))}
    for layer in range(1, p["depth"] + 1):
        after = set[tuple[Tree, Tree, Fraction]]()
        for pool, front, before in states:
            for choice in product(*(families(draft, path, n) for path in sorted(front))):
                for kept in best([child for family in choice for child in family], draft.chance, n):
                    grown = pool | set(kept)
                    mass = sum(sorted(map(draft.chance, grown), reverse=True)[:n], Fraction(0))
                    if mass - before <= Fraction(*p["threshold"]) or layer == p["depth"]:
                        found |= {frozenset(some) for some in best(grown, draft.chance, n) if closed(some)}
                    else:
                        after.add((grown, frozenset(kept), mass))
        states = after
    return found


def best_first(
    draft: Draft, score: Callable[[Path], Fraction], budget: int, depth: int, width: int,
    ends: Callable[[Tree, Path], bool] = lambda taken, path: False,
) -> set[Tree]:  # fmt: skip
    """One best candidate after another; a node's children are candidates as soon as it is taken."""

    def opened(path: Path) -> Iterator[Tree]:
        yield from map(frozenset, families(draft, path, width if len(path) < depth else 0))

    found = set[Tree]()
    states = {(Tree(), candidates) for candidates in opened(ROOT)}
    while states:
        after = set[tuple[Tree, Tree]]()
        for taken, candidates in states:
            top = max(map(score, candidates), default=Fraction(0))
            leading = [path for path in candidates if score(path) == top]
            if not candidates or len(taken) == budget or ends(taken, leading[0]):
                found.add(taken)
                continue
            after |= {(taken | {path}, candidates - {path} | more) for path in leading for more in opened(path)}
        states = after
    return found


def ddtree(draft: Draft, p: Any) -> set[Tree]:
    return best_first(draft, draft.chance, p["budget"], p["depth"], p["budget"])


def caddtree(draft: Draft, p: Any) -> set[Tree]:
    """Ends before a node that does not raise tokens by time."""

    def value(taken: Iterable[Path], count: int) -> Fraction:
        cost: int = p["draft_cost"] + p["verify_costs"][count]
        return (1 + sum(map(draft.chance, taken), Fraction(0))) / cost

    def ends(taken: Tree, path: Path) -> bool:
        return value({*taken, path}, len(taken) + 1) <= value(taken, len(taken))

    return best_first(draft, draft.chance, p["budget"], p["depth"], p["budget"], ends)


def calibrated(draft: Draft, p: Any) -> set[Tree]:
    """Best first on the product of estimates; ends before the first candidate below the threshold."""

    def estimate(q: Fraction) -> Fraction:
        if q == 1:
            return q
        odds: Fraction = Fraction(*p["odds"]) * (q / (1 - q)) ** p["slope"]
        return odds / (1 + odds)

    def score(path: Path) -> Fraction:
        whole = Fraction(1)
        for length, token in enumerate(path):
            whole *= estimate(draft.law(path[:length])[token])
        return whole

    least = Fraction(*p["threshold"])
    return best_first(draft, score, p["budget"], p["depth"], p["branching"], lambda taken, path: score(path) < least)


def taps(draft: Draft, p: Any) -> set[Tree]:
    """From a pool by utility, each with those of its ancestors that are missing, as far as they fit."""
    found = set[Tree]()
    for pool in best_first(draft, draft.chance, p["pool"], p["depth"], p["branching"]):
        utility = {path: draft.chance(path) / p["costs"][len(path) - 1] for path in pool}
        states = {(Tree(), pool)}
        while states:
            after = set[tuple[Tree, Tree]]()
            for kept, left in states:
                top = max((utility[path] for path in left), default=None)
                if top is None or top < Fraction(*p["threshold"]):
                    found.add(kept)
                    continue
                for path in (path for path in left if utility[path] == top):
                    larger = kept | {path[:length] for length in range(1, len(path) + 1)}
                    after.add((larger if len(larger) <= p["budget"] else kept, left - {path}))
            states = after
    return found


def jetspec(draft: Draft, p: Any) -> set[Tree]:
    """The best leaf gets a whole family, again and again; the last family is cut to what fits."""
    found = set[Tree]()
    states = {(Tree(), frozenset([ROOT]))}
    while states:
        after = set[tuple[Tree, Tree]]()
        for taken, leaves in states:
            if not leaves or len(taken) == p["budget"]:
                found.add(taken)
                continue
            top = max(map(draft.chance, leaves))
            for leaf in (leaf for leaf in leaves if draft.chance(leaf) == top):
                for family in families(draft, leaf, min(p["branching"], p["budget"] - len(taken))):
                    deeper = {child for child in family if len(child) < p["depth"]}
                    after.add((taken | set(family), leaves - {leaf} | deeper))
        states = after
    return found


def static(draft: Draft, choices: Iterable[Iterable[int]]) -> set[Tree]:
    """A shape of ranks, filled with every order of equally probable tokens."""
    shape = {tuple(choice) for choice in choices}

    def filled(path: Path, ranks: Path) -> set[Tree]:
        wanted = sorted(choice[-1] for choice in shape if choice[:-1] == ranks)
        if not wanted:
            return {Tree()}
        trees = set[Tree]()
        for order in orders(draft.law(path)):
            below = [
                {Tree({(*path, order[rank])}) | tree for tree in filled((*path, order[rank]), (*ranks, rank))}
                for rank in wanted
                if rank < len(order)
            ]
            trees |= {Tree().union(*parts) for parts in product(*below)}
        return trees

    return filled(ROOT, ROOT)


def orders(law: dict[int, Fraction]) -> Iterator[list[int]]:
    """Every order of the tokens by descending probability."""
    groups = [[token for token in law if law[token] == chance] for chance in sorted(set(law.values()), reverse=True)]
    for parts in product(*(permutations(group) for group in groups)):
        yield [token for part in parts for token in part]


def sequoia(draft: Draft, p: Any) -> set[Tree]:
    """The shapes of this size that accept most when child b is the accepted one with the b-th chance."""

    def value(shape: Tree) -> Fraction:
        return sum(
            (product_of(Fraction(p["acceptance"][rank], p["total"]) for rank in ranks) for ranks in shape), Fraction(0)
        )

    shapes = {Tree()}
    for _ in range(p["budget"]):
        shapes = {shape | {one} for shape in shapes for one in _next_ranks(shape, len(p["acceptance"]), p["depth"])}
    most = max(map(value, shapes))
    return set().union(*(static(draft, shape) for shape in shapes if value(shape) == most))


def _next_ranks(shape: Tree, width: int, depth: int) -> Iterator[Path]:
    for above in (ROOT, *shape):
        rank = sum(ranks[:-1] == above for ranks in shape)
        if rank < width and len(above) < depth:
            yield (*above, rank)


def product_of(factors: Iterable[Fraction]) -> Fraction:
    whole = Fraction(1)
    for factor in factors:
        whole *= factor
    return whole


def chain(draft: Draft, depth: int, goes_on: Callable[[int], bool] = lambda level: True) -> set[Tree]:
    """One most probable token below the other."""
    ends = {ROOT}
    for level in range(depth):
        if goes_on(level):
            ends = {child for path in ends for family in families(draft, path, 1) for child in family or (path,)}
        else:
            break
    return {Tree(path[:length] for length in range(1, len(path) + 1)) for path in ends}


def dspark(draft: Draft, p: Any) -> set[Tree]:
    least = Fraction(*p["threshold"])
    return chain(draft, p["depth"], lambda level: Fraction(p["confidence"][level], p["total"]) >= least)


def widths(draft: Draft, p: Any) -> set[Tree]:
    bounds = p["widths"]
    return static(
        draft, [ranks for depth in range(1, len(bounds) + 1) for ranks in product(*map(range, bounds[:depth]))]
    )


POLICIES: dict[str, Callable[[Draft, Any], set[Tree]]] = {
    "treespark": treespark,
    "calibrated-treespark": calibrated,
    "medusa": lambda draft, p: static(draft, p["choices"]),
    "eagle1": lambda draft, p: static(draft, p["choices"]),
    "specinfer": widths,
    "eagle2": eagle2,
    "opt-tree": opt_tree,
    "sequoia": sequoia,
    "ddtree": ddtree,
    "caddtree": caddtree,
    "taps": taps,
    "jetspec": jetspec,
    "dflash": lambda draft, p: chain(draft, p["block"] - 1),
    "dspark": dspark,
    "blockwise": lambda draft, p: chain(draft, p["depth"]),
    "draft-model-chain": lambda draft, p: chain(draft, p["depth"]),
    "specdec": lambda draft, p: chain(draft, p["depth"]),
}


def admitted(asked: Any) -> list[list[list[int]]]:
    """Every right tree, as a vector lists them."""
    found = POLICIES[asked["policy"]](Draft(asked["draft"], asked["root"]), asked["parameters"])
    return sorted([list(path) for path in sorted(tree, key=lambda path: (len(path), path))] for tree in found)
