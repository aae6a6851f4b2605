"""The cache of a batch: one row of fixed length per request, poisoned wherever nothing is held.

Poison is finite and far from data (every entry -9,984, a number that all dtypes in use hold exactly): a query that sees a
poisoned row is moved as far as it goes. NaN would turn a *right* kernel's output into NaN, since masked keys are multiplied
by 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import DynamicCache

from tree_oracle.target import forward_with_cache, layer_tensors, new_cache, prefill

POISON = -9984.0  # 39 * 2^8
CHUNK = 4  # prompt tokens per prefill pass

Cached = Float[Tensor, "rows heads columns width"]


class BatchState:
    """Keys and values of every request, layer by layer, and how many of its rows count."""

    def __init__(self, model: Any, *, columns: int) -> None:
        self.model, self.columns = model, columns
        self.lengths: Int[np.ndarray, " rows"] = np.zeros(0, dtype=np.int64)
        like = layer_tensors(prefill(model, [0]))  # the shapes, from one token that is then forgotten
        self.keys: list[Cached] = [self.refilled(keys[:0]) for keys, _ in like]
        self.values: list[Cached] = [self.refilled(values[:0]) for _, values in like]

    def refilled(self, held: Cached) -> Cached:
        """Rows as they are, with poison behind each up to the length of the cache."""
        return torch.nn.functional.pad(held, (0, 0, 0, self.columns - held.shape[2]), value=POISON)

    def widen(self, columns: int) -> None:
        """Make room for at least so many columns."""
        while self.columns < columns:
            self.columns *= 2
        for tensors in (self.keys, self.values):
            tensors[:] = [self.refilled(tensor) for tensor in tensors]

    def add_row(self) -> None:
        """A request of which nothing is held yet."""
        self.lengths = np.append(self.lengths, 0)
        for tensors in (self.keys, self.values):
            tensors[:] = [torch.nn.functional.pad(t, (0, 0, 0, 0, 0, 0, 0, 1), value=POISON) for t in tensors]

    def copy_rows(self, donor: int, row: int, count: int) -> None:
        """Give the request in ``row`` the first ``count`` cached rows of another."""
        for tensors in (self.keys, self.values):
            for tensor in tensors:
                tensor[row, :, :count] = tensor[donor, :, :count]
        self.lengths[row] = count

    def run_prompt(self, row: int, tokens: Sequence[int]) -> None:
        """Run the prompt's tokens of which no rows are held yet, a chunk at a time."""
        self.widen(len(tokens))
        for start in range(int(self.lengths[row]), len(tokens), CHUNK):
            chunk = torch.tensor([list(tokens[start : start + CHUNK])], device=self.model.device)
            cache = self.view(row, start) if start else new_cache()
            forward_with_cache(self.model, chunk, cache=cache)
            self.take(row, cache)
            self.lengths[row] = start + chunk.shape[1]

    def view(self, row: int, count: int) -> DynamicCache:
        """A cache of one request's first ``count`` rows, which are copied."""
        cache = new_cache()
        for layer, (keys, values) in enumerate(zip(self.keys, self.values, strict=True)):
            cache.update(keys[row : row + 1, :, :count].clone(), values[row : row + 1, :, :count].clone(), layer)
        return cache

    def take(self, row: int, cache: DynamicCache) -> int:
        """Hold what the cache holds as the request's rows, with poison behind; the number of rows."""
        count = 0
        for layer, (keys, values) in enumerate(layer_tensors(cache)):
            count = int(keys.shape[2])
            self.keys[layer][row], self.values[layer][row] = self.refilled(keys)[0], self.refilled(values)[0]
        return count

    def whole(self, rows: int) -> DynamicCache:
        """A cache of all requests with all columns, poison included, for one pass; rows behind the last request are padding."""
        cache, more = new_cache(), (0, 0, 0, 0, 0, 0, 0, rows - len(self.lengths))
        for layer, parts in enumerate(zip(self.keys, self.values, strict=True)):
            keys, values = (torch.nn.functional.pad(part, more, value=POISON) for part in parts)
            cache.update(keys, values, layer)
        return cache

    def write(self, cache: DynamicCache, slots: Int[np.ndarray, "rows n"]) -> None:
        """Put the rows that a pass over ``whole`` appended where ``slots`` says, request by request; -1 is nowhere."""
        rows, nodes = np.nonzero(slots[: len(self.lengths)] >= 0)
        where = slots[rows, nodes]
        for layer, parts in enumerate(layer_tensors(cache)):
            for tensor, new in zip((self.keys[layer], self.values[layer]), parts, strict=True):
                for row, node, slot in zip(
                    rows, nodes, where, strict=True
                ):  # in order: of two for one slot the later stays
                    tensor[row, :, slot] = new[row, :, self.columns + node]
