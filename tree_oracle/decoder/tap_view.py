"""One target call as a round shows it: the root and the nodes below it, in an order with parents first.

In front of the root a call may hold committed tokens that are not cached. They are no nodes: to a node they are prefix, like
the cached rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from tree_oracle.decoder.tap_calls import TargetCall
from tree_oracle.decoder.tap_errors import Unexplained
from tree_oracle.decoder.tap_mask import Sight
from tree_oracle.decoder.tap_sights import nodes_of, telling, whole
from tree_oracle.decoder.tap_tree import mask_of, parents_first, paths, possible_links, settled
from tree_oracle.record import Array, Round

Text = tuple[int, ...]
Mask = Bool[np.ndarray, "n columns"]


@dataclass(frozen=True, slots=True)
class CallView:
    """A call over ``committed`` tokens, read as a tree."""

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    visible: Bool[np.ndarray, "n n"]  # which node sees which
    shown: list[tuple[Sight, Mask | None]]  # what layers see, and its cells as a record shows them
    rows: Float[np.ndarray, "n vocab"] | None
    links: Bool[np.ndarray, "n n"]
    walks: list[tuple[int, ...]]  # entry i: a branch that holds the next i tokens of the text

    def round(self, text: Text, committed: int, reached: int) -> Round:
        """The record of this call, by which the text grew from ``committed`` to ``reached`` tokens."""
        emitted = text[committed:reached]
        accepted = self.walks[len(emitted) - 1]
        parents = settled(self.links, self.visible, accepted)
        visible = self._most_telling(parents)
        return Round(
            emitted=emitted,
            prefix=text[:committed],
            tokens=self.tokens,
            parents=parents,
            positions=self.positions,
            visible=None if visible is None else Array.of(visible),
            rows=None if self.rows is None else Array.of(self.rows),
            accepted=accepted,
            bonus=emitted[-1],
        )

    def _most_telling(self, parents: tuple[int, ...]) -> Mask | None:
        """Layers may be handed different masks: the first that is not this tree's, if one is not."""
        due = mask_of(parents)
        masks = [None if m is None else whole(m, sight, self.positions, due) for sight, m in self.shown]
        return next((mask for mask in masks if mask is None or not _is(mask, due)), masks[0])


def view_of(call: TargetCall, committed: int, text: Text, *, second: bool = False) -> CallView:
    """Read ``call`` as made when the first ``committed`` tokens of ``text`` were committed.

    ``second``: where mask and positions contradict each other, believe the other of the two.

    Raises:
        Unexplained: a mask that was handed to the attention cannot be read.
    """
    first, sights = root_of(call, committed, text), [sight for sight in call.sights if sight is not None]
    if not sights or len(sights) < len(call.sights):
        raise Unexplained(
            "the attention was handed a mask that cannot be read: not none, no dense one that all heads share, and no "
            "BlockMask whose blocks say what its rule says"
        )
    nodes = len(call.tokens) - first
    seen = nodes_of(telling(sights), nodes)
    order = parents_first(seen)
    visible = seen[np.ix_(order, order)]
    tokens, positions = _ordered(call.tokens[first:], order), _ordered(call.positions[first:], order)
    links = possible_links(visible, positions, second=second)
    columns = _columns(telling(sights).mask[first:, :-nodes], committed - 1)
    return CallView(
        tokens=tokens,
        positions=positions,
        visible=visible,
        shown=[(sight, _shown(sight, columns, order)) for sight in sights],
        rows=_rows_of(call, order),
        links=links,
        walks=paths(links, tokens, text[committed:]),
    )


def root_of(call: TargetCall, committed: int, text: Text) -> int:
    """The place of the root among the tokens of ``call``: behind what is fed again, or first if the cache does not fit."""
    return committed - call.past - 1 if repeats(call, committed, text) else 0


def repeats(call: TargetCall, committed: int, text: Text) -> bool:
    """Whether ``call`` holds the committed tokens from the first that is not cached to the last, which is the root."""
    again = committed - call.past
    return 0 < again <= len(call.tokens) and call.tokens[:again] == text[call.past : committed]


def _is(shown: Mask, due: Bool[np.ndarray, "n n"]) -> bool:
    cached = shown.shape[1] - len(due)
    return bool(shown[:, :cached].all() and (shown[:, cached:] == due).all())


def _ordered(values: tuple[int, ...], order: Int[np.ndarray, " n"]) -> tuple[int, ...]:
    return tuple(values[place] for place in order.tolist())


def _columns(cached: Mask, committed: int) -> Int[np.ndarray, " committed"] | None:
    """The columns of the committed tokens before the root; None if the cache holds another number of rows.

    Cached rows that no node sees are dead, and left out where the cache holds just so many too many.
    """
    columns = np.arange(cached.shape[1])
    if len(columns) != committed:
        columns = np.flatnonzero(cached.any(axis=0))
    return columns if len(columns) == committed else None


def _shown(sight: Sight, columns: Int[np.ndarray, " committed"] | None, order: Int[np.ndarray, " n"]) -> Mask | None:
    """The cells over the committed tokens and the nodes in order; None if a record has no columns for what is seen."""
    if columns is None or sight.stale:
        return None
    mask, held = sight.mask[-len(order) :], sight.mask.shape[1] - len(order)
    return np.asarray(mask[np.ix_(order, np.concatenate([columns, held + order]))])


def _rows_of(call: TargetCall, order: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n vocab"] | None:
    """The rows of the nodes; None where the target was asked for fewer, or for others."""
    rows, nodes = call.rows, len(order)
    if rows is None or len(rows) < nodes or (len(rows) < len(call.tokens) and not call.keeps_last):
        return None
    return np.asarray(rows[len(rows) - nodes :][order])
