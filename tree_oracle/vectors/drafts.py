"""Drafts for the vectors: laws of integer counts, all over one total."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

from tree_oracle.vectors.chance import Chance
from tree_oracle.vectors.model import After, Draft, Marginal, Markov, Path, PathLaws

Counts: TypeAlias = tuple[int, ...]
MakeLaw: TypeAlias = Callable[[Chance, int, int], Counts]

PLAIN_TOTAL = 1_000_003  # a prime: products of counts that were cut at random do not meet by common factors
HALVED_TOTAL = 16


def plain_law(chance: Chance, vocab: int, total: int) -> Counts:
    """Distinct counts that sum to the total; now and then a token that is never proposed."""
    while True:
        cuts = sorted(chance.between(1, total - 1) for _ in range(vocab - 1))
        counts = [after - before for before, after in zip([0, *cuts], [*cuts, total], strict=True)]
        if chance.below(5) == 0 and vocab > 2:
            counts[0], counts[1] = counts[0] + counts[1], 0
        if len(set(counts)) == vocab:
            return tuple(counts)


def halved_law(chance: Chance, vocab: int, total: int) -> Counts:
    """Powers of two that sum to the total, a power of two itself: ties everywhere, and edges of probability 1."""
    parts = [total]
    for _ in range(chance.below(vocab)):
        part = chance.pick([part for part in parts if part > 1])
        parts.remove(part)
        parts += [part // 2, part // 2]
    return tuple(chance.shuffled(parts + [0] * (vocab - len(parts))))


def drawn(chance: Chance, make: MakeLaw, total: int, vocab: int, depth: int) -> Draft:
    """A draft of any kind that has a law below each node of depth ``depth - 1`` and above."""
    kind = chance.below(3)
    if kind == 0:
        return Marginal(total, tuple(make(chance, vocab, total) for _ in range(depth)))
    if kind == 1:
        return Markov(total, tuple(tuple(make(chance, vocab, total) for _ in range(vocab)) for _ in range(depth)))
    return PathLaws(total, tuple(After(path, make(chance, vocab, total)) for path in _paths(vocab, depth)))


def _paths(vocab: int, depth: int) -> Iterator[Path]:
    for length in range(depth):
        yield from product(range(vocab), repeat=length)
