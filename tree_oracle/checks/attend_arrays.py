"""What an attention operator is handed, and the raw bits that it is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8


@dataclass(frozen=True, slots=True)
class Inputs:
    """Queries, keys and values of one case, float32 and read-only."""

    q: Float[np.ndarray, "heads n width"]
    k: Float[np.ndarray, "groups columns width"]
    v: Float[np.ndarray, "groups columns width"]

    def __post_init__(self) -> None:
        """Nobody may write into what every check of a case reads."""
        for made in (self.q, self.k, self.v):
            made.flags.writeable = False

    def group(self, head: int) -> int:
        """The group of keys that a query head reads."""
        return head * len(self.k) // len(self.q)


def raw_bits(salt: int, count: int) -> UInt8[np.ndarray, " count"]:
    """So many zeros and ones of a generator whose raw stream never changes."""
    raw = np.asarray(np.random.PCG64(salt).random_raw(-(-count // 64)), dtype="<u8")
    return np.unpackbits(raw.view(np.uint8), count=count)
