"""The scenes by chance: laws that do not hide faults, with coins. No target is asked.

ways     every tree of one shape, or a few, over two laws     accept_sampled
texts    two laws, many sessions of three rounds              open_sampled
nudges   sessions of one round that differ in one coin        open_sampled
repeats  sessions that share the coins of some rounds          open_sampled

Laws are those of ``tree_oracle.verify.law.INSTANCES``, on which wrong rules show: the first residual has two tokens and is not
in proportion to q, some tokens are impossible on either side, drafts repeat, p = q.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import strategies as st

from tree_oracle.checks.law_plan import UNIT, Script
from tree_oracle.checks.scene import Scene, Stage
from tree_oracle.record import Case, LawData, TreeData
from tree_oracle.record.names import by_name
from tree_oracle.verify.law import GOLDEN, INSTANCES

ROUNDS = 3  # noise that is drawn once shows from the second round on
NUDGES = 24  # values of one coin, evenly spread: a token of probability 1/12 is met twice
_COINS = 6  # of a round, that are nudged: a pair, one pair below it, and two tests
_BY_NAME = by_name(INSTANCES)
_PAIR, _CHAIN = (-1, 0, 0), (-1, 0, 1)
_PAIRS = (-1, 0, 0, 1, 1, 2, 2)
_TRIPLE, _LONG_CHAIN = (-1, 0, 0, 0), (-1, 0, 1, 2)
_STEEP = LawData(target=(1, 5, 9, 5), draft=(9, 3, 1, 1))
_UNSURE = LawData(target=(7, 3), draft=(1, 1), turned=False)


def _laws(name: str) -> LawData:
    return LawData(target=_BY_NAME[name].target, draft=_BY_NAME[name].draft)


def _every(parents: tuple[int, ...], size: int) -> tuple[TreeData, ...]:
    return tuple(TreeData((0, *tokens), parents) for tokens in product(range(size), repeat=len(parents) - 1))


def _ways(data: LawData, trees: Sequence[TreeData], note: str) -> Case:
    return Case(prefix=(0,), trees=tuple(trees), law=data, note=note)


def _listed_ways(stage: Stage) -> list[Case]:
    cases = []
    for name in ("golden", "zeros", "repeating", "equal-of-four"):
        data, why = _laws(name), _BY_NAME[name].why
        size = len(data.target)
        cases.append(_ways(data, _every(_PAIR, size), f"every pair of siblings; {why}"))
        cases.append(_ways(data, _every(_CHAIN, size), f"every chain of two; {why}"))
    cases.append(_ways(_laws("golden"), _every((-1, 0), 4), "every single child"))
    # What is right for two of something may be wrong for three.
    tokens = (0, 0, 0), (0, 0, 3), (0, 3, 0), (2, 0, 3)
    for name, parents, many in (("zeros", _TRIPLE, "siblings"), ("golden", _LONG_CHAIN, "levels")):
        cases.append(_ways(_laws(name), [TreeData((0, *one), parents) for one in tokens], f"three {many}"))
    levels = [(0, *top, 0, 1, 1, 2) for top in ((0, 1), (1, 0), (2, 1), (0, 0))]
    trees = [TreeData(tokens, _PAIRS) for tokens in levels]
    return [*cases, _ways(_laws("repeating"), trees, "pairs below pairs, one of them repeated")]


def _drawn_laws(draw: st.DrawFn) -> LawData:
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any).map(tuple)
    return LawData(target=draw(weights), draft=draw(weights))


def _drawn_ways(draw: st.DrawFn, stage: Stage) -> Case:
    data, parents = _drawn_laws(draw), draw(st.sampled_from([_PAIR, _CHAIN, (-1, 0)]))
    return Case(prefix=(0,), trees=_every(parents, len(data.target)), law=data)


def _text(data: LawData, sessions: int, seed: int, note: str = "") -> Case:
    law = LawData(target=data.target, draft=data.draft, turned=data.turned, rounds=ROUNDS, sessions=sessions, seed=seed)
    return Case(prefix=(0,), law=law, note=note)


def _listed_texts(stage: Stage) -> list[Case]:
    """As few sessions as show every planted fault of the kind; ``tree-oracle law --sessions`` asks for more."""
    return [
        _text(_laws("golden"), 800, 0, GOLDEN.why),
        _text(_STEEP, 450, 1, "a draft that prefers what the target avoids"),
    ]


def _drawn_texts(draw: st.DrawFn, stage: Stage) -> Case:
    return _text(_drawn_laws(draw), 100, draw(st.integers(0, 99)))


def _coins(chance: np.random.Generator, count: int) -> Script:
    return tuple(chance.integers(UNIT, size=count).tolist())


def nudged(data: LawData, seed: int, note: str = "") -> Case:
    """Two rounds to begin with, each again with every coin at every value."""
    chance, scripts = np.random.default_rng(seed), list[Script]()
    for base in (_coins(chance, _COINS), _coins(chance, _COINS)):
        for place in range(_COINS):
            values = [(2 * step + 1) * UNIT // (2 * NUDGES) for step in range(NUDGES)]
            scripts += [(*base[:place], value, *base[place + 1 :]) for value in values]
    law = LawData(
        target=data.target, draft=data.draft, turned=data.turned, scripts=tuple((one,) for one in scripts), seed=seed
    )
    return Case(prefix=(0,), law=law, note=note)


def _listed_nudges(stage: Stage) -> list[Case]:
    return [
        nudged(_UNSURE, 0, "a draft that is unsure"),
        nudged(_laws("golden"), 1, GOLDEN.why),
        nudged(_laws("repeating"), 2, _BY_NAME["repeating"].why),
    ]


def _drawn_nudges(draw: st.DrawFn, stage: Stage) -> Case:
    return nudged(_drawn_laws(draw), draw(st.integers(0, 99)))


def repeated(data: LawData, seed: int, note: str = "") -> Case:
    """Sessions with first rounds of their own, one of three scripts for the second, and the same for the third."""
    chance = np.random.default_rng(seed)
    seconds, third = [_coins(chance, 24) for _ in range(3)], _coins(chance, 24)
    scripts = tuple((_coins(chance, 24), seconds[number % 3], third) for number in range(90))
    law = LawData(target=data.target, draft=data.draft, turned=data.turned, rounds=ROUNDS, scripts=scripts, seed=seed)
    return Case(prefix=(0,), law=law, note=note)


def _listed_repeats(stage: Stage) -> list[Case]:
    return [
        repeated(_laws("repeating"), 0, "texts meet after unlike first rounds"),
        repeated(_UNSURE, 1, "two tokens, so that most texts meet"),
    ]


def _drawn_repeats(draw: st.DrawFn, stage: Stage) -> Case:
    return repeated(_drawn_laws(draw), draw(st.integers(0, 99)))


_MANY, _NONE = range(1, 1000), range(1)
WAYS = Scene("ways", _listed_ways, st.composite(_drawn_ways), trees=_MANY, chancy=True, drawn=_drawn_ways)
TEXTS = Scene("texts", _listed_texts, st.composite(_drawn_texts), trees=_NONE, chancy=True, drawn=_drawn_texts)
NUDGED = Scene("nudges", _listed_nudges, st.composite(_drawn_nudges), trees=_NONE, chancy=True, drawn=_drawn_nudges)
REPEATS = Scene(
    "repeats", _listed_repeats, st.composite(_drawn_repeats), trees=_NONE, chancy=True, drawn=_drawn_repeats
)
