"""Arrays from outside: integers and log-probabilities are copied, widened to 64 bits and made read-only, or refused.

numpy converts generously: ``[True, 2]`` becomes integers and ``[1.0, 2]`` floats without a word. Here nothing is
converted that was not a number of the right kind already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int, Integer

from tree_oracle.record import UsageError
from tree_oracle.tree.invalid import InvalidTree, TreeFault

Integers: TypeAlias = Sequence[int] | Integer[np.ndarray, " n"]
Reals: TypeAlias = Sequence[float] | Float[np.ndarray, " n"]

_INT64 = np.iinfo(np.int64)


def integers(name: str, values: Integers) -> Int[np.ndarray, " n"]:
    """The values as a read-only int64 array of their own.

    Raises:
        InvalidTree: DTYPE for bools, floats and whatever else is no integer of 64 bits; LENGTH unless one-dimensional.
    """
    if isinstance(values, np.ndarray):
        _one_dimensional(name, values)
        if values.dtype.kind not in "iu":
            raise InvalidTree(TreeFault.DTYPE, None, f"{name} has dtype {values.dtype}; expected integers")
        node = first(values > _INT64.max)
    else:
        _each_of(name, values, (int, np.integer), "an integer")
        node = next((slot for slot, value in enumerate(values) if not _INT64.min <= value <= _INT64.max), None)
    if node is not None:
        raise InvalidTree(TreeFault.DTYPE, node, f"{name}[{node}] is {values[node]}; expected an integer of 64 bits")
    return frozen(np.array(values, dtype=np.int64))


def reals(name: str, values: Reals) -> Float[np.ndarray, " n"]:
    """The values as a read-only float64 array of their own. Negative zeros become zeros: equal arrays have equal bytes.

    Raises:
        InvalidTree: DTYPE for bools and non-numbers; LENGTH unless one-dimensional.
    """
    if isinstance(values, np.ndarray):
        _one_dimensional(name, values)
        if values.dtype.kind != "f":
            raise InvalidTree(TreeFault.DTYPE, None, f"{name} has dtype {values.dtype}; expected floats")
    else:
        _each_of(name, values, (int, float, np.integer, np.floating), "a real number")
    return frozen(np.array(values, dtype=np.float64) + 0.0)


def whole_number(name: str, value: int, *, at_least: int) -> int:
    """``value`` itself.

    Raises:
        UsageError: no integer, or below ``at_least``.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise UsageError(f"{name} is {value!r}; expected an integer of at least {at_least}")
    return int(value)


def frozen(values: np.ndarray) -> np.ndarray:
    """The same array, read-only from now on."""
    values.setflags(write=False)
    return values


def _one_dimensional(name: str, values: np.ndarray) -> None:
    if values.ndim != 1:
        raise InvalidTree(TreeFault.LENGTH, None, f"{name} has shape {values.shape}; expected one dimension")


def _each_of(name: str, values: Sequence[object], kinds: tuple[type, ...], wanted: str) -> None:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise InvalidTree(
            TreeFault.DTYPE, None, f"{name} is a {type(values).__name__}; expected a sequence or numpy array"
        )
    if frozenset(kinds).issuperset(map(type, values)):  # most often, and quickly seen
        return
    for node, value in enumerate(values):
        if isinstance(value, bool | np.bool_) or not isinstance(value, kinds):
            raise InvalidTree(TreeFault.DTYPE, node, f"{name}[{node}] is {value!r}; expected {wanted}")


def first(where: np.ndarray) -> int | None:
    """The first index at which a boolean vector is true."""
    return int(where.argmax()) if where.any() else None


def shown(value: float) -> str:
    """A number as an error message shows it."""
    return "NaN" if math.isnan(value) else repr(float(value))
