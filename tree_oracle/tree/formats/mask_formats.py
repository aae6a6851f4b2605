"""The encodings that hold a mask, with the parameters of the systems that use them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats import shown
from tree_oracle.tree.formats.batch import Trees
from tree_oracle.tree.formats.buffers import (
    MEDUSA_TOP_K,
    decode_eagle,
    decode_medusa,
    encode_eagle,
    encode_medusa,
)
from tree_oracle.tree.formats.convention import Causality, LeafOrder, Orientation, Polarity, PrefixColumns
from tree_oracle.tree.formats.dense import DenseMask, decode_dense_trees, encode_dense
from tree_oracle.tree.formats.flashinfer import decode_segments, encode_segments
from tree_oracle.tree.formats.format import Demands, Format, of_batch, of_request
from tree_oracle.tree.formats.mask_form import MaskForm
from tree_oracle.tree.formats.predicate import decode_predicate, encode_predicate
from tree_oracle.tree.formats.sglang_mask import SglangLayout, decode_sglang_mask, encode_sglang_mask
from tree_oracle.tree.formats.shape import (
    Part,
    candidate_block,
    each_node,
    leaf_rows,
    node_rows,
    packed_words,
    prefix_block,
    ranks,
)
from tree_oracle.tree.formats.tensorrt import decode_tensorrt, encode_tensorrt
from tree_oracle.tree.formats.vllm import decode_vllm, encode_vllm
from tree_oracle.tree.formats.words import decode_key_words, encode_key_words

_TOKENS = each_node("tokens")
_FLOAT32, _INT8 = np.dtype(np.float32), np.dtype(np.int8)
_LOWEST = MaskForm(Polarity.ADDITIVE_MIN, dtype=_FLOAT32)
_SUMMED = MaskForm(Polarity.ADDITIVE_SUM, dtype=_FLOAT32)
_BLOCK = PrefixColumns.IMPLICIT
_DENSE = (_TOKENS, candidate_block("mask"), prefix_block("mask"))
_MEDUSA = Demands(level_order=True, most_siblings=MEDUSA_TOP_K)


def _dense(name: str, holds: str, systems: tuple[str, ...], form: MaskForm) -> Format:
    def decode(mask: DenseMask, prefix_lens: Sequence[int]) -> tuple[CandidateTree, ...]:
        return decode_dense_trees(mask, prefix_lens, form)

    def encode(trees: Trees, prefix_lens: Sequence[int]) -> DenseMask:
        return encode_dense(trees, prefix_lens, form)

    parts = _DENSE if form.prefix is PrefixColumns.DENSE else _DENSE[:2]
    return Format(name, holds, systems, parts, *of_batch(encode, decode), shows=shown.dense(form))


def _sglang(name: str, holds: str, layout: SglangLayout, parts: tuple[Part, ...], most: int | None = None) -> Format:
    codec = of_batch(partial(encode_sglang_mask, layout=layout), partial(decode_sglang_mask, layout=layout))
    demands = Demands(one_size=True, most_nodes=most)
    return Format(name, holds, ("SGLang",), (_TOKENS, *parts), *codec, demands, shown.sglang(layout))


def _eagle(name: str, holds: str, order: LeafOrder) -> Format:
    codec = of_request(lambda tree, _: encode_eagle(tree, order), lambda buffers: decode_eagle(buffers, order))
    parts = (_TOKENS, leaf_rows("retrieve_indices"), each_node("position_ids"), candidate_block("attn_mask"))
    return Format(name, holds, ("EAGLE", "HASS"), parts, *codec, shows=shown.buffers)


MASK_FORMATS = (
    _dense("bool", "true attends", ("tree_oracle", "torch SDPA", "JetSpec"), MaskForm()),
    _dense("bool-hides", "true hides", ("torch MultiheadAttention",), MaskForm(Polarity.ONE_HIDES)),
    _dense("int8", "1 attends", ("OPT-Tree",), MaskForm(dtype=_INT8)),
    _dense("added-lowest", "0 or the lowest float32, added", ("DDTree", "CaDDTree", "JetSpec", "Sequoia"), _LOWEST),
    _dense("added-sum", "as added-lowest, or -inf where two were summed", ("calibrated TreeSpark",), _SUMMED),
    _dense(
        "block-by-key",
        "true attends, keys first, no prefix",
        (),
        MaskForm(orientation=Orientation.KEY_QUERY, prefix=_BLOCK),
    ),
    _dense(
        "block-narrows",
        "true attends, no prefix, below the causal mask",
        (),
        MaskForm(prefix=_BLOCK, causality=Causality.NARROWS),
    ),
    _sglang(
        "sglang-full", "flat, ragged in prefixes", SglangLayout.FULL, (candidate_block("mask"), prefix_block("mask"))
    ),
    _sglang("sglang-qlen", "flat, no prefix", SglangLayout.QLEN_ONLY, (candidate_block("mask"),)),
    _sglang(
        "sglang-packed",
        "1, 2 or 4 bytes a row",
        SglangLayout.BITPACKING,
        (Part("mask", "n, 2 n or 4 n", lambda shape: shape.n * (1 if shape.n <= 8 else 2 if shape.n <= 16 else 4)),),
        most=32,
    ),
    Format(
        "flashinfer",
        "bits of each request, ended at a byte",
        ("flashinfer",),
        (
            _TOKENS,
            Part("packed", "ceil(n (c + n) / 8)", lambda shape: (shape.n * (shape.cached + shape.n) + 7) // 8),
            Part("indptr", "2", lambda _: 2),
        ),
        *of_batch(encode_segments, decode_segments),
        shows=shown.segments,
    ),
    Format(
        "tensorrt",
        "32-bit words a row, offsets, node paths",
        ("TensorRT-LLM",),
        (_TOKENS, packed_words("mask"), each_node("offsets"), node_rows("paths")),
        *of_batch(lambda trees, _: encode_tensorrt(trees), lambda tensors, _: decode_tensorrt(tensors)),
        shows=shown.row_words,
    ),
    Format(
        "flexflow",
        "one 64-bit word a key",
        ("SpecInfer",),
        (_TOKENS, each_node("mask")),
        *of_request(lambda tree, _: encode_key_words(tree), decode_key_words),
        Demands(most_nodes=64),
        shown.key_words,
    ),
    Format(
        "medusa",
        "choices, tree_indices, retrieve_indices, positions, float mask",
        ("Medusa",),
        (
            _TOKENS,
            ranks("choices"),
            each_node("tree_indices"),
            leaf_rows("retrieve_indices"),
            each_node("position_ids"),
            candidate_block("attn_mask"),
        ),
        *of_request(lambda tree, _: encode_medusa(tree), decode_medusa),
        _MEDUSA,
        shown.buffers,
    ),
    _eagle("eagle", "retrieve_indices by leaf, positions, float mask", LeafOrder.SLOTS),
    _eagle("eagle-sampling", "as eagle, with rows sorted", LeafOrder.SORTED),
    Format(
        "vllm",
        "choices, and a bias of 0 and -inf",
        ("vLLM",),
        (_TOKENS, ranks("choices"), candidate_block("bias")),
        *of_request(lambda tree, _: encode_vllm(tree), decode_vllm),
        Demands(level_order=True),
        shown.bias,
    ),
    Format(
        "predicate",
        "tables of a FlexAttention predicate",
        ("FlexAttention",),
        (
            _TOKENS,
            each_node("enter_query"),
            Part("enter_key", "c + n", lambda shape: shape.cached + shape.n),
            Part("leave_key", "c + n", lambda shape: shape.cached + shape.n),
        ),
        *of_batch(encode_predicate, decode_predicate),
        shows=shown.predicate,
    ),
)
