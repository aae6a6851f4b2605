"""The mask as a predicate (batch, head, query, key) -> attends, in FlexAttention's argument order, by the in/out test.

Queries are the rows of this pass and keys the columns of the dense form (``dense``): prefixes end together. A key's interval
says who sees it: a cached token's covers every node, a padding column's none.

    attends(b, h, q, k)  =  enter_key[b, k] <= enter_query[b, q] < leave_key[b, k]

No branch and no bounds test, so the same function runs on integers, on numpy arrays and, once its tables are tensors, under
``torch.vmap`` as a FlexAttention ``mask_mod``. Size: R + 2 (P + R) integers a request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.batch import Trees, cached_of
from tree_oracle.tree.formats.dense import DenseMask, decode_dense_trees
from tree_oracle.tree.formats.field import Field
from tree_oracle.tree.formats.intervals import subtree_intervals
from tree_oracle.tree.formats.mask_form import MaskForm

Predicate = Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class PredicateTables:
    """What the predicate looks up. Padding rows enter at -1, before everything that any key covers."""

    tokens: tuple[Any, ...]
    enter_query: Int[np.ndarray, "batch rows"]
    enter_key: Int[np.ndarray, "batch columns"]
    leave_key: Int[np.ndarray, "batch columns"]


def encode_predicate(trees: Trees, prefix_lens: Sequence[int]) -> PredicateTables:
    """The tables of a batch.

    Raises:
        UsageError: not one prefix length of at least 1 for each tree.
    """
    cached = cached_of(prefix_lens, len(trees))
    before, rows = max(cached), max(map(len, trees))
    query = np.full((len(trees), rows), -1, dtype=np.int64)
    enter, leave = np.zeros((2, len(trees), before + rows), dtype=np.int64)
    for request, (tree, length) in enumerate(zip(trees, cached, strict=True)):
        nodes = slice(before, before + len(tree))
        query[request, : len(tree)], leave[request, nodes] = subtree_intervals(tree)
        enter[request, nodes] = query[request, : len(tree)]
        leave[request, before - length : before] = len(tree)
    return PredicateTables(tuple(tree.tokens for tree in trees), query, enter, leave)


def tree_predicate(enter_query: Any, enter_key: Any, leave_key: Any) -> Predicate:
    """The predicate over tables of any kind that can be indexed: numpy arrays, torch tensors."""

    def attends(b: Any, h: Any, q: Any, k: Any) -> Any:
        entered = enter_query[b, q]
        return (enter_key[b, k] <= entered) & (entered < leave_key[b, k])

    return attends


def tabulated(attends: Predicate, request: int, rows: int, columns: int) -> Bool[np.ndarray, "rows columns"]:
    """Any predicate, asked for every query and key of a request; it must take arrays of integers."""
    queries, keys = np.indices((rows, columns))
    return np.asarray(attends(np.full_like(queries, request), np.zeros_like(queries), queries, keys))


def decode_predicate(tables: PredicateTables, prefix_lens: Sequence[int]) -> tuple[CandidateTree, ...]:
    """The trees of a batch, read off the mask that the predicate makes.

    Raises:
        InvalidEncoding: tables of other shapes, or the mask is no batch of trees after these prefixes.
        UsageError: not one prefix length of at least 1 for each request.
    """
    tokens = Field("predicate tables", "tokens").each(tables.tokens)
    cached = cached_of(prefix_lens, len(tokens))
    query = _table("enter_query", tables.enter_query, (len(cached), None))
    rows = query.shape[1]
    enter = _table("enter_key", tables.enter_key, (len(cached), max(cached) + rows))
    leave = _table("leave_key", tables.leave_key, enter.shape)
    attends = tree_predicate(query, enter, leave)
    mask = np.stack([tabulated(attends, b, *(rows, enter.shape[1])) for b in range(len(cached))])
    return decode_dense_trees(DenseMask(tuple(tokens), mask), prefix_lens, MaskForm())


def _table(name: str, values: Any, shape: tuple[int | None, ...]) -> Int[np.ndarray, "batch any"]:
    return Field("predicate tables", name).integers(values, shape)
