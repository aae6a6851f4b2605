"""How two values of one field differ, for a reader: the first place where they do, and in arrays in how many cells.

Equality is that of bits, as for the whole: two NaN with the same bits are the same, and -0 is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tree_oracle.record import Array, FileError

_WIDEST = 80  # characters of a value that is shown whole


def parted(mine: object, theirs: object) -> tuple[str, str]:
    """Both values, as far as they differ. They must."""
    if _shown_whole(mine, theirs):
        return _short(mine), _short(theirs)
    where, one, other, rest = next(_places(mine, theirs), ("", mine, theirs, ""))
    named = f"{where} is " if where else ""
    return f"{named}{_short(one)}", f"{named}{_short(other)}{rest}"


def _shown_whole(mine: object, theirs: object) -> bool:
    plain = not any(_holds_arrays(value) for value in (mine, theirs))
    return plain and max(len(repr(mine)), len(repr(theirs))) <= _WIDEST


def _holds_arrays(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_holds_arrays, value))
    return isinstance(value, Array) or (
        isinstance(value, msgspec.Struct)
        and any(_holds_arrays(getattr(value, name)) for name in value.__struct_fields__)
    )


def _places(mine: object, theirs: object) -> Iterator[tuple[str, object, object, str]]:
    """Where they differ: a place, both values there, and what more there is to say; nothing where they are equal."""
    if mine == theirs:
        return
    if (
        isinstance(mine, Array)
        and isinstance(theirs, Array)
        and (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        and _is_whole(mine)
        and _is_whole(theirs)
    ):
        yield _cell(mine, theirs)
    elif isinstance(mine, tuple) and isinstance(theirs, tuple) and len(mine) == len(theirs):
        for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from (_below(f"[{place}]", found) for found in _places(one, other))
    elif isinstance(mine, tuple) and isinstance(theirs, tuple):
        yield "its length", len(mine), len(theirs), ""
    elif isinstance(mine, msgspec.Struct) and type(mine) is type(theirs) and not isinstance(mine, Array):
        for name in mine.__struct_fields__:
            yield from (_below(f".{name}", found) for found in _places(getattr(mine, name), getattr(theirs, name)))
    else:
        yield "", mine, theirs, ""


def _below(step: str, found: tuple[str, object, object, str]) -> tuple[str, object, object, str]:
    where, mine, theirs, rest = found
    return f"{step}{where}", mine, theirs, rest


def _is_whole(array: Array) -> bool:
    """Whether it holds as many bytes as its shape says: one in a line of a trace, which nobody has judged, need not."""
    try:
        array.numpy()
    except FileError:
        return False
    return True


def _cell(mine: Array, theirs: Array) -> tuple[str, object, object, str]:
    one, other = mine.numpy(), theirs.numpy()
    bits = [np.ascontiguousarray(part).reshape(part.size, 1).view(np.uint8) for part in (one, other)]
    wrong = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    place = np.unravel_index(int(wrong[0]), one.shape)
    where = f"[{', '.join(str(int(part)) for part in place)}]"
    return where, one[place].item(), other[place].item(), f"; {len(wrong)} of {one.size} cells differ"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
