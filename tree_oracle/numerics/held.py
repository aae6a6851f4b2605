"""The cache that the rows of a cell are held in.

    dynamic   every row as the pass wrote it; the plain pass has no cache at all
    fp8       rows in eight bits (``quantised_cache``), under one scale for each layer, that of the first pass

Eight bits change what the model computes, with a tree or without. So in a cell of such a cache every pass runs behind it, the
plain one too: the tree pass is held against what plain decoding gives there, and most of the error of both is the cache's own.
A scale is made from all rows of the first pass: where a prefix is cut, and which texts share a batch, moves rows as well, and
the controls ``cached`` and ``batch`` show by how much.
"""

from __future__ import annotations

from typing import Any

from tree_oracle.decoder.caches.filled import quantised_cache
from tree_oracle.record import Unsupported
from tree_oracle.target import Target, new_cache
from tree_oracle.target.spec import choose

DYNAMIC, FP8 = "dynamic", "fp8"
CACHES = (DYNAMIC, FP8)


def empty_cache(kind: str, target: Target) -> Any:
    """A cache of this kind that holds no row yet.

    Raises:
        UsageError: an unknown kind.
        Unsupported: this release of transformers has none, or the exact model, whose numbers eight bits do not hold.
    """
    choose("cache", kind, CACHES)
    if kind == DYNAMIC:
        return new_cache()
    if target.exact:
        raise Unsupported("the exact model in eight bits is not exact: they do not hold its numbers")
    return quantised_cache(kind)(target.model, ())
