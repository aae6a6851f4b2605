"""Which coins to script: for a rule on a given tree, every way that chance can go, with the coins at the ends of its cells.

Along one way each toss asks for a u in an interval [low, high), its cell. The edges of cells are exact fractions, so they are
known before the decoder is asked for anything. A decoder computes in floats, and a float32 softmax, ratio and residual leave
an edge off by a few times 2**-24; coins therefore keep ``MARGIN`` away from an edge on either side. At 0 and 1 there is no edge
and no margin: the smallest coin is 0, which no test of probability 0 may accept, the largest 1 - 2**-24, which no test of
probability 1 may reject.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from tree_oracle.checks.mode import card_of
from tree_oracle.record import LawData, TreeData, UsageError
from tree_oracle.tree import CandidateTree
from tree_oracle.verify.coin import Coin, Weights, check_probability, check_weights, values_of
from tree_oracle.verify.law import Declaration, Instance, scheme_of
from tree_oracle.verify.law.schemes import TreeScheme
from tree_oracle.verify.probabilities import Law, Number
from tree_oracle.verify.rules import (
    PROPOSALS,
    ByDepth,
    GivenTree,
    Models,
    TreeRule,
    Walk,
    joint_of,
    token_of,
)

UNIT = 2**24  # coins are whole numbers of 1 / UNIT
MARGIN = Fraction(1, 2**16)

Script = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """One way that chance can go on one tree, under the declared rule."""

    accepted: tuple[int, ...]
    bonus: int
    mass: Number  # probability of its cells
    scripts: tuple[Script, ...]  # coins in its cells; none where a cell is too narrow


class Laws(NamedTuple):
    """The laws at every node of a tree."""

    target: tuple[Law, ...]
    draft: tuple[Law, ...]


def models_of(data: LawData) -> Models:
    """The two laws by history."""
    if data.turned:
        return Instance("", "", data.target, data.draft, 1).models
    return Models.constant(_divided(data.target), _divided(data.draft))


def _divided(weights: tuple[int, ...]) -> tuple[Fraction, ...]:
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


def path_tokens(tree: TreeData, node: int) -> tuple[int, ...]:
    """The tokens from below the root to ``node``."""
    found: list[int] = []
    while node:
        found.append(tree.tokens[node])
        node = tree.parents[node]
    return tuple(reversed(found))


def laws_at(data: LawData, tree: TreeData) -> Laws:
    """The laws at every node."""
    models = models_of(data)
    paths = [path_tokens(tree, node) for node in range(len(tree.tokens))]
    return Laws(tuple(map(models.target, paths)), tuple(map(models.draft, paths)))


def children_of(tree: TreeData, node: int) -> tuple[int, ...]:
    """The children of a node by slot."""
    return tuple(v for v in range(1, len(tree.parents)) if tree.parents[v] == node)


@lru_cache(maxsize=4096)
def weight_of(mode: Declaration, data: LawData, tree: TreeData) -> Number:
    """How likely the declared proposal is to draft exactly this tree, its shape being given."""
    if not fits(mode, tree):
        return 0
    proposal, models = PROPOSALS[mode.proposal], models_of(data)
    weight: Number = Fraction(1)
    for node in range(len(tree.tokens)):
        if children := children_of(tree, node):
            tokens = tuple(tree.tokens[v] for v in children)
            weight *= joint_of(proposal, models.draft(path_tokens(tree, node)), len(children)).get(tokens, 0)
    return weight


@lru_cache(maxsize=4096)
def plan(mode: Declaration, data: LawData, tree: TreeData) -> tuple[Way, ...]:
    """Every way that chance can go; none on a tree that the declared proposal never drafts, or that the rule refuses."""
    if not weight_of(mode, data, tree):
        return ()
    try:
        return tuple(_ways(mode, data, tree))
    except UsageError:  # siblings that the rule refuses, such as others than SpecHub's pairs
        return ()


def _ways(mode: Declaration, data: LawData, tree: TreeData) -> Iterator[Way]:
    laws, coin = laws_at(data, tree), _CellCoin()
    given, rule, more = GivenTree(CandidateTree.from_data(tree), laws.target, laws.draft), _rule(mode), True
    while more:
        outcome = rule(coin, given)
        bonus = token_of(coin, outcome.bonus)
        yield Way(outcome.accepted, bonus, coin.mass, tuple(_scripts(coin.cells)))
        more = coin.rewind()


def fits(mode: Declaration, tree: TreeData) -> bool:
    """Whether the declared rule and proposal take trees of this shape."""
    card, wide = card_of(mode), max(len(children_of(tree, v)) for v in range(len(tree.tokens)))
    if card.siblings not in (None, wide) or card.name == "transport":  # its coupling is not the only one
        return False
    return mode.proposal != "hub-pairs" or wide == 2


def _rule(mode: Declaration) -> TreeRule:
    scheme = scheme_of(card_of(mode), PROPOSALS[mode.proposal], ByDepth(()))
    return scheme.rule if isinstance(scheme, TreeScheme) else Walk(scheme.rule)


class _Cell(NamedTuple):
    low: Number
    high: Number
    answer: int


class _CellCoin(Coin):
    """Takes every side of every toss in turn, and knows the cell of each."""

    def __init__(self) -> None:
        self._tosses: list[tuple[list[_Cell], int]] = []
        self._at = 0

    @property
    def cells(self) -> list[_Cell]:
        return [sides[side] for sides, side in self._tosses]

    @property
    def mass(self) -> Number:
        return math.prod((cell.high - cell.low for cell in self.cells), start=Fraction(1))

    def accept(self, probability: Number) -> bool:
        return bool(self._next(_two(probability)))

    def draw(self, weights: Weights) -> int:
        return self._next(_shares(weights))

    def rewind(self) -> bool:
        """Go to the next way; False if there is none."""
        while self._tosses and self._tosses[-1][1] + 1 == len(self._tosses[-1][0]):
            self._tosses.pop()
        if not self._tosses:
            return False
        sides, side = self._tosses.pop()
        self._tosses.append((sides, side + 1))
        self._at = 0
        return True

    def _next(self, sides: list[_Cell]) -> int:
        if self._at == len(self._tosses):
            self._tosses.append((sides, 0))
        kept, side = self._tosses[self._at]
        self._at += 1
        return kept[side].answer


def _two(probability: Number) -> list[_Cell]:
    check_probability(probability)
    if 0 < probability < 1:
        return [_Cell(Fraction(0), probability, 1), _Cell(probability, Fraction(1), 0)]
    return [_Cell(Fraction(0), Fraction(1), int(probability > 0))]


def _shares(weights: Weights) -> list[_Cell]:
    whole, cells = check_weights(weights), list[_Cell]()
    reached: Number = Fraction(0)
    positive = [(index, weight) for index, weight in enumerate(values_of(weights)) if weight > 0]
    for place, (index, weight) in enumerate(positive, 1):
        high = Fraction(1) if place == len(positive) else reached + weight / whole
        cells.append(_Cell(reached, high, index))
        reached = high
    return cells


def _scripts(cells: list[_Cell]) -> Iterator[Script]:
    """All coins low, all high, and each alone high."""
    ends = [_ends(cell) for cell in cells]
    if any(low > high for low, high in ends):
        return
    lows, highs = tuple(low for low, _ in ends), tuple(high for _, high in ends)
    alone = [(*lows[:place], high, *lows[place + 1 :]) for place, high in enumerate(highs)]
    yield from sorted({lows, highs, *alone})


def _ends(cell: _Cell) -> tuple[int, int]:
    low = 0 if cell.low == 0 else math.ceil((cell.low + MARGIN) * UNIT)
    high = UNIT - 1 if cell.high == 1 else math.floor((cell.high - MARGIN) * UNIT)
    return low, high
