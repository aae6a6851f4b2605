"""Probability laws over tokens, exact or in floats, and the few laws that every rule derives from them.

A law of ``Fraction`` values is exact and so is everything derived from it; a law of floats is not, and the same code runs on
both. Derived laws are remembered by the law they came from: enumeration replays a rule once per outcome, and would take the
same residual hundreds of times.

    minus:    norm((s p - q)_+)    the residual after a rejected draw from q
    untried:  norm(p, tried -> 0)  the residual after rejected point masses, and the next draw without replacement
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, final

import numpy as np
from jaxtyping import Float

from tree_oracle.record import TreeOracleError

Number: TypeAlias = Fraction | float
T = TypeVar("T")

# A softmax in float32 adds one term per token, and each addition may be wrong by this part of the sum.
_ROUNDING = 2.0**-24


class InvalidLaw(TreeOracleError, ValueError):
    """Numbers that are no probability law; ``row`` says whose."""

    def __init__(self, row: str, detail: str) -> None:
        super().__init__(f"{row} {detail}")
        self.row, self.detail = row, detail

    def __reduce__(self) -> tuple[type[InvalidLaw], tuple[str, str]]:
        return InvalidLaw, (self.row, self.detail)


class Excess(NamedTuple):
    """What is left of a law after another one is taken away."""

    mass: Number
    law: Law


@final
class Law:
    """An immutable law over the tokens 0 to V-1. Two laws are the same only if they are the same object."""

    __slots__ = ("_derived", "values")

    values: tuple[Number, ...]

    def __init__(self, values: Iterable[Number], row: str = "the law") -> None:
        """Check and keep one probability per token: integers and fractions, which must sum to 1 exactly, or floats.

        The sum of floats may be off by what a float32 softmax rounds, which is divided out: a rest that belongs to no token
        would be drawn by somebody.

        Raises:
            InvalidLaw: no values, a value that is no number, NaN, infinite or negative, fractions mixed with floats, or a
            sum that is not 1; the message starts with ``row``.
        """
        self.values = _checked(values, row)
        self._derived: dict[Hashable, Any] = {}

    @classmethod
    def normalised(cls, weights: Sequence[Number], otherwise: Law) -> Law:
        """The law in proportion to ``weights``, none of them negative; ``otherwise`` where all are 0."""
        total = sum(weights, Fraction(0))
        if not total > 0:
            return otherwise
        # A sum of floats is divided by even if it is 1, so that fractions among the weights become floats too.
        whole = total == 1 and isinstance(total, Fraction)
        return cls._trusted(weights if whole else [weight / total for weight in weights])

    @classmethod
    def point(cls, token: int, size: int) -> Law:
        """All probability on one token."""
        return cls._trusted([Fraction(int(other == token)) for other in range(size)])

    @classmethod
    def _trusted(cls, values: Iterable[Number]) -> Law:
        law = cls.__new__(cls)
        law.values, law._derived = tuple(values), {}
        return law

    @property
    def exact(self) -> bool:
        """True if every value is rational."""
        return not any(isinstance(value, float) for value in self.values)

    def derived(self, key: Hashable, build: Callable[[], T]) -> T:
        """What ``build`` gives, taken once per ``key``. ``build`` must depend on nothing but this law and the key."""
        if key not in self._derived:
            self._derived[key] = build()
        found: T = self._derived[key]
        return found

    def excess(self, other: Law, scale: Number = 1) -> Excess:
        """Mass and law of ``(scale * self - other)_+``.

        Without any mass the law is ``self``: a rejection that leads there has probability 0, but rounding can still get there.
        """
        return self.derived(("excess", other, scale), lambda: self._excess(other, scale))

    def minus(self, other: Law) -> Law:
        """``norm((self - other)_+)``."""
        return self.excess(other).law

    def untried(self, tried: frozenset[int]) -> Law:
        """This law restricted to the tokens not in ``tried``; uniform over them where it has nothing left there."""
        return self.derived(("untried", tried), lambda: self._untried(tried)) if tried else self

    def top(self, count: int) -> tuple[int, ...]:
        """The ``count`` most probable tokens, the smaller id first among equals."""
        return tuple(sorted(range(len(self)), key=lambda token: (-self.values[token], token))[:count])

    def _excess(self, other: Law, scale: Number) -> Excess:
        scaled = self.values if scale == 1 else [scale * mine for mine in self.values]
        left = [mine - its if mine > its else 0 * mine for mine, its in zip(scaled, other.values, strict=True)]
        return Excess(sum(left), Law.normalised(left, otherwise=self))

    def _untried(self, tried: frozenset[int]) -> Law:
        left = [0 * q if token in tried else q for token, q in enumerate(self.values)]
        even = [Fraction(int(token not in tried)) for token in range(len(self))]
        return Law.normalised(left, otherwise=Law.normalised(even, otherwise=self))

    def __getitem__(self, token: int) -> Number:
        return self.values[token]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Law({', '.join(map(str, self.values))})"


def laws_of(rows: Float[np.ndarray, "n vocab"], name: str = "row") -> list[Law]:
    """One law per row of an array of probabilities.

    Raises:
        InvalidLaw: not a two-dimensional array of floats, or a row that is no law; the row is named by its index.
    """
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f" or rows.ndim != 2:
        seen = f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise InvalidLaw(f"{name}s", f"are {seen}; expected an array of floats, n x vocabulary")
    return [_law_of_row(row.tobytes(), row.dtype, f"{name} {index}") for index, row in enumerate(rows)]


@lru_cache(maxsize=1024)
def _law_of_row(row: bytes, dtype: np.dtype[np.floating], name: str) -> Law:
    """One object for equal rows: a rule is asked about the same rows for every coin, and what a law derives is kept with it."""
    return Law(np.frombuffer(row, dtype).tolist(), name)


def total_variation(p: Sequence[Number], q: Sequence[Number]) -> Number:
    """Half the sum of the absolute differences."""
    distances: list[Number] = [a - b if a > b else b - a for a, b in zip(p, q, strict=True)]
    return sum(distances, Fraction(0)) / 2


def total(numbers: Sequence[Number]) -> Number:
    """The sum, for many fractions of unlike denominators: brought to one denominator at once, not one after the other."""
    if any(isinstance(number, float) for number in numbers):
        return sum(numbers)
    pairs = [number.as_integer_ratio() for number in numbers]
    common = math.lcm(*(below for _, below in pairs))
    return Fraction(sum(above * (common // below) for above, below in pairs), common)


def ratio(p: Number, q: Number) -> Number:
    """``min(1, p / q)``; 0 / 0 is 0: a token of target probability 0 is never accepted."""
    if not p:
        return 0 * p
    return Fraction(1) if p >= q else p / q


def _checked(values: Iterable[Number], row: str) -> tuple[Number, ...]:
    found = tuple(values)
    if not found:
        raise InvalidLaw(row, "has no values; expected one probability per token")
    for token, value in enumerate(found):
        _check_value(token, value, row)
    floats = any(isinstance(value, float) for value in found)
    if floats and any(isinstance(value, Fraction) for value in found):
        raise InvalidLaw(
            row, "mixes fractions and floats; expected one kind of number, so that it is plain what is exact"
        )
    total, allowed = sum(found), len(found) * _ROUNDING if floats else 0.0
    if not -allowed <= total - 1 <= allowed:
        raise InvalidLaw(row, f"sums to {total}; expected 1" + (f" within {allowed:.1g}" if floats else " exactly"))
    return tuple(float(value / total) if floats else Fraction(value) for value in found)


def _check_value(token: int, value: object, row: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InvalidLaw(row, f"gives token {token} {value!r}; expected a Fraction, an integer or a float")
    if value < 0 or not value < math.inf:  # and neither NaN; numbers too large for a float compare all the same
        raise InvalidLaw(row, f"gives token {token} probability {value}; expected a finite number from 0 to 1")
