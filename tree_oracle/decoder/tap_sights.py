"""What layers of different kinds see, brought to one form: what each would see if it had no window.

A sliding or chunked layer hides far keys rightly, and says nothing of them. So a cell outside its window or chunk, counted in
*positions*, is taken from the tree that was meant, unless the layer shows it: what is shown there and is no ancestor leaks.

    whole(v, u) = seen(v, u)                 u within the window of v
                  seen(v, u) or due(v, u)    u outside of it

A layer that sees a *prefix token* or an ancestor outside its window is wrong too, but a record, which knows no windows, has no
place for that: it shows in the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from tree_oracle.decoder.tap_mask import Sight
from tree_oracle.masked.kinds import FULL, near

Mask = Bool[np.ndarray, "n columns"]
Nodes = Bool[np.ndarray, "n n"]


def telling(sights: Sequence[Sight]) -> Sight:
    """The sight that a tree is read from: one without a window if there is one."""
    return next((sight for sight in sights if sight.kind == FULL), sights[0])


def nodes_of(sight: Sight, count: int) -> Nodes:
    """Which of the last ``count`` tokens sees which; through a window, all that a chain of such sights leads to."""
    seen: Nodes = sight.mask[-count:, -count:]
    if sight.kind == FULL:
        return seen
    while not np.array_equal(further := seen | (seen @ seen), seen):
        seen = further
    return seen


def whole(mask: Mask, sight: Sight, positions: Sequence[int], due: Nodes) -> Mask:
    """The mask of a layer as if it had no window: columns are the cached tokens in order, then the nodes.

    Args:
        mask: the cells of ``sight``, in an order with parents first.
        positions: position per node.
        due: who should see whom among the nodes.
    """
    cached = mask.shape[1] - len(due)
    placed = np.asarray(positions)
    within = near(sight.kind, sight.size, placed, np.concatenate([np.arange(cached), placed]))
    meant = np.concatenate([np.ones((len(due), cached), dtype=bool), due], axis=1)
    return np.asarray(mask | (~within & meant))


def hides_within(sight: Sight, first: int, end: int, positions: Sequence[int]) -> bool:
    """Whether a token from number ``end - 1`` of the call on fails to see one of the columns before that are within its window.

    The columns are the tokens ``first`` to ``end`` of the text, which the call holds first, so ``first`` are cached.
    """
    again = end - first
    placed = np.asarray(positions)
    within = near(sight.kind, sight.size, placed, np.concatenate([np.arange(first), placed]))
    block = slice(again - 1, None), slice(first, end)
    return bool((within[block] & ~sight.mask[block]).any())
