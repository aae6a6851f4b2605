"""The passes that are compared: one over a tree, and every other way to compute a row without any tree.

    plain      one ordinary pass per history: no cache, no mask, a batch of one
    tree       one masked pass over all nodes of all lanes, behind cached prefixes
    decode     a chain, one token at a time behind its cached prefix
    wide       the same chain in one pass of as many rows, no mask handed over
    beside     the wide pass again, with other tokens in its second half: the rows before it must not notice
    scattered  one row whose cached rows lie in another order; their positions stay

A pass returns logits as float64; widening is exact. ``Passes`` holds the model of one target and its kernel for one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from tree_oracle.decoder.batch_parts import Drafted, Padded, fill
from tree_oracle.decoder.batch_pass import batch_pass
from tree_oracle.masked import tree_pass
from tree_oracle.numerics.inputs import History, Instance
from tree_oracle.target import Target, forward_with_cache, layer_tensors, new_cache, prefill
from tree_oracle.target.backends import Kernel
from tree_oracle.target.compat import set_layer_tensors
from tree_oracle.target.sequential_naive import naive_rows
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.tree import lay_out

Rows = Float[np.ndarray, "k vocab"]


@dataclass(frozen=True, slots=True)
class Passes:
    """All ways to compute rows of one target, each with the kernel forced."""

    target: Target
    kernel: Kernel

    def plain(self, histories: Sequence[History]) -> Rows:
        """The plain sequential pass, history by history."""
        with self.kernel.forced():
            return naive_rows(self.target.model, histories)

    def batched(self, texts: Sequence[History]) -> Rows:
        """The row after each text, all in one batch."""
        with self.kernel.forced():
            return shared_rows(self.target.model, texts, cached=False)

    def tree(self, instance: Instance) -> Rows:
        """The rows of all nodes of all lanes, lane after lane."""
        with self.kernel.forced():
            return self._tree(instance)

    def _tree(self, instance: Instance) -> Rows:
        model, lanes = self.target.model, instance.lanes
        cached, nodes = len(lanes[0].prefix) - 1, len(lanes[0].tree)
        if len(lanes) == 1:
            layout = lay_out(lanes[0].tree, cached + 1)
            cache = prefill(model, lanes[0].prefix[:-1])
            return tree_pass(model, cache, lanes[0].tree.tokens, layout.positions, layout.visible).astype(np.float64)
        cache = new_cache()
        if cached:
            forward_with_cache(model, self._ids([lane.prefix[:-1] for lane in lanes]), cache=cache)
        padded, layouts = Padded.of(len(lanes), nodes, cached), [lay_out(lane.tree, cached + 1) for lane in lanes]
        fill(padded, [
            Drafted(lane.tree, layout.positions, layout.visible, cached)
            for lane, layout in zip(lanes, layouts, strict=True)
        ])  # fmt: skip
        rows = batch_pass(model, cache, padded).astype(np.float64)
        return rows.reshape(len(lanes) * nodes, rows.shape[2])

    def decode(self, prefix: History, chain: History) -> Rows:
        """The row after each token of the chain, every one from a pass over that token alone."""
        with self.kernel.forced():
            cache = prefill(self.target.model, prefix)
            return np.concatenate([self._logits(cache, (token,)) for token in chain])

    def wide(self, prefix: History, chain: History) -> Rows:
        """The same rows from one pass over the whole chain."""
        with self.kernel.forced():
            return self._logits(prefill(self.target.model, prefix), chain)

    def beside(self, prefix: History, chain: History, vocab: int) -> Rows:
        """The rows of the first half of the wide pass, beside a second half of other tokens."""
        half = (len(chain) + 1) // 2
        others = tuple((token + 1 + at) % vocab for at, token in enumerate(chain[half:]))
        return self.wide(prefix, (*chain[:half], *others))[:half]

    def scattered(self, history: History, order: Sequence[int]) -> Rows:
        """The row after ``history``, one row, its cached rows stored as ``order[slot] = position``."""
        with self.kernel.forced():
            return self._scattered(history, order)

    def _scattered(self, history: History, order: Sequence[int]) -> Rows:
        model = self.target.model
        cache = prefill(model, history[:-1])
        slots = torch.as_tensor(list(order), device=model.device)
        for layer, (keys, values) in enumerate(layer_tensors(cache)):
            set_layer_tensors(cache, layer, keys[:, :, slots].contiguous(), values[:, :, slots].contiguous())
        last = len(history) - 1
        seen = np.ones((1, len(history)), dtype=bool)
        rows = tree_pass(model, cache, np.array([history[-1]]), np.array([last]), seen, held=np.asarray(order))
        return rows.astype(np.float64)

    def _logits(self, cache: object, tokens: Sequence[int]) -> Rows:
        rows = forward_with_cache(self.target.model, self._ids([tokens]), cache=cache)[0]
        return np.asarray(rows.cpu().to(torch.float64).numpy())

    def _ids(self, lanes: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor([list(lane) for lane in lanes], device=self.target.model.device)
