"""Samplers that somebody else might write, each wrong in one line: LAW catches every one, and the right one passes.

They share no code with the library: plain arrays, floats and loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pytest
from law_decoders import LAW, outcomes

from tree_oracle.record import Status
from tree_oracle.verify.law import Declaration, Temperature

pytestmark = pytest.mark.sweep

Coins = Iterator[float]
Rows = Any


class Sampler:
    """Draws without replacement, verified in their order; two children at the root, one below."""

    declared_mode = Declaration(rule="without-replacement", proposal="without-replacement")

    def accept_sampled(self, tree: Any, target: Rows, draft: Rows, coins: Coins) -> tuple[tuple[int, ...], int]:
        return self.walk(tree.tokens.tolist(), tree.parents.tolist(), target, draft, coins)

    def walk(
        self, tokens: Sequence[int], parents: Sequence[int], target: Rows, draft: Rows, coins: Coins
    ) -> tuple[tuple[int, ...], int]:
        path, node, above = list[int](), 0, 0
        while children := [v for v in range(1, len(tokens)) if parents[v] == node]:
            p, q, tried = target[node], draft[node], list[int]()
            for child in children:
                token = tokens[child]
                if self.accepts(p[token], q[token], coins):
                    path.append(child)
                    above, node = node, child
                    break
                tried.append(token)
                p, q = self.residual(p, q, token), struck(draft[node], tried)
            else:
                return tuple(path), self.last(p, coins)
        return tuple(path), self.last(target[self.bonus_row(node, above)], coins)

    def accepts(self, p: float, q: float, coins: Coins) -> bool:
        share = 0.0 if p <= 0 else 1.0 if p >= q else p / q
        return next(coins) < share

    def residual(self, p: Rows, q: Rows, token: int) -> Rows:
        rest = np.maximum(p - q, 0)
        return rest / rest.sum() if rest.sum() > 0 else p

    def bonus_row(self, node: int, above: int) -> int:
        return node

    def last(self, law: Rows, coins: Coins) -> int:
        return drawn(law, coins)

    def open_sampled(self, target: Any, draft: Any) -> Session:
        return Session(self, target, draft)

    def verified(self, law: Rows) -> Rows:
        return law

    def proposed(self, law: Rows) -> Rows:
        return law

    def coins_of(self, taken: list[list[float]], coins: Coins) -> Coins:
        return coins


class Session:
    """Rounds of one sampler, each on the text so far."""

    def __init__(self, sampler: Sampler, target: Any, draft: Any) -> None:
        self._sampler, self._target, self._draft = sampler, target, draft
        self._text, self._taken = tuple[int, ...](), list[list[float]]()

    def step(self, coins: Coins) -> dict[str, Any]:
        taken = list[float]()
        noted = (taken.append(u) or u for u in self._sampler.coins_of(self._taken, coins))  # type: ignore[func-returns-value]
        tokens, parents, paths = [0], [-1], [()]
        for node, wide in ((0, 2), (1, 1), (2, 1)):
            tried = list[int]()
            for _ in range(wide):
                law = self._sampler.proposed(self._draft((*self._text, *paths[node])))
                tried.append(drawn(struck(law, tried), noted))
                tokens.append(tried[-1])
                parents.append(node)
                paths.append((*paths[node], tried[-1]))  # type: ignore[arg-type]
        target = [self._sampler.verified(self._target((*self._text, *path))) for path in paths]
        draft = [self._draft((*self._text, *path)) for path in paths]
        path, bonus = self._sampler.walk(tokens, parents, target, draft, noted)
        self._taken.append(taken)
        emitted = (*(tokens[v] for v in path), bonus)
        self._text += emitted
        return {"emitted": emitted, "tokens": tuple(tokens), "parents": tuple(parents)}


def drawn(law: Rows, coins: Coins) -> int:
    reached = np.cumsum(law)
    return int(np.argmax((reached > next(coins) * reached[-1]) & (law > 0)))


def struck(law: Rows, tried: Sequence[int]) -> Rows:
    for_all = np.ones(len(law))
    for_all[list(tried)] = 0
    rest = law * for_all if (law * for_all).sum() > 0 else for_all
    return rest / rest.sum() if rest.sum() > 0 else law


class OwnTokenLeftOut(Sampler):
    """The residual forgets to subtract q at the rejected token itself."""

    def residual(self, p: Rows, q: Rows, token: int) -> Rows:
        return super().residual(p, struck(q, [token]) * (1 - q[token]), token)


class BonusOfTheParent(Sampler):
    """The bonus is drawn from the row above the last accepted node."""

    def bonus_row(self, node: int, above: int) -> int:
        return above


class ClosedEdge(Sampler):
    """A coin of 0 passes a test of probability 0."""

    def accepts(self, p: float, q: float, coins: Coins) -> bool:
        return next(coins) <= (min(1.0, p / q) if q else float(p > 0))


class LastTokenNeverDrawn(Sampler):
    """A cumulative sum without its end, so that no coin reaches the last token."""

    def last(self, law: Rows, coins: Coins) -> int:
        return int(np.searchsorted(np.cumsum(law)[:-2], next(coins), side="right"))


class CooledDraft(Sampler):
    """A temperature on the draft alone, which reports the law without it."""

    def proposed(self, law: Rows) -> Rows:
        return law**2 / (law**2).sum()


class CooledByHalf(Sampler):
    """A temperature is declared, and is not applied to the target."""

    declared_mode = Declaration(
        rule="without-replacement", proposal="without-replacement", processing=Temperature(Fraction(1, 2))
    )


class SecondCoinsAgain(Sampler):
    """From the third round on the coins of the second are used."""

    def coins_of(self, taken: list[list[float]], coins: Coins) -> Coins:
        return chain(taken[1], coins) if len(taken) > 1 else coins


class FirstCoinsInTheThird(Sampler):
    """The third round alone uses the coins of the first."""

    def coins_of(self, taken: list[list[float]], coins: Coins) -> Coins:
        return chain(taken[0], coins) if len(taken) == 2 else coins


CAUGHT_BY = {
    OwnTokenLeftOut: "LAW-01",
    BonusOfTheParent: "LAW-01",
    ClosedEdge: "LAW-01",
    LastTokenNeverDrawn: "LAW-01",
    CooledDraft: "LAW-04",
    CooledByHalf: "LAW-04",
    SecondCoinsAgain: "LAW-06",
    FirstCoinsInTheThird: "LAW-06",
}


@pytest.mark.parametrize("check", LAW)
def test_the_sampler_without_the_line_passes(check: str) -> None:
    """The sampler that all wrong ones are made of is right: no check of the family is held against it."""
    found = {outcome.status for outcome, _, _ in outcomes(Sampler(), check)}
    assert Status.PASSED in found
    assert found <= {Status.PASSED, Status.NOT_APPLICABLE}


@pytest.mark.parametrize("wrong", CAUGHT_BY, ids=lambda wrong: wrong.__name__)
def test_one_wrong_line_is_caught(wrong: type[Sampler]) -> None:
    """Each wrong sampler fails the check for its kind on a listed case."""
    found = (outcome.status for outcome, _, _ in outcomes(wrong(), CAUGHT_BY[wrong]))
    assert Status.FAILED in found
