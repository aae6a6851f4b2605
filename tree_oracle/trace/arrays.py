"""The arrays beside a trace: one safetensors file for each line that has some, read without trust.

The format: eight bytes little-endian, the length of a JSON head; the head, name -> dtype, shape and two offsets; the bytes.
Every byte belongs to exactly one array, as the reference implementation asks. Half precision is widened to float32, which is
exact.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from tree_oracle.record import Array
from tree_oracle.trace.errors import ArrayFileError, TraceError
from tree_oracle.trace.reader import open_plain

MAX_HEAD = 2**20
MAX_ARRAYS = 2**31  # bytes of the arrays of one round: 64 rows over a vocabulary of 256,000 in float32 take 2**26

_TYPES = {"BOOL": "?", "I32": "<i4", "I64": "<i8", "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}

Side = Annotated[int, msgspec.Meta(ge=0, le=2**48)]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    dtype: str
    shape: tuple[Side, ...]
    data_offsets: tuple[Side, Side]


def arrays_path(trace: Path, n: int) -> Path:
    """Where the arrays of line number ``n`` lie."""
    return Path(f"{trace}.arrays") / f"{n:09d}.safetensors"


def read_arrays(trace: Path, n: int, names: tuple[str, ...], *, max_bytes: int = MAX_ARRAYS) -> dict[str, Array]:
    """The arrays of line number ``n``, by name.

    Raises:
        ArrayFileError: there is no such file, it is no safetensors file within the bounds, or does not hold just these names.
    """
    path, line = arrays_path(trace, n), n + 1
    if path.is_symlink() or path.parent.is_symlink():
        raise ArrayFileError(trace, line, f"{path.name} is a link; expected the file itself")
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > max_bytes:
                raise ArrayFileError(trace, line, f"{path.name} holds {size} bytes; at most {max_bytes} are read")
            data = file.read(size)
    except ArrayFileError:
        raise
    except TraceError as error:
        raise ArrayFileError(trace, line, f"its arrays {path.name}: {error.said}") from error
    try:
        found = parse(data)
    except ValueError as error:
        raise ArrayFileError(trace, line, f"{path.name} is no safetensors file: {error}") from error
    if set(found) != set(names):
        raise ArrayFileError(
            trace, line, f"{path.name} holds {sorted(found)[:8]}; the line speaks of {sorted(names)[:8]}"
        )
    return found


def parse(data: bytes) -> dict[str, Array]:
    """The arrays of a safetensors file.

    Raises:
        ValueError: it is none, or holds a dtype that no record has.
    """
    head, body = _parts(data)
    found, end = {}, 0
    for name, entry in sorted(head.items(), key=lambda item: item[1].data_offsets):
        first, last = entry.data_offsets
        if first != end or last < first or last > len(body):
            raise ValueError(f"{name!r} lies at {first} to {last}; expected bytes from {end} on, within {len(body)}")
        found[name], end = _array(name, entry, body[first:last]), last
    if end != len(body):
        raise ValueError(f"{len(body) - end} bytes belong to no array")
    return found


def _parts(data: bytes) -> tuple[dict[str, _Entry], memoryview]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(MAX_HEAD, len(data) - 8):
        raise ValueError(f"a head of {length} bytes in a file of {len(data)}; at most {MAX_HEAD} are read")
    try:
        raw = msgspec.json.decode(data[8 : 8 + length], type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {name: msgspec.json.decode(one, type=_Entry) for name, one in raw.items()}, memoryview(data)[
            8 + length :
        ]
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _array(name: str, entry: _Entry, data: memoryview) -> Array:
    if entry.dtype not in _TYPES:
        raise ValueError(f"{name!r} has dtype {entry.dtype[:20]!r}; expected one of {', '.join(_TYPES)}")
    dtype = np.dtype(_TYPES[entry.dtype])
    if math.prod(entry.shape) * dtype.itemsize != len(data):
        raise ValueError(f"{name!r} of shape {entry.shape[:8]} and dtype {entry.dtype} cannot have {len(data)} bytes")
    values = np.frombuffer(data, dtype).reshape(entry.shape)
    if entry.dtype == "BF16":
        values = (values.astype("<u4") << 16).view("<f4")
    elif entry.dtype == "F16":
        values = values.astype("<f4")
    elif entry.dtype == "BOOL" and values.view(np.uint8).max(initial=0) > 1:
        raise ValueError(f"{name!r} is declared bool and holds other bytes than 0 and 1")
    return Array.of(values)
