"""What proposes tokens: the law of the next token given nothing but its depth and its parent's token.

The first-order Markov draft (TreeSpark, Eq. 1):

    z_d(. | w) = U_d + W e(w),    Q_d(. | w) = softmax(z_d(. | w)) over the whole vocabulary

So nodes of equal token and depth have the same law below them, bit for bit, and are different nodes all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.invalid import InvalidDraft
from tree_oracle.record import DraftData, UsageError
from tree_oracle.tree.values import frozen

Law: TypeAlias = Float[np.ndarray, " vocab"]

# ln 2, rounded to 16 bits. Sums of up to 369 of it are exact in float32 and in float64, in whatever order they are taken.
HALVING = 45426 / 65536
_NEVER = "-"
_MOST = 2**24  # numbers in a table that is written down: no file makes us run out of memory


class Draft(Protocol):
    """Anything that proposes tokens one at a time."""

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """Log-probability of every token at ``depth``, from 1 on, below a node that holds ``parent_token``.

        -inf stands for a token that is never proposed. The same question always gets the same answer.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MarkovDraft:
    """The first-order Markov draft. ``W e(w)`` is taken in the parameters' own precision, all else in float64.

    Raises:
        InvalidDraft: the shapes do not fit together.
    """

    unary: Float[np.ndarray, "depths vocab"]  # U
    embedding: Float[np.ndarray, "vocab rank"]  # e, one row per token
    projection: Float[np.ndarray, "vocab rank"]  # W

    def __post_init__(self) -> None:
        shapes = [part.shape for part in (self.unary, self.embedding, self.projection)]
        if any(len(shape) != 2 for shape in shapes) or shapes[1] != shapes[2] or shapes[0][1] != shapes[1][0]:
            raise InvalidDraft(
                f"unary, embedding and projection have shapes {shapes}; expected (depths, vocab), (vocab, rank) twice"
            )

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """See ``Draft``.

        Raises:
            UsageError: the draft has no such depth or no such token.
            InvalidDraft: no token has a finite logit.
        """
        return _log_softmax(self.logits(depth, parent_token))

    def logits(self, depth: int, parent_token: int) -> Float[np.ndarray, " vocab"]:
        """z of Eq. 1, float64.

        Raises:
            UsageError: the draft has no such depth or no such token.
        """
        _in_range("depth", depth, 1, len(self.unary))
        _in_range("parent_token", parent_token, 0, len(self.embedding) - 1)
        pull = self.projection @ self.embedding[parent_token]
        return np.asarray(self.unary[depth - 1].astype(np.float64) + pull)


@dataclass(frozen=True, slots=True, eq=False)
class TableDraft:
    """A draft whose log-probabilities are written down. They need not sum to one: what is written is what is summed.

    Depths past the last of the table have the laws of the last one, so that the table fits a tree of any depth.

    Raises:
        InvalidDraft: the table has no depths, or is not ``depths x vocab x vocab``.
    """

    laws: Float[np.ndarray, "depths vocab vocab"]  # by depth, then by parent token

    def __post_init__(self) -> None:
        if self.laws.ndim != 3 or 0 in self.laws.shape or self.laws.shape[1] != self.laws.shape[2]:
            raise InvalidDraft(f"laws have shape {self.laws.shape}; expected (depths, vocab, vocab)")

    @classmethod
    def of(cls, data: DraftData) -> TableDraft:
        """The draft of a record: a digit is a number of halvings, so ``3`` is probability 1/8 as ``-3 * HALVING``.

        Raises:
            InvalidDraft: laws of unequal length, none at all, too many, or a character that is neither a digit nor ``-``.
        """
        size = data.vocab_size
        if len(data.laws) * size**2 > _MOST:
            raise InvalidDraft(f"{len(data.laws)} depths of {size} tokens; expected a table of at most {_MOST} numbers")
        rows = [[_law(text, size) for text in below] for below in data.laws]
        if not rows or not all(rows):
            raise InvalidDraft("a draft without laws; expected at least one law for each depth")
        return cls(frozen(np.array([[below[min(token, len(below) - 1)] for token in range(size)] for below in rows])))

    @property
    def vocab_size(self) -> int:
        return int(self.laws.shape[2])

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """See ``Draft``. The array is a copy.

        Raises:
            UsageError: ``depth`` is below 1, or the draft has no such token.
        """
        _in_range("depth", depth, 1, None)
        _in_range("parent_token", parent_token, 0, self.vocab_size - 1)
        law: Law = self.laws[min(depth, len(self.laws)) - 1, parent_token].copy()
        return law


def _log_softmax(logits: Law) -> Law:
    top = logits.max()
    if not np.isfinite(top):
        raise InvalidDraft(f"the largest logit is {top}; expected a finite one")
    # The largest term of the sum is 1, so its logarithm is at least 0 and no log-probability comes out above 0.
    shifted = logits - top
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def _law(text: str, size: int) -> list[float]:
    if len(text) != size or not all(letter in "0123456789" or letter == _NEVER for letter in text):
        raise InvalidDraft(f"law {text!r}; expected {size} digits, the number of halvings, or {_NEVER} for never")
    return [-np.inf if letter == _NEVER else 0.0 - int(letter) * HALVING for letter in text]


def _in_range(name: str, value: int, least: int, most: int | None) -> None:
    if value < least or (most is not None and value > most):
        raise UsageError(f"{name} is {value}; expected {least} {'or more' if most is None else f'to {most}'}")
