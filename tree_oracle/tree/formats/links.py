"""First child and next sibling (SGLang, TensorRT-LLM): the tree as three tables of one entry a node.

    next_token[v]       the first child of v by slot, or -1
    next_sibling[v]     the next child of v's parent by slot, or -1
    retrieve_index[v]   the row of v's logits: v itself (TensorRT-LLM, local) or b n + v in the flattened batch (SGLang, global)

All links lead to later slots, so they cannot go round in a circle. Size: 3 n entries a request.
Source: sgl-kernel eagle_utils.cu, dynamicTreeKernels.cu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.batch import Trees, common_size, token_rows
from tree_oracle.tree.formats.convention import LinkIndex
from tree_oracle.tree.formats.field import Field

NONE = -1
_TOKENS = Field("links", "tokens")


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Four tables ``[batch, n]``."""

    tokens: Any
    retrieve_index: Any
    next_token: Any
    next_sibling: Any


def encode_links(trees: Trees, index: LinkIndex) -> Links:
    """The tables of a batch.

    Raises:
        UsageError: trees of different sizes.
    """
    n = common_size(trees)
    pairs = [_links_of(tree) for tree in trees]
    return Links(
        np.stack([tree.tokens for tree in trees]),
        _retrieve_index(len(trees), n, index),
        np.stack([first for first, _ in pairs]),
        np.stack([following for _, following in pairs]),
    )


def decode_links(links: Links, index: LinkIndex) -> tuple[CandidateTree, ...]:
    """The trees of a batch.

    Raises:
        InvalidEncoding: a link leads to no later node, to one that another leads to, or a node is reached by none.
    """
    tokens = token_rows(_TOKENS, links.tokens)
    rows = _TOKENS.named("retrieve_index")
    requests, n = tokens.shape
    rows.same(rows.integers(links.retrieve_index, (requests, n)), _retrieve_index(requests, n, index))
    child, sibling = _TOKENS.named("next_token"), _TOKENS.named("next_sibling")
    first = _checked(links.next_token, tokens.shape, child)
    following = _checked(links.next_sibling, tokens.shape, sibling)
    return tuple(
        child.row(b).tree(row, _parents_of(first[b], following[b], child.row(b), sibling.row(b)))
        for b, row in enumerate(tokens)
    )


def _retrieve_index(requests: int, n: int, index: LinkIndex) -> Int[np.ndarray, "batch n"]:
    local = np.tile(np.arange(n), (requests, 1))
    return local if index is LinkIndex.LOCAL else local + n * np.arange(requests)[:, None]


def _links_of(tree: CandidateTree) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    first, following = np.full((2, len(tree)), NONE, dtype=np.int64)
    for node in range(len(tree)):
        children = tree.children(node)
        if children:
            first[node] = children[0]
            following[list(children[:-1])] = children[1:]
    return first, following


def _checked(values: Any, shape: tuple[int, ...], field: Field) -> Int[np.ndarray, "batch n"]:
    links = field.integers(values, shape)
    later = (links > np.arange(shape[1])) & (links < shape[1])
    field.check(later | (links == NONE), links, f"a later node, below {shape[1]}, or -1 for none")
    return links


def _parents_of(
    first: Int[np.ndarray, " n"], following: Int[np.ndarray, " n"], child: Field, sibling: Field
) -> Int[np.ndarray, " n"]:
    # Parents come before their children, and a first child before the rest: one pass finds every parent in time.
    parents = [NONE] * len(first)
    reached = [True] + [False] * (len(first) - 1)
    for node, (down, across) in enumerate(zip(first.tolist(), following.tolist(), strict=True)):
        if not reached[node]:
            raise child.error(None, f"never leads to node {node}, nor does next_sibling; expected a way to every node")
        if node == 0 and across != NONE:
            raise sibling.error((0,), f"is {across}; expected -1, as the root has no siblings")
        for field, link, parent in ((child, down, node), (sibling, across, parents[node])):
            if link == NONE:
                continue
            if reached[link]:
                raise field.error((node,), f"is {link}; expected a node that no other link leads to")
            parents[link], reached[link] = parent, True
    return np.array(parents, dtype=np.int64)
