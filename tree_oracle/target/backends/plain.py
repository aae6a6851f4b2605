"""Masked attention as torch offers it: written out, scaled_dot_product_attention, flex_attention with a BlockMask."""

from __future__ import annotations

import warnings
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from torch.utils.weak import WeakTensorKeyDictionary

from tree_oracle.target.backends.errors import MaskShape

Visible: TypeAlias = Bool[Tensor, "*b n t"] | None

# By table: its version and batch, and its block mask.
_MADE: MutableMapping[Tensor, tuple[tuple[int, int], BlockMask]] = WeakTensorKeyDictionary()


def fitting(q: Float[Tensor, "b h n w"], k: Float[Tensor, "b kv t w"], visible: Visible) -> None:
    """Refuse a table of another shape than (n, t) or (b, n, t), and heads that do not divide.

    Raises:
        MaskShape: naming both shapes.
    """
    batch, heads, rows, _ = q.shape
    groups, keys = k.shape[1], k.shape[2]
    if heads % groups:
        raise MaskShape(f"{heads} query heads cannot share {groups} key heads: the first must be a multiple")
    if visible is None:
        return
    if visible.dtype != torch.bool or tuple(visible.shape) not in {(rows, keys), (batch, rows, keys)}:
        raise MaskShape(
            f"visible has shape {tuple(visible.shape)} and dtype {visible.dtype}; expected booleans, True where a query "
            f"may see a key, of shape {(rows, keys)} or {(batch, rows, keys)}"
        )


def eager(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """Scores, softmax in float32 at least, and the weighted sum, each written out as transformers' eager attention does."""
    scores = q @ _shared(k, q).transpose(-1, -2) * scale
    if visible is not None:
        scores = scores.masked_fill(~_per_head(visible), torch.finfo(scores.dtype).min)
    wide = torch.promote_types(q.dtype, torch.float32)
    return scores.softmax(-1, dtype=wide).to(q.dtype) @ _shared(v, q)


def sdpa(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """scaled_dot_product_attention with a boolean mask; True means visible there too."""
    mask = None if visible is None else _per_head(visible)
    return torch.nn.functional.scaled_dot_product_attention(
        q, _shared(k, q), _shared(v, q), attn_mask=mask, scale=scale
    )


def flex(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """flex_attention as it runs without a compiler: the same mask code, all scores written out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        return _flex(flex_attention, q, k, v, visible, scale)


def flex_compiled(q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    """flex_attention compiled, which is what transformers runs."""
    return _flex(_compiled_flex(), q, k, v, visible, scale)


def _flex(run: Callable[..., Any], q: Tensor, k: Tensor, v: Tensor, visible: Visible, scale: float) -> Tensor:
    blocks = None if visible is None else _blocks(visible, len(q))
    return run(q, _shared(k, q), _shared(v, q), block_mask=blocks, scale=scale)  # type: ignore[no-any-return]


def _blocks(visible: Bool[Tensor, "*b n t"], batch: int) -> BlockMask:
    """The block mask of a table, without the blocks that hold no visible pair. A table that comes again has its own still."""
    known = (visible._version, batch)
    if visible in _MADE and _MADE[visible][0] == known:
        return _MADE[visible][1]
    table = visible.clone().expand(batch, *visible.shape[-2:])  # a copy: the entry must not keep its own key alive

    def sees(sequence: Tensor, _head: Tensor, row: Tensor, key: Tensor) -> Tensor:
        return table[sequence, row, key]

    of = None if visible.ndim == 2 else batch  # None: one mask for the whole batch
    blocks = create_block_mask(sees, of, None, table.shape[1], table.shape[2], device=visible.device)
    _MADE[visible] = (known, blocks)
    return blocks


@lru_cache(maxsize=1)
def _compiled_flex() -> Callable[..., Any]:
    return torch.compile(flex_attention)


def _shared(rows: Tensor, q: Tensor) -> Tensor:
    """Keys or values once per query head: head h reads group h // (heads / groups)."""
    return rows if rows.shape[1] == q.shape[1] else rows.repeat_interleave(q.shape[1] // rows.shape[1], dim=1)


def _per_head(visible: Bool[Tensor, "*b n t"]) -> Bool[Tensor, ...]:
    return visible if visible.ndim == 2 else visible[:, None]
