"""The border of every decoder: arrays are taken as they are or refused, with the field and the index at fault.

Nothing is converted that was not of the right kind already: a mask of floats is not read as booleans, nor ``[True]`` as
integers. Whatever comes through is an int64 or bool array of the shape asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.invalid import Index, InvalidEncoding, MalformedEncoding
from tree_oracle.tree.invalid import InvalidTree, TreeFault

_INT64 = np.iinfo(np.int64)
_IN_TOKENS = (TreeFault.TOKEN, TreeFault.DUPLICATE_SIBLINGS)
Shape = tuple[int | None, ...]  # None: any length


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an encoding, and where in it the present request stands.

    ``at`` begins every index. ``place`` turns an index into what was unpacked, (query, key), into one into the field as it
    was handed in.
    """

    encoding: str
    name: str
    at: Index = ()
    place: Callable[[Index], Index] | None = None

    def row(self, request: int) -> Field:
        """The same field of one request."""
        return replace(self, at=(*self.at, request))

    def named(self, name: str) -> Field:
        """Another field of the same request."""
        return replace(self, name=name, place=None)

    def placed(self, place: Callable[[Index], Index]) -> Field:
        """The same field, after unpacking."""
        return replace(self, place=place)

    def error(self, index: Index | None, detail: str) -> InvalidEncoding:
        """The refusal of one entry; None: of the whole field, or of this request's part of it."""
        return InvalidEncoding(self.encoding, self.name, self._whole(index), detail)

    def malformed(self, index: Index | None, detail: str) -> MalformedEncoding:
        """The refusal of what cannot be read at all."""
        return MalformedEncoding(self.encoding, self.name, self._whole(index), detail)

    def integers(self, values: Any, shape: Shape) -> Int[np.ndarray, ...]:
        """``values`` as int64.

        Raises:
            InvalidEncoding: something that is no integer of 64 bits, or another shape.
        """
        array = self._array(values)
        if array.dtype.kind not in "iu":
            raise self.malformed(None, f"has dtype {array.dtype}; expected integers")
        self._check_shape(array, shape)
        if array.dtype.kind == "u":
            self.check(array <= np.uint64(_INT64.max), array, "a 64-bit integer")
        return array.astype(np.int64)

    def integer(self, value: Any) -> int:
        """A field that is a single integer of 64 bits.

        Raises:
            InvalidEncoding: anything else.
        """
        self._check_integer(None, value)
        return int(value)

    def sequence(self, values: Any) -> Any:
        """``values``, which may be a list, a tuple or an array, but no text.

        Raises:
            InvalidEncoding: anything else.
        """
        scalar = isinstance(values, np.ndarray) and not values.ndim
        if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray) or scalar:
            raise self.malformed(None, f"is a {type(values).__name__}; expected a sequence")
        return values

    def each(self, values: Any) -> list[Int[np.ndarray, " any"]]:
        """One row of integers for each request.

        Raises:
            InvalidEncoding: no sequence of such rows.
        """
        return [self.row(request).integers(row, (None,)) for request, row in enumerate(self.sequence(values))]

    def array(self, values: Any, dtype: np.dtype[Any], shape: Shape) -> np.ndarray:
        """``values``, which must be a numpy array of this dtype.

        Raises:
            InvalidEncoding: another type, dtype or shape.
        """
        if not isinstance(values, np.ndarray):
            raise self.malformed(None, f"is a {type(values).__name__}; expected a numpy array of dtype {dtype}")
        if values.dtype != dtype:
            raise self.malformed(None, f"has dtype {values.dtype}; expected {dtype}")
        self._check_shape(values, shape)
        return values

    def check(self, right: Bool[np.ndarray, ...], values: np.ndarray, expected: str) -> None:
        """Refuse the first entry of ``values`` where ``right`` is false.

        Raises:
            InvalidEncoding: there is one.
        """
        index = first_false(right)
        if index is not None:
            raise self.error(index, f"is {values[index]}; expected {expected}")

    def check_meaning(self, known: Bool[np.ndarray, ...], values: np.ndarray, expected: str) -> None:
        """Refuse the first entry of ``values`` that has no meaning in this form.

        Raises:
            MalformedEncoding: there is one.
        """
        index = first_false(known)
        if index is not None:
            raise self.malformed(index, f"is {values[index]}; expected {expected}")

    def same(self, values: np.ndarray, wanted: np.ndarray) -> None:
        """Refuse the first entry that differs from what the rest of the encoding implies.

        Raises:
            InvalidEncoding: there is one, or the shapes differ.
        """
        self._check_shape(values, wanted.shape)
        index = first_false(values == wanted)
        if index is not None:
            raise self.error(index, f"is {values[index]}; expected {wanted[index]}, as the rest of the encoding says")

    def tree(
        self, tokens: Int[np.ndarray, " n"], parents: Int[np.ndarray, " n"], *, request: int | None = None
    ) -> CandidateTree:
        """The tree of decoded arrays; ``request`` says whose tokens they are where this field is flat over the batch.

        Raises:
            InvalidEncoding: there is none; in ``tokens`` where a token is to blame, else in this field.
        """
        try:
            return CandidateTree(tokens, parents)
        except InvalidTree as error:
            field = self
            index: Index | None = None if error.node is None else (error.node,)
            if error.kind in _IN_TOKENS:
                field = replace(self.named("tokens"), at=self.at if request is None else (request,))
            elif error.node is not None and self.place is not None:
                index = (error.node, int(parents[error.node]))
            raise field.error(index, f"makes no tree: {error}") from error

    def _whole(self, index: Index | None) -> Index | None:
        if index is not None and self.place is not None:
            index = self.place(index)
        return (*self.at, *(index or ())) or None

    def _array(self, values: Any) -> np.ndarray:
        if isinstance(values, np.ndarray):
            return values
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise self.malformed(None, f"is a {type(values).__name__}; expected a sequence or numpy array of integers")
        try:
            found = np.array(values, dtype=object)
        except ValueError as error:
            raise self.malformed(None, f"has rows of unequal shape: {error}") from error
        for index, value in np.ndenumerate(found):
            self._check_integer(index, value)
        return found.astype(np.int64)

    def _check_integer(self, index: Index | None, value: object) -> None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise self.malformed(index, f"is {_short(value)}; expected an integer")
        if not _INT64.min <= value <= _INT64.max:
            raise self.malformed(index, f"is {_short(value)}; expected a 64-bit integer")

    def _check_shape(self, values: np.ndarray, shape: Shape) -> None:
        fits = values.ndim == len(shape) and all(
            want in (None, have) for have, want in zip(values.shape, shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if side is None else str(side) for side in shape)
            raise self.malformed(None, f"has shape {values.shape}; expected ({wanted}{',' if len(shape) == 1 else ''})")


def first_false(right: Bool[np.ndarray, ...]) -> Index | None:
    """The first index, in row-major order, at which an array is false."""
    if right.all():
        return None
    return tuple(int(side) for side in np.unravel_index(int((~right).argmax()), right.shape))


def _short(value: object) -> str:
    # An integer of more than 4,300 digits has no decimal form in Python, and nobody wants to read one.
    if isinstance(value, int) and abs(value) > 2**128:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"
