"""The buffers of Medusa and EAGLE: mask, positions and retrieve rows, and in Medusa the choices that they come from.

    Medusa   choices         rank paths, sorted by (length, ranks): node i + 1 is choice i
             tree_indices    where node v finds its token among [root, head 0's top k, head 1's top k, ...]:
                             0 for the root, else 1 + k (depth - 1) + rank. Every parent of a depth shares one list
             rows            leaves in reversed slot order
    EAGLE    rows            leaves by slot, or sorted where tokens are sampled
    both     attn_mask       float32 [1, 1, n, n], 1 where a row attends; it only removes from the causal mask
             position_ids    depth; the caller adds the length of the prefix without the root

A decoder reads the tree off one field (choices, mask) and refuses any other that says something else.
Source: medusa/model/utils.py, eagle/model/cnets.py. Size: n^2 entries in the mask, n in every list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.ancestors import block_of, parents_of
from tree_oracle.tree.formats.choices import Choice, choice_parents, rank_paths
from tree_oracle.tree.formats.convention import Causality, LeafOrder, Listing, PrefixColumns
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.levels import check_level_order
from tree_oracle.tree.formats.mask_form import MaskForm
from tree_oracle.tree.formats.paths import retrieve_rows
from tree_oracle.tree.values import whole_number

MEDUSA_TOP_K = 10  # entries of each head's list in Medusa
BLOCK_FORM = MaskForm(prefix=PrefixColumns.IMPLICIT, causality=Causality.NARROWS, dtype=np.dtype(np.float32))
_MEDUSA = Field("Medusa buffers", "tree_indices")
_EAGLE = Field("EAGLE buffers", "attn_mask")


@dataclass(frozen=True, slots=True, eq=False)
class MedusaBuffers:
    """Tokens in the order of the buffers, the root first, and the buffers."""

    tokens: Any
    choices: Sequence[Sequence[int]]
    tree_indices: Any
    retrieve_indices: Any
    position_ids: Any
    attn_mask: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class EagleBuffers:
    """Tokens, the root first, and the buffers."""

    tokens: Any
    retrieve_indices: Any
    position_ids: Any
    attn_mask: np.ndarray


def encode_medusa(tree: CandidateTree, *, top_k: int = MEDUSA_TOP_K) -> MedusaBuffers:
    """The buffers of a tree in level order.

    Raises:
        UsageError: another order, or more siblings than a head's list has entries.
    """
    check_level_order(tree)
    choices = rank_paths(tree)
    return MedusaBuffers(
        tree.tokens,
        tuple(choices),
        _tree_indices(choices, top_k),
        retrieve_rows(tree, LeafOrder.REVERSED),
        tree.depths,
        _mask(tree),
    )


def decode_medusa(buffers: MedusaBuffers, *, top_k: int = MEDUSA_TOP_K) -> CandidateTree:
    """The tree that the choices describe.

    Raises:
        InvalidEncoding: they describe none, a rank is beyond ``top_k``, or another buffer differs from theirs.
        UsageError: ``top_k`` is no integer of at least 1.
    """
    whole_number("top_k", top_k, at_least=1)
    parents, choices = choice_parents(buffers.choices, Listing.SORTED)
    beyond = next((index for index, choice in enumerate(buffers.choices) if max(choice) >= top_k), None)
    if beyond is not None:
        raise _MEDUSA.named("choices").error((beyond,), f"has a rank beyond the {top_k} best tokens of a head")
    tree = _MEDUSA.tree(_MEDUSA.named("tokens").integers(buffers.tokens, (len(parents),)), parents)
    _MEDUSA.same(_MEDUSA.integers(buffers.tree_indices, (len(tree),)), _tree_indices(choices, top_k))
    _check_common(_MEDUSA, buffers, tree, LeafOrder.REVERSED)
    mask = _MEDUSA.named("attn_mask")
    mask.same(mask.array(buffers.attn_mask, BLOCK_FORM.dtype, (1, 1, len(tree), len(tree))), _mask(tree))
    return tree


def encode_eagle(tree: CandidateTree, order: LeafOrder = LeafOrder.SLOTS) -> EagleBuffers:
    """The buffers of a tree in any order with parents first."""
    return EagleBuffers(tree.tokens, retrieve_rows(tree, order), tree.depths, _mask(tree))


def decode_eagle(buffers: EagleBuffers, order: LeafOrder = LeafOrder.SLOTS) -> CandidateTree:
    """The tree that the mask describes.

    Raises:
        InvalidEncoding: it describes none with parents first, or another buffer differs from its own.
    """
    tokens = _EAGLE.named("tokens").integers(buffers.tokens, (None,))
    n = len(tokens)
    block = BLOCK_FORM.read(buffers.attn_mask, _EAGLE, (1, 1, n, n))[0, 0]
    inside = _EAGLE.placed(lambda index: (0, 0, *index))
    tree = inside.tree(tokens, parents_of(block, inside))
    _check_common(_EAGLE, buffers, tree, order)
    return tree


def medusa_tokens(root: int, heads: Sequence[Sequence[int]], tree_indices: Int[np.ndarray, " n"]) -> list[int]:
    """The token of each node: the root's, then each head's list of best tokens, looked up."""
    flat = [root, *(token for best in heads for token in best)]
    return [flat[index] for index in tree_indices]


def _tree_indices(choices: Sequence[Choice], top_k: int) -> Int[np.ndarray, " n"]:
    width = whole_number("top_k", top_k, at_least=1)
    widest = max((choice[-1] for choice in choices), default=0)
    if widest >= width:
        raise UsageError(f"rank {widest} is beyond the {width} best tokens of a head; expected ranks below top_k")
    return np.array([0, *(1 + width * (len(choice) - 1) + choice[-1] for choice in choices)], dtype=np.int64)


def _mask(tree: CandidateTree) -> np.ndarray:
    return BLOCK_FORM.write(block_of(tree)[None, None])


def _check_common(field: Field, buffers: MedusaBuffers | EagleBuffers, tree: CandidateTree, order: LeafOrder) -> None:
    rows, positions = field.named("retrieve_indices"), field.named("position_ids")
    rows.same(rows.integers(buffers.retrieve_indices, (None, None)), retrieve_rows(tree, order))
    positions.same(positions.integers(buffers.position_ids, (len(tree),)), tree.depths)
