"""A numpy array inside a JSON document: dtype, shape and the little-endian bytes, base64 encoded. Never a pickle."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from tree_oracle.record.errors import AdapterError, FileError

# What any of our documents may hold. bfloat16 and float16 rows are widened to float32 first, which is exact.
_DTYPES = ("bool", "int32", "int64", "float32", "float64")
# Looked up, since numpy makes the name of a dtype anew whenever it is asked.
_LITTLE = {name: np.dtype(name).newbyteorder("<") for name in _DTYPES}
_NAMES = {dtype: name for name, one in _LITTLE.items() for dtype in (one, one.newbyteorder(">"))}


class Array(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An array by value. ``Array.of(x).numpy()`` gives back every bit of ``x``, NaN payloads included."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, values: NDArray[np.generic]) -> Array:
        """Copy ``values``.

        Raises:
            AdapterError: the dtype is none of bool, int32, int64, float32, float64.
        """
        name = _NAMES.get(values.dtype)
        if name is None:
            raise AdapterError(
                f"an array of dtype {values.dtype} cannot be recorded; expected one of {', '.join(_DTYPES)}"
            )
        little = np.ascontiguousarray(values).astype(_LITTLE[name], copy=False)
        return cls(name, tuple(values.shape), little.tobytes())

    def numpy(self) -> NDArray[np.generic]:
        """The values, read-only.

        Raises:
            FileError: dtype, shape and number of bytes do not fit together.
        """
        dtype = _LITTLE.get(self.dtype)
        if dtype is None:
            raise FileError(f"array dtype {self.dtype!r} is not one of {', '.join(_DTYPES)}")
        if any(side < 0 for side in self.shape) or math.prod(self.shape) * dtype.itemsize != len(self.data):
            raise FileError(f"array of shape {self.shape} and dtype {self.dtype} cannot have {len(self.data)} bytes")
        return np.frombuffer(self.data, dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"Array({self.dtype}, {self.shape})"
