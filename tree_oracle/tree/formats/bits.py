"""Rows of bits in bytes, lowest bit first, and back; bits beyond the last one must be zero.

Bit j of a row is bit ``j % 8`` of its byte ``j // 8``, and so bit ``j % 32`` of its little-endian 32-bit word ``j // 32``.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, UInt8

from tree_oracle.tree.formats.field import Field


def pack(bits: Bool[np.ndarray, "*batch n"], width: int) -> UInt8[np.ndarray, "*batch width"]:
    """Each row in ``width`` bytes, of which it needs ``ceil(n / 8)``."""
    packed = np.packbits(bits, axis=-1, bitorder="little")
    rows = np.zeros((*bits.shape[:-1], width), dtype=np.uint8)
    rows[..., : packed.shape[-1]] = packed
    return rows


def unpack(
    packed: UInt8[np.ndarray, "*batch width"], n: int, field: Field, unit: int = 1
) -> Bool[np.ndarray, "*batch n"]:
    """The first n bits of each row. An index in ``field`` counts units of that many bytes.

    Raises:
        InvalidEncoding: a bit beyond them is set.
    """
    bits = np.unpackbits(packed, axis=-1, bitorder="little").astype(np.bool_)
    stray = np.argwhere(bits[..., n:])
    if len(stray):
        *row, bit = (int(side) for side in stray[0])
        entry, place = divmod(n + bit, 8 * unit)
        raise field.error((*row, entry), f"has bit {place} set; expected 0 from bit {n} of the row on")
    return bits[..., :n]
