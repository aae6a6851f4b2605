"""One mask in every form: what an entry means, which side looks, and what the model's causal mask does besides.

``write`` and ``read`` know nothing of trees: they turn "true where a row attends", stored [query, key], into the form and
back. An entry that is neither of the form's two values is refused, never rounded to the nearer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from tree_oracle.record import UsageError
from tree_oracle.tree.formats.convention import Causality, Orientation, Polarity, PrefixColumns, RootRow
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.invalid import Index

_BOOL = np.dtype(np.bool_)
_ADDED = (Polarity.ADDITIVE_INF, Polarity.ADDITIVE_MIN, Polarity.ADDITIVE_SUM)


@dataclass(frozen=True, slots=True)
class MaskForm:
    """A declared form.

    Raises:
        UsageError: the dtype cannot hold the polarity's values.
    """

    polarity: Polarity = Polarity.ONE_ATTENDS
    orientation: Orientation = Orientation.QUERY_KEY
    prefix: PrefixColumns = PrefixColumns.DENSE
    causality: Causality = Causality.REPLACES
    root: RootRow = RootRow.IN_FORWARD  # PREFIX_ROW: no row for it, and no column besides those of the prefix
    dtype: np.dtype[Any] = _BOOL

    def __post_init__(self) -> None:
        kinds = "f" if self.polarity in _ADDED else "biuf"
        if self.dtype.kind not in kinds:
            wanted = "a floating type" if kinds == "f" else "bool, integers or floats"
            raise UsageError(f"a mask that is {self.polarity.name} cannot have dtype {self.dtype}; expected {wanted}")

    def write(self, visible: Bool[np.ndarray, "*batch rows columns"]) -> np.ndarray:
        """The mask in this form, contiguous; the last two axes change places where keys come first."""
        turned = self._turned(visible)
        if self.polarity in _ADDED:
            values = np.where(turned, 0.0, self._hidden)
        else:
            values = turned if self.polarity is Polarity.ONE_ATTENDS else ~turned
        return np.ascontiguousarray(values, dtype=self.dtype)

    def read(self, values: Any, field: Field, shape: tuple[int, ...]) -> Bool[np.ndarray, "*batch rows columns"]:
        """True where a row attends, [query, key]; ``shape`` is that of the result.

        Raises:
            InvalidEncoding: another dtype or shape, or an entry that is neither of the two values.
        """
        stored = (*shape[:-2], shape[-1], shape[-2]) if self._keys_first else shape
        array = field.array(values, self.dtype, stored)
        if self.polarity in _ADDED:
            one, zero = array == 0, self._hides(array)
            field.check_meaning(one | zero, array, f"0 or {'-inf' if self._hidden == -np.inf else self._hidden}")
        else:
            one, zero = array == 1, array == 0
            field.check_meaning(one | zero, array, "0 or 1")
        attends: Bool[np.ndarray, "*batch rows columns"] = zero if self.polarity is Polarity.ONE_HIDES else one
        return self._turned(attends)

    def place(self, index: Index) -> Index:
        """Where (query, key) is stored."""
        return (index[1], index[0]) if self._keys_first else index

    @property
    def _keys_first(self) -> bool:
        return self.orientation is Orientation.KEY_QUERY

    @property
    def _hidden(self) -> float:
        return -np.inf if self.polarity is Polarity.ADDITIVE_INF else float(np.finfo(self.dtype).min)

    def _hides(self, array: np.ndarray) -> Bool[np.ndarray, ...]:
        hidden: Bool[np.ndarray, ...] = array == self._hidden
        return hidden | (array == -np.inf) if self.polarity is Polarity.ADDITIVE_SUM else hidden

    def _turned(self, values: np.ndarray) -> np.ndarray:
        return np.swapaxes(values, -1, -2) if self._keys_first else values
