"""A draft written down as integer counts, as the reference's policies take it.

Where every count and the total are powers of two, log-probabilities are multiples of ``HALVING``, whose sums are exact: what
ties by its exact product ties for the reference too. Elsewhere they are logarithms, and the vectors are chosen so that no
decision hangs on a product that equals another (``far_apart``).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import log

import numpy as np

from tree_oracle.construct import HALVING, History
from tree_oracle.construct.draft import Law
from tree_oracle.vectors.model import Draft, Marginal, Markov, Path

CLEAR = 1e-5  # between two logarithms: a sum of a few of them in single precision is right to 1e-6


class CountDraft:
    """A ``PathDraft`` that answers from counts."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._by_path = {} if isinstance(draft, Marginal | Markov) else {one.after: one.counts for one in draft.laws}
        self._nothing = (0,) * len(next(laws_of(draft)))
        self._exact = all(_power(count) for law in laws_of(draft) for count in (draft.total, *law) if count)

    def log_probs_after(self, history: History) -> Law:
        """See ``PathDraft``."""
        counts = self.counts(history)
        law = np.full(len(counts), -np.inf)
        for token, count in enumerate(counts):
            if count:
                law[token] = self._log(count)
        return law

    def counts(self, history: History) -> tuple[int, ...]:
        """The law below a node. Where none is written nothing is ever proposed."""
        match self._draft:
            case Marginal(_, laws):
                return laws[len(history) - 1] if len(history) <= len(laws) else self._nothing
            case Markov(_, tables):
                return tables[len(history) - 1][history[-1]] if len(history) <= len(tables) else self._nothing
            case _:
                return self._by_path.get(history[1:], self._nothing)

    def _log(self, count: int) -> float:
        if self._exact:
            return 0.0 - HALVING * (self._draft.total.bit_length() - count.bit_length())
        return log(count) - log(self._draft.total) if count != self._draft.total else 0.0


def laws_of(draft: Draft) -> Iterator[tuple[int, ...]]:
    """Every law that is written down."""
    match draft:
        case Marginal():
            yield from draft.laws
        case Markov():
            yield from (law for level in draft.laws for law in level)
        case _:
            yield from (one.counts for one in draft.laws)


def far_apart(draft: Draft, root: int, depth: int) -> bool:
    """Whether no two paths, of any lengths, have products that floating-point logarithms could take for equal."""
    products = sorted(_products(CountDraft(draft), draft.total, (root,), Fraction(1), depth))
    return all(after > before * (1 + Fraction(CLEAR)) for before, after in zip(products, products[1:], strict=False))


def _products(laws: CountDraft, total: int, history: Path, product: Fraction, depth: int) -> Iterator[Fraction]:
    if not depth:
        return
    for token, count in enumerate(laws.counts(history)):
        if count:
            below = product * Fraction(count, total)
            yield below
            yield from _products(laws, total, (*history, token), below, depth - 1)


def _power(count: int) -> bool:
    return count & (count - 1) == 0
