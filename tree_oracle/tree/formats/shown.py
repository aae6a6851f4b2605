"""What the buffers of one request show: bits and positions as they stand there, whether or not they are those of a tree.

A decoder of an encoding says which tree it holds, or refuses it. Whoever judges a mask wants the mask itself: which row sees
which column, a leak among them. So nothing is asked here but that the buffers can be read, and every bit is taken from the
place where the encoding has it, in whatever the encoding means by it; below a causal mask a row sees no later slot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.formats.buffers import BLOCK_FORM
from tree_oracle.tree.formats.convention import Causality, PrefixColumns
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.intervals import sees
from tree_oracle.tree.formats.mask_form import MaskForm
from tree_oracle.tree.formats.predicate import tabulated, tree_predicate
from tree_oracle.tree.formats.sglang_mask import SglangLayout, row_bytes
from tree_oracle.tree.formats.vllm import BIAS_FORM

_FLAGS, _BYTES, _WORDS, _KEYS = (np.dtype(kind) for kind in (np.bool_, np.uint8, np.int32, np.uint64))


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One request of n nodes after c cached tokens. Where an encoding has no prefix columns the whole prefix is visible."""

    visible: Bool[np.ndarray, "n c_and_n"]
    positions: Int[np.ndarray, " n"] | None = None  # None: the encoding holds none


# (document of one request, number of committed tokens, the root among them). MalformedEncoding: it cannot be read.
Shows: TypeAlias = Callable[[Any, int], Shown]


def dense(form: MaskForm) -> Shows:
    """A mask ``[1, rows, columns]`` in a declared form."""

    def shows(document: Any, prefix_len: int) -> Shown:
        n = _nodes(document, batched=True)
        columns = n + (prefix_len - 1 if form.prefix is PrefixColumns.DENSE else 0)
        return _whole(form.read(document.mask, Field("dense mask", "mask"), (1, n, columns))[0], prefix_len, form)

    return shows


def sglang(layout: SglangLayout) -> Shows:
    """Flat rows, or bytes."""
    field = Field("SGLang mask", "mask")

    def shows(document: Any, prefix_len: int) -> Shown:
        n = _nodes(document, batched=True)
        if layout is SglangLayout.BITPACKING:
            rows = field.array(document.mask, _BYTES, (n * row_bytes(n),))
            return _whole(_bits(rows.reshape(n, -1))[:, :n], prefix_len)
        columns = n + (prefix_len - 1 if layout is SglangLayout.FULL else 0)
        return _whole(field.array(document.mask, _FLAGS, (n * columns,)).reshape(n, columns), prefix_len)

    return shows


def segments(document: Any, prefix_len: int) -> Shown:
    """Bits of the flattened mask."""
    n = _nodes(document, batched=True)
    size = n * (prefix_len - 1 + n)
    packed = Field("flashinfer mask", "packed").array(document.packed, _BYTES, (-(-size // 8),))
    return _whole(_bits(packed)[:size].reshape(n, -1), prefix_len)


def row_words(document: Any, prefix_len: int) -> Shown:
    """32-bit words for each row, and offsets."""
    n, field = _nodes(document, batched=True), Field("TensorRT-LLM tensors", "mask")
    mask = field.array(document.mask, _WORDS, (1, None, None))[0]
    if mask.shape[0] < n or 32 * mask.shape[1] < n:
        raise field.malformed(None, f"has {mask.shape[0]} rows of {mask.shape[1]} words for {n} nodes")
    bits = _bits(np.ascontiguousarray(mask[:n]).astype("<i4").view(np.uint8))
    offsets = field.named("offsets").integers(document.offsets, (1, mask.shape[0]))
    return _whole(bits[:, :n], prefix_len, offsets=offsets[0, :n])


def key_words(document: Any, prefix_len: int) -> Shown:
    """A 64-bit word for each key, whose bits are the rows."""
    n = _nodes(document)
    mask = Field("key words", "mask").array(document.mask, _KEYS, (n,)).astype("<u8")
    return _whole(_bits(mask[:, None].view(np.uint8))[:, :n].T, prefix_len)


def buffers(document: Any, prefix_len: int) -> Shown:
    """Medusa's and EAGLE's mask and depths."""
    n, field = _nodes(document), Field("buffers", "attn_mask")
    block = BLOCK_FORM.read(document.attn_mask, field, (1, 1, n, n))[0, 0]
    offsets = field.named("position_ids").integers(document.position_ids, (n,))
    return _whole(block, prefix_len, BLOCK_FORM, offsets)


def bias(document: Any, prefix_len: int) -> Shown:
    """vLLM's bias."""
    n = _nodes(document)
    return _whole(BIAS_FORM.read(document.bias, Field("vLLM tree", "bias"), (n, n)), prefix_len, BIAS_FORM)


def predicate(document: Any, prefix_len: int) -> Shown:
    """What the predicate answers for every pair."""
    n, field = _nodes(document, batched=True), Field("predicate tables", "enter_query")
    columns = prefix_len - 1 + n
    query = field.integers(document.enter_query, (1, n))
    enter = field.named("enter_key").integers(document.enter_key, (1, columns))
    leave = field.named("leave_key").integers(document.leave_key, (1, columns))
    return _whole(tabulated(tree_predicate(query, enter, leave), 0, n, columns), prefix_len)


def intervals(document: Any, prefix_len: int) -> Shown:
    """What the in/out test answers for every pair."""
    n, field = _nodes(document), Field("intervals", "enter")
    enter = field.integers(document.enter, (n,))
    return _whole(sees(enter, field.named("leave").integers(document.leave, (n,))), prefix_len)


def sequence_ids(document: Any, prefix_len: int) -> Shown:
    """A token sees those that share a sequence with it and are no later."""
    n, field = _nodes(document), Field("sequence ids", "ids")
    positions = field.named("positions").integers(document.positions, (n,))
    ids, starts = field.integers(document.ids, (None,)), field.named("starts").integers(document.starts, (n + 1,))
    of = [set(ids[max(0, start) : max(0, end)].tolist()) for start, end in zip(starts[:-1], starts[1:], strict=True)]
    shared = np.array([[bool(mine & theirs) for theirs in of] for mine in of], dtype=np.bool_).reshape(n, n)
    seen = _whole(shared & (positions <= positions[:, None]), prefix_len)
    return Shown(seen.visible, positions)


def _nodes(document: Any, *, batched: bool = False) -> int:
    field = Field("encoding", "tokens")
    if not batched:
        return len(field.integers(document.tokens, (None,)))
    rows = field.each(document.tokens)
    if len(rows) != 1:
        raise field.malformed(None, f"are those of {len(rows)} requests; expected one")
    return len(rows[0])


def _bits(packed: np.ndarray) -> Bool[np.ndarray, "*rows bits"]:
    return np.unpackbits(packed, axis=-1, bitorder="little").astype(np.bool_)


def _whole(
    seen: Bool[np.ndarray, "n columns"],
    prefix_len: int,
    form: MaskForm | None = None,
    offsets: Int[np.ndarray, " n"] | None = None,
) -> Shown:
    """The mask with its prefix columns, below the causal mask where the form only narrows that."""
    n, cached = len(seen), prefix_len - 1
    visible = np.ones((n, cached + n), dtype=np.bool_)
    visible[:, cached + n - seen.shape[1] :] = seen
    if form is not None and form.causality is Causality.NARROWS:
        visible[:, cached:] &= np.tri(n, dtype=np.bool_)
    return Shown(visible, None if offsets is None else cached + offsets)
