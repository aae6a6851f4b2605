"""TreeSpark's rule written down a second time, for tests alone: exact fractions, plain lists, every resolution of ties.

It shares nothing with ``tree_oracle.construct``. Where the rule leaves a tie open, a ``Chooser`` is asked, which can be made
to take each way in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from tree_oracle.record import DraftData

Path = tuple[int, ...]
Choose = Callable[[list[Any], int], list[Any]]


def probability(data: DraftData, root: int, path: Path) -> Fraction:
    """The product of the conditional probabilities along a path, exactly."""
    product, before = Fraction(1), root
    for depth, token in enumerate(path):
        laws = data.laws[min(depth, len(data.laws) - 1)]
        letter = laws[min(before, len(laws) - 1)][token]
        product *= 0 if letter == "-" else Fraction(1, 2 ** int(letter))
        before = token
    return product


def by_creation(tied: list[Any], count: int) -> list[Any]:
    """The project's own way to resolve ties: items arrive in creation order."""
    return tied[:count]


def candidates(data: DraftData, root: int, k: int, f: int, b: int, choose: Choose) -> list[Path]:
    """Everything drafted, in creation order."""
    pool: list[Path] = []
    frontier: list[Path] = [()]
    for _ in range(b):
        level = []
        for path in frontier:
            children = [(*path, token) for token in range(len(data.laws[0][0]))]
            possible = [child for child in children if probability(data, root, child) > 0]
            kept = best(possible, k, lambda child: probability(data, root, child), choose)
            level += sorted(kept, key=lambda child: (-probability(data, root, child), child[-1]))
        kept = best(level, f, lambda path: probability(data, root, path), choose)
        frontier = [path for path in level if path in kept]
        pool += level
    return pool


def best(items: Sequence[Path], count: int, worth: Callable[[Path], Any], choose: Choose) -> list[Path]:
    """The ``count`` items of the greatest worth; who is asked about ties gets the tied ones in the order they came."""
    if len(items) <= count:
        return list(items)
    cut = sorted(map(worth, items), reverse=True)[count - 1]
    sure = [item for item in items if worth(item) > cut]
    tied = [item for item in items if worth(item) == cut]
    return sure + choose(tied, count - len(sure))


def packed(data: DraftData, root: int, k: int, f: int, b: int) -> list[Path]:
    """The whole pool in packed order."""
    pool = candidates(data, root, k, f, b, by_creation)
    return sorted(pool, key=lambda path: (-probability(data, root, path), len(path)))


@dataclass
class Chooser:
    """Takes the way through all ties that ``script`` says, the first one where it says nothing, and notes how many ways."""

    script: list[int]
    ways: list[int] = field(default_factory=list)

    def __call__(self, tied: list[Any], count: int) -> list[Any]:
        options = [list(some) for some in combinations(tied, count)]
        at = len(self.ways)
        self.ways.append(len(options))
        return options[self.script[at] if at < len(self.script) else 0]


def all_trees(data: DraftData, root: int, k: int, f: int, n: int, b: int) -> Iterator[frozenset[Path]]:
    """The tree of every way through all ties, some of them more than once."""
    script: list[int] | None = []
    while script is not None:
        chooser = Chooser(script)
        pool = candidates(data, root, k, f, b, chooser)
        kept = best(pool, n, lambda path: (probability(data, root, path), -len(path)), chooser)
        yield frozenset(kept)
        script = following(script, chooser.ways)


def following(script: list[int], ways: list[int]) -> list[int] | None:
    """The next script in counting order; None after the last."""
    taken = [*script, *[0] * (len(ways) - len(script))][: len(ways)]
    while taken and taken[-1] == ways[len(taken) - 1] - 1:
        taken.pop()
    return [*taken[:-1], taken[-1] + 1] if taken else None
