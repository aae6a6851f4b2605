"""What the target's pass of each round held: counted from the record of the tap, never from a budget.

For a tree of n nodes, root included, behind c cached tokens, on a model with V tokens:

    packed     candidates by depth, as they were in the pass
    rows       n, the committed tokens that were run again before the root, and padding
    visible    pairs (row, key) that the mask shows; computed: n (c + n), what a dense kernel computes
    block      n n: the part of it among nodes, which grows fourfold when n doubles
    mask       n (c + n) entries for each kind of layer;  logits  n V entries;  cache  n rows in every layer, before the commit
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from tree_oracle.masked.kinds import layer_kinds
from tree_oracle.record import Call, Round, UsageError


class ModelShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the bytes depend on."""

    vocab: int
    cached_per_token: int  # entries of keys and values in all layers
    mask_kinds: int  # masks that are made, one for each kind of layer
    item: int  # bytes of an entry


class RoundWork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One round. ``None`` where the record does not show it."""

    pool: int | None  # candidates drafted, the root left out
    packed: tuple[int, ...]  # candidates in the pass, from depth 1 on
    rows: int
    again: int  # of these rows, committed tokens before the root
    padding: int  # of these rows, neither nodes nor committed tokens
    visible: int | None
    computed: int
    block: int
    mask_bytes: int
    logit_bytes: int
    cache_bytes: int


def shape_of(model: Any) -> ModelShape:
    """The shape of a Hugging Face model of a proven type.

    Raises:
        Unsupported: a layer of a kind that no tree mask is proven for.
    """
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return ModelShape(
        vocab=int(config.vocab_size),
        cached_per_token=2 * int(config.num_hidden_layers) * int(heads) * int(width),
        mask_kinds=len(set(layer_kinds(config))),
        item=model.dtype.itemsize,
    )


def work_of(rounds: Iterable[Round], shape: ModelShape) -> list[RoundWork]:
    """The work of each round that shows its prefix and its tree; others are left out."""
    return [
        _work(one, shape)
        for one in rounds
        if one.prefix is not None and one.tokens is not None and one.parents is not None
    ]


def _work(one: Round, shape: ModelShape) -> RoundWork:
    assert one.prefix is not None
    parents = one.parents or ()
    n, cached = len(parents), len(one.prefix) - 1
    rows, again = _rows(one, n, cached)
    return RoundWork(
        pool=None if one.pool is None else len(one.pool.tokens) - 1,
        packed=_by_depth(parents),
        rows=rows,
        again=again,
        padding=rows - again - n,
        visible=None if one.visible is None else int(one.visible.numpy().sum()),
        computed=n * (cached + n),
        block=n * n,
        mask_bytes=n * (cached + n) * shape.mask_kinds * shape.item,
        logit_bytes=n * shape.vocab * shape.item,
        cache_bytes=n * shape.cached_per_token * shape.item,
    )


def _rows(one: Round, n: int, cached: int) -> tuple[int, int]:
    """Rows of the pass over the tree, and how many of them are committed tokens; as many as nodes where no call was seen.

    That pass is the last call with room for the tree: what went before it filled the cache.

    Raises:
        UsageError: no call of the round is large enough to have held the tree.
    """
    calls = [call for call in one.calls or () if call.tokens]
    if not calls:
        return n, 0
    held = [call for call in calls if len(call.tokens) >= _again(call, cached) + n]
    if not held:
        most = max(calls, key=lambda call: len(call.tokens))
        raise UsageError(
            f"a call over {len(most.tokens)} tokens cannot have held {_again(most, cached)} committed tokens and {n} nodes"
        )
    return len(held[-1].tokens), _again(held[-1], cached)


def _again(call: Call, cached: int) -> int:
    """Committed tokens that stood in no cache when the call began."""
    return max(cached - call.past, 0)


def _by_depth(parents: tuple[int, ...]) -> tuple[int, ...]:
    depths = [0] * len(parents)
    for node in range(1, len(parents)):
        depths[node] = depths[parents[node]] + 1
    return tuple(depths.count(depth) for depth in range(1, max(depths, default=0) + 1))
