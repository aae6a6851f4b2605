"""What the properties of verification laws share: random laws, random models, and laws worked out with plain dictionaries.

The formulas stand apart from the library: they are sums over all cases as the rules are published, without coins or trees.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

Numbers = tuple[Fraction, ...]
Source = Callable[[tuple[int, ...]], Numbers]


def fractions(*weights: int) -> Numbers:
    """Weights divided by their sum."""
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def laws(size: int) -> st.SearchStrategy[Numbers]:
    """Any law over ``size`` tokens with small weights, zeros included. Shrinks to certainty of one token."""
    return (
        st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any).map(lambda weights: fractions(*weights))
    )


@st.composite
def pairs(draw: st.DrawFn, least: int = 2, most: int = 5) -> tuple[Numbers, Numbers]:
    """A target and a draft over the same tokens."""
    size = draw(st.integers(least, most))
    return draw(laws(size)), draw(laws(size))


def model(seed: int, size: int) -> Source:
    """A law that depends on the whole history, without a pattern."""

    def law(context: tuple[int, ...]) -> Numbers:
        chance = random.Random(f"{seed}: {context}")
        weights = [chance.choice((0, 1, 1, 2, 5)) for _ in range(size)]
        return fractions(*weights) if any(weights) else fractions(*[1] * size)

    return law


def joint_law(source: Source, size: int, tokens: int) -> dict[tuple[int, ...], Fraction]:
    """The law of a text under a model, as a product along every text."""
    found = {}
    for text in product(range(size), repeat=tokens):
        share = Fraction(1)
        for place, token in enumerate(text):
            share *= source(text[:place])[token]
        if share:
            found[text] = share
    return found


def overlap(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
    """sum min(p, q)."""
    return sum((min(a, b) for a, b in zip(p, q, strict=True)), Fraction(0))


def left_over(p: Sequence[Fraction], q: Sequence[Fraction]) -> Numbers:
    """norm((p - q)_+), or p where nothing is left."""
    rest = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
    return tuple(share / sum(rest) for share in rest) if any(rest) else tuple(p)


def struck(q: Sequence[Fraction], token: int) -> Numbers:
    """q without a token, or all 0 where nothing is left."""
    rest = [Fraction(0) if other == token else share for other, share in enumerate(q)]
    return tuple(share / sum(rest) for share in rest) if any(rest) else tuple(rest)
