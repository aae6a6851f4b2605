"""What stays in the cache after a round.

Rule: the cache holds the committed tokens without the newest one, which is the next root and has not been run yet. Of the
round's n new rows these are the root and the accepted path, *gathered by slot*: the accepted slots are scattered, so
keeping the first rows, or rewinding by a number, keeps other branches.

How a layer does it depends on its class (``caches.layers``). Where it cannot be done nothing is changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.decoder.caches.layers import keep_in, refuse_layer


def keep_path(cache: Any, cached: int, kept: Int[np.ndarray, " kept"]) -> None:
    """Keep the first ``cached`` rows and, of the rows after them, those of the nodes in ``kept``, in that order.

    Args:
        cache: ``cached + n`` rows; changed in place.
        cached: rows that were there before the round.
        kept: slots of the round, root first, in path order.

    Raises:
        Unsupported: a layer in which no path can be kept.
    """
    for number, layer in enumerate(cache.layers):
        refuse_layer(number, layer)
    for layer in cache.layers:
        keep_in(layer, cached, kept)
