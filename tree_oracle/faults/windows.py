"""Wrong windows and chunks in the target pass, and detours to the right ones. On a target without them nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Int
from transformers import DynamicCache, PreTrainedModel

from tree_oracle.decoder.parts import Rows, TargetPass
from tree_oracle.masked import layer_masks, pass_with_masks
from tree_oracle.masked.kinds import near, size_of
from tree_oracle.tree import CandidateTree, Layout

Mask = Bool[np.ndarray, "n columns"]
# (kind of layer, its window or chunk, the layout without windows, the right mask): the mask that such a layer is handed.
Change = Callable[[str, int, Layout, Mask], Mask]


def in_layers(kind: str, change: Change) -> TargetPass:
    """The target pass with ``change`` made to the mask of the layers of one kind."""

    def run(model: PreTrainedModel, cache: DynamicCache, tree: CandidateTree, layout: Layout) -> Rows:
        masks = layer_masks(model.config, layout.visible, layout.positions)
        if kind in masks:
            masks[kind] = change(kind, size_of(model.config, kind), layout, masks[kind])
        return pass_with_masks(model, cache, tree.tokens, layout.positions, masks)

    return run


def by_slot(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Fault: windows and chunks are counted in storage slots."""
    slots = np.arange(mask.shape[1])
    return np.asarray(layout.visible & near(kind, size, slots[-len(mask) :], slots))


def by_row_sum(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Twin: windows and chunks are counted in positions, found by counting what a node sees."""
    counted = layout.visible.sum(axis=1) - 1
    return np.asarray(layout.visible & near(kind, size, counted, _columns(mask, counted)))


def missing(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Fault: the layer is handed the mask without windows."""
    return layout.visible


def twice(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Twin: the window is cut out of a mask that has been cut already."""
    return np.asarray(mask & near(kind, size, layout.positions, _columns(mask, layout.positions)))


def one_too_wide(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Fault: the window does not count the node itself, so it reaches one position too far."""
    return np.asarray(layout.visible & near(kind, size + 1, layout.positions, _columns(mask, layout.positions)))


def of_the_root(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Fault: over the cached prefix every node has the window of the root."""
    wrong = mask.copy()
    wrong[:, : mask.shape[1] - len(mask)] = mask[0, : mask.shape[1] - len(mask)]
    return wrong


def of_each_node(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Twin: the mask is put together row by row."""
    keys = _columns(mask, layout.positions)
    rows = [near(kind, size, layout.positions[[node]], keys)[0] for node in range(len(mask))]
    return np.asarray(layout.visible & np.stack(rows))


def pushed_to_the_left(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Fault: the mask has only the columns that some node sees and is laid over the first keys instead of the last."""
    gone = _hidden_in_front(mask)
    return np.pad(mask[:, gone:], ((0, 0), (0, gone)))


def pushed_to_the_right(kind: str, size: int, layout: Layout, mask: Mask) -> Mask:
    """Twin: the mask has only the columns that some node sees and is laid over the last keys."""
    gone = _hidden_in_front(mask)
    return np.pad(mask[:, gone:], ((0, 0), (gone, 0)))


def _columns(mask: Mask, positions: Int[np.ndarray, " n"]) -> Int[np.ndarray, " columns"]:
    """The position of every column: the cached rows, then the nodes."""
    return np.concatenate([np.arange(mask.shape[1] - len(mask)), positions])


def _hidden_in_front(mask: Mask) -> int:
    """How many columns a ring would have dropped."""
    return int(mask.any(axis=0).argmax())
