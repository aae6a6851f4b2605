"""What the published rules say, written down a second time for tests alone: exact fractions, whole sets, plain loops.

It shares nothing with ``tree_oracle.construct``. Trees are sets of token paths below the root. Drafts are those of
``treespark_oracle``: probabilities are powers of two, so that products are exact and ties are planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import treespark_oracle as oracle
from hypothesis import strategies as st

from tree_oracle.record import DraftData
from tree_oracle.tree import CandidateTree

Path = tuple[int, ...]
Paths = frozenset[Path]
Build = Callable[[oracle.Choose], Iterable[Path]]


def pairs() -> st.SearchStrategy[DraftData]:
    """Drafts of two tokens: equal ones, unequal ones, certain and impossible ones. They need not sum to one."""
    law = st.sampled_from(["11", "12", "21", "0-", "-0", "01", "10", "00", "1-"])
    return st.lists(st.lists(law, min_size=1, max_size=2).map(tuple), min_size=1, max_size=2).map(
        lambda laws: DraftData(tuple(laws))
    )


def paths_in_order(tree: CandidateTree) -> list[Path]:
    """The tokens below the root to each node but the root, in slot order."""
    return [tuple(tree.tokens[list(tree.path(node)[1:])].tolist()) for node in range(1, len(tree))]


def tree_of(paths: Iterable[Path], root: int = 0) -> CandidateTree:
    """A tree with exactly these paths."""
    ordered = [(), *sorted(paths, key=lambda path: (len(path), path))]
    slots = {path: slot for slot, path in enumerate(ordered)}
    return CandidateTree([root, *(path[-1] for path in ordered[1:])], [-1, *(slots[path[:-1]] for path in ordered[1:])])


def prefixes(data: DraftData, root: int, depth: int) -> dict[Path, Fraction]:
    """Every possible path of at most this depth, and its probability."""
    found: dict[Path, Fraction] = {}
    for length in range(1, depth + 1):
        for path in product(range(data.vocab_size), repeat=length):
            chance = oracle.probability(data, root, path)
            if chance:
                found[path] = chance
    return found


@cache
def closed_sets(vocab: int, depth: int) -> tuple[Paths, ...]:
    """Every prefix-closed set of paths over this many tokens, the empty one included."""
    if depth == 0:
        return (frozenset(),)
    below = closed_sets(vocab, depth - 1)
    families = product([None, *below], repeat=vocab)
    return tuple(
        frozenset(
            path
            for token, under in enumerate(family)
            if under is not None
            for path in [(token,), *((token, *rest) for rest in under)]
        )
        for family in families
    )


def is_closed(paths: Iterable[Path]) -> bool:
    """Whether every path's parent is among them."""
    known = {(), *paths}
    return all(path[:-1] in known for path in known if path)


def ranks(data: DraftData, root: int, path: Path) -> Path:
    """For each token of a path how many of its siblings come first: more probable, or as probable and of smaller id."""
    found = []
    for end in range(1, len(path) + 1):
        siblings = [(*path[: end - 1], token) for token in range(data.vocab_size)]
        order = sorted(siblings, key=lambda sibling: (-oracle.probability(data, root, sibling), sibling))
        found.append(order.index(path[:end]))
    return tuple(found)


def every_way(build: Build) -> Iterator[Paths]:
    """What a rule gives for every way through its ties, some of it more than once."""
    script: list[int] | None = []
    while script is not None:
        chooser = oracle.Chooser(script)
        yield frozenset(build(chooser))
        script = oracle.following(script, chooser.ways)


def top_sums(values: Iterable[Fraction], count: int) -> list[Fraction]:
    """The largest values, descending."""
    return sorted(values, reverse=True)[:count]
