"""A batch as encoders take it: trees, and for each the number of committed tokens, the root among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError
from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.values import whole_number

Trees = Sequence[CandidateTree]


def cached_of(prefix_lens: Sequence[int], requests: int) -> list[int]:
    """The cached tokens of each request: its prefix without the root, which this pass computes.

    Raises:
        UsageError: not one prefix length of at least 1 for each request, or no request.
    """
    if len(prefix_lens) != requests or not requests:
        raise UsageError(f"{len(prefix_lens)} prefix lengths for {requests} trees; expected one for each, and some")
    return [whole_number("prefix_len", length, at_least=1) - 1 for length in prefix_lens]


def common_size(trees: Trees) -> int:
    """The number of nodes that all trees of a rectangular batch have.

    Raises:
        UsageError: they differ, or there is none.
    """
    sizes = sorted({len(tree) for tree in trees})
    if len(sizes) != 1:
        raise UsageError(f"trees of {sizes} nodes; expected one size, as this encoding has no padding")
    return sizes[0]


def token_rows(field: Field, tokens: Any, *, requests: int | None = None) -> Int[np.ndarray, "batch n"]:
    """The tokens of a rectangular batch.

    Raises:
        InvalidEncoding: they are no table of integers, or an empty one.
    """
    table = field.integers(tokens, (requests, None))
    if not table.size:
        raise field.malformed(None, f"has shape {table.shape}; expected at least one request and the root")
    return table
