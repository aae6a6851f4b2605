"""The rows of one pass against the true ones: one number per row and figure, so that many passes can be joined.

Rows that are not finite have no figures. They are counted, and everything else is said of the finite ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from jaxtyping import Bool, Float

from tree_oracle.numerics.choices import Choices, divergences, flips, margins, tied
from tree_oracle.numerics.distance import Rows, Spread, balance, cosine, spread, ulps
from tree_oracle.numerics.operator_words import Words, joined, words
from tree_oracle.record import UsageError, gaps

Per = Float[np.ndarray, " k"]


class Errors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The error of one kind of pass against float64."""

    gap: Spread
    ulp_p50: float  # median over rows of each row's median error, in steps of the dtype
    ulp_max: float  # largest of all; near 0 a step is tiny
    cosine: float  # smallest over the rows
    balance: float
    choices: Choices
    words: Words
    lost: int  # rows that are not finite


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Finite rows, figure by figure; ``lost`` counts the others."""

    gap: Per
    ulp: Per
    ulp_max: Per
    cosine: Per
    balance: Per
    divergence: Per
    margin: Per
    flipped: Bool[np.ndarray, " k"]
    tied: Bool[np.ndarray, " k"]
    words: tuple[Words, ...]
    lost: int

    def errors(self, allowed: float) -> Errors:
        """The summary; ``allowed`` is the error that a right row may have.

        Raises:
            UsageError: no row is finite.
        """
        return Errors(
            gap=spread(self.gap),
            ulp_p50=float(np.quantile(self.ulp, 0.5, method="inverted_cdf")),
            ulp_max=float(self.ulp_max.max()),
            cosine=float(self.cosine.min()),
            balance=float(self.balance.mean()),
            choices=self._choices(allowed),
            words=joined(self.words),
            lost=self.lost,
        )

    def _choices(self, allowed: float) -> Choices:
        return Choices(
            rows=len(self.gap),
            flips=int(self.flipped.sum()),
            widest_flip=float(self.margin[self.flipped].max(initial=0.0)),
            ties=int(self.tied.sum()),
            near_ties=int((self.margin <= 2 * allowed).sum()),
            kl_mean=float(self.divergence.mean()),
            kl_max=float(self.divergence.max()),
        )


def compare(seen: Rows, true: Rows, dtype: str) -> Compared:
    """Compare the rows of one pass.

    Raises:
        UsageError: different shapes, or a true row that is not finite.
    """
    if seen.shape != true.shape:
        raise UsageError(f"rows of shape {seen.shape} against true rows of shape {true.shape}; expected the same shape")
    if not np.isfinite(true).all():
        raise UsageError("a true row is not finite; the weights overflow even in float64")
    finite = np.isfinite(seen).all(axis=1)
    here, there = seen[finite], true[finite]
    steps = ulps(here, there, dtype)
    return Compared(
        gap=gaps(here, there),
        ulp=np.median(steps, axis=1),
        ulp_max=steps.max(axis=1, initial=0.0),
        cosine=cosine(here, there),
        balance=np.array([balance(a[None], b[None]) for a, b in zip(here, there, strict=True)]),
        divergence=divergences(here, there),
        margin=margins(there),
        flipped=flips(here, there),
        tied=tied(here),
        words=(words(here, there, dtype),) if len(here) else (),
        lost=int((~finite).sum()),
    )


def join(parts: Sequence[Compared]) -> Compared:
    """Several passes as one.

    Raises:
        UsageError: there are none.
    """
    if not parts:
        raise UsageError("no pass to join; expected at least one")
    arrays = ("gap", "ulp", "ulp_max", "cosine", "balance", "divergence", "margin", "flipped", "tied")
    return Compared(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays},
        words=tuple(found for part in parts for found in part.words),
        lost=sum(part.lost for part in parts),
    )
