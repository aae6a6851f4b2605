"""Which cached rows a query of the exact model sees: the mask it was handed, or a causal one of its own making.

The rules are those of Hugging Face models. A four-dimensional mask is taken as it is: nothing causal, no window and no padding
is added to it. Without one, a query sees the slots up to its own, less the columns that a two-dimensional mask hides, and in
sliding and chunked layers less what lies outside its window or chunk:

    sliding   position(key) > position(query) - window
    chunked   position(key) // chunk == position(query) // chunk

Causality is by slot, because positions say nothing of storage order. Windows and chunks are by *position*: with left padding,
or with holes that a two-dimensional mask hides, slots and positions differ. A key's position is read from the key itself
(``exact_lm`` stores it there), so it survives any cache that moves rows.

A mask that a real model would quietly misread (0 and 1 added to the scores, whole numbers, NaN) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from tree_oracle.target.errors import MaskError
from tree_oracle.target.exact_config import SLIDING
from tree_oracle.target.residues import P

# A score moved down by this much leaves nothing behind in a softmax: exp(-1e4) is 0 in float32 and in float64.
HIDDEN = -1e4

Mask = Tensor | Mapping[str, Tensor | None] | None


@dataclass(frozen=True)
class Sight:
    """Where the queries and the keys of one layer stand."""

    kind: str  # layer type
    size: int  # window or chunk; 0 in a full layer
    past: int  # slots before the first query
    first: int  # slot of the first key; later ones follow one by one
    query_positions: Int[Tensor, "b t"]
    key_digits: Float[Tensor, "b n 2"]  # a key's position in base P

    @property
    def shape(self) -> tuple[int, int, int]:
        """Batch, queries, keys."""
        batch, queries = self.query_positions.shape
        return batch, queries, self.key_digits.shape[1]


def visible(mask: Mask, sight: Sight) -> Bool[Tensor, "b t n"]:
    """True where a query sees a key.

    Raises:
        MaskError: the mask has the wrong rank, dtype, shape or values, or no entry for this layer's type.
    """
    mask = _for_layer(mask, sight.kind)
    if mask is None:
        return _own(sight)
    if mask.dim() == 4:
        return _given(mask, sight.shape)
    if mask.dim() == 2:
        return _own(sight) & _unpadded(mask, sight)[:, None]
    raise MaskError(f"a mask of shape {tuple(mask.shape)}; expected (batch, slots) or (batch, 1, queries, keys)")


def _for_layer(mask: Mask, kind: str) -> Tensor | None:
    if isinstance(mask, Mapping):
        if kind not in mask:
            raise MaskError(
                f"the masks are for layer types {', '.join(sorted(map(str, mask)))}; a layer of type {kind} has none"
            )
        mask = mask[kind]
    if mask is not None and not isinstance(mask, Tensor):
        raise MaskError(f"a mask of type {type(mask).__name__}; expected a tensor, a dict per layer type, or None")
    return mask


def _own(sight: Sight) -> Bool[Tensor, "b t n"]:
    batch, queries, keys = sight.shape
    device = sight.query_positions.device
    key_slots = torch.arange(sight.first, sight.first + keys, device=device)
    query_slots = torch.arange(sight.past, sight.past + queries, device=device)
    seen = (key_slots <= query_slots[:, None]).expand(batch, -1, -1)
    return seen & _near(sight) if sight.size else seen


def _near(sight: Sight) -> Bool[Tensor, "b t n"]:
    """Whether a key is in the window or chunk of a query, wherever the cache keeps it."""
    key = (sight.key_digits[..., 0] * P + sight.key_digits[..., 1])[:, None]
    query = sight.query_positions[:, :, None].to(key.dtype)
    if sight.kind == SLIDING:
        return key > query - sight.size
    return torch.floor(key / sight.size) == torch.floor(query / sight.size)


def _given(mask: Shaped[Tensor, "b 1 t n"], shape: tuple[int, int, int]) -> Bool[Tensor, "b t n"]:
    batch, queries, keys = shape
    if mask.shape[0] not in (1, batch) or mask.shape[1:] != (1, queries, keys):
        raise MaskError(
            f"a mask of shape {tuple(mask.shape)}; expected ({batch} or 1, 1, {queries} queries, {keys} keys)"
        )
    plane = mask[:, 0].expand(batch, -1, -1)
    if plane.dtype == torch.bool:
        return plane
    if not plane.is_floating_point():
        raise MaskError(f"a mask of {mask.dtype}; expected bool (True: visible) or floating point (added to scores)")
    seen = plane == 0
    other = plane[~(seen | (plane <= HIDDEN))]
    if other.numel():
        raise MaskError(
            f"an additive mask holds {other[0].item()}; expected 0 (visible) or at most {HIDDEN:.0f} (hidden)"
        )
    return seen


def _unpadded(mask: Shaped[Tensor, "b slots"], sight: Sight) -> Bool[Tensor, "b n"]:
    batch, queries, keys = sight.shape
    filled = sight.past + queries
    if mask.shape[0] not in (1, batch) or mask.shape[1] < filled:
        raise MaskError(f"a padding mask of shape {tuple(mask.shape)}; expected ({batch}, {filled} or more)")
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise MaskError("a padding mask holds something other than 0 (padding) and 1 (token)")
    columns = mask[:, sight.first : sight.first + keys].bool()
    unfilled = keys - columns.shape[1]  # slots of a static cache
    return torch.nn.functional.pad(columns, (0, unfilled), value=False)
