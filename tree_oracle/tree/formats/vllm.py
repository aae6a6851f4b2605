"""vLLM's tree attention: a static list of choice tuples, and a bias of n x n that is added to the scores of the candidates.

0 where a row attends, -inf elsewhere, float32, [query, key]; the prefix has no columns and is visible to all. KV slot is the
node's number, position its depth. Source: tree_attn.py, eagle.py. Size: n^2 entries in the bias, the sum of depths in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of
from tree_oracle.tree.formats.choices import Choices, decode_choices, encode_choices
from tree_oracle.tree.formats.convention import Listing, Polarity, PrefixColumns
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.mask_form import MaskForm

BIAS_FORM = MaskForm(Polarity.ADDITIVE_INF, prefix=PrefixColumns.IMPLICIT, dtype=np.dtype(np.float32))
_BIAS = Field("vLLM tree", "bias")


@dataclass(frozen=True, slots=True, eq=False)
class VllmTree:
    """Tokens of all nodes, the root first, the choices and the bias."""

    tokens: Any
    choices: Sequence[Sequence[int]]
    bias: np.ndarray


def encode_vllm(tree: CandidateTree) -> VllmTree:
    """Choices and bias of a tree in level order.

    Raises:
        UsageError: the tree is stored in another order.
    """
    listed = encode_choices(tree)
    return VllmTree(listed.tokens, listed.choices, BIAS_FORM.write(block_of(tree)))


def decode_vllm(encoded: VllmTree) -> CandidateTree:
    """The tree that the choices describe.

    Raises:
        InvalidEncoding: they describe none, or the bias is another tree's.
    """
    tree = decode_choices(Choices(encoded.tokens, encoded.choices), Listing.SORTED)
    block = BIAS_FORM.read(encoded.bias, _BIAS, (len(tree), len(tree)))
    _BIAS.same(block, block_of(tree))
    return tree
