"""The passes that are compared: one over a tree, and every other way to compute a row without any tree.

    plain      one ordinary pass per history: no mask, a batch of one, and no cache, except where rows are held in eight bits:
               there behind all of the prefix but its last token, as the tree pass is (``held``)
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
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tree_oracle.decoder.batch_parts import Drafted, Padded, fill
from tree_oracle.decoder.batch_pass import batch_pass
from tree_oracle.decoder.commit import keep_path
from tree_oracle.masked import tree_pass
from tree_oracle.numerics.held import DYNAMIC, empty_cache
from tree_oracle.numerics.inputs import History, Instance
from tree_oracle.target import Target, forward_with_cache
from tree_oracle.target.backends import Kernel
from tree_oracle.target.sequential_naive import naive_rows
from tree_oracle.target.sequential_shared import shared_rows
from tree_oracle.tree import lay_out

Rows = Float[np.ndarray, "k vocab"]


@dataclass(frozen=True, slots=True)
class Passes:
    """All ways to compute rows of one target, each with the kernel forced."""

    target: Target
    kernel: Kernel
    cache: str = DYNAMIC
    cut: int = 0  # tokens of a history that a plain pass over a cache in eight bits finds in it

    def plain(self, histories: Sequence[History]) -> Rows:
        """The plain sequential pass, history by history."""
        with self.kernel.forced():
            if self.cache == DYNAMIC:
                return naive_rows(self.target.model, histories)
            return np.concatenate([self._behind([history]) for history in histories])

    def batched(self, texts: Sequence[History]) -> Rows:
        """The row after each text, all in one batch; texts are of one length."""
        with self.kernel.forced():
            return shared_rows(self.target.model, texts, cached=False) if self.cache == DYNAMIC else self._behind(texts)

    def _behind(self, texts: Sequence[History]) -> Rows:
        """The row after each text of one length, the rest of it run at once behind what the cache holds of it."""
        cut = min(self.cut, len(texts[0]) - 1)
        cache = self._filled([text[:cut] for text in texts])
        rows = forward_with_cache(self.target.model, self._ids([text[cut:] for text in texts]), cache=cache)
        return _wide(rows[:, -1])

    def tree(self, instance: Instance) -> Rows:
        """The rows of all nodes of all lanes, lane after lane."""
        with self.kernel.forced():
            return self._tree(instance)

    def _tree(self, instance: Instance) -> Rows:
        model, lanes = self.target.model, instance.lanes
        cached, nodes = len(lanes[0].prefix) - 1, len(lanes[0].tree)
        if len(lanes) == 1:
            layout = lay_out(lanes[0].tree, cached + 1)
            cache = self._filled([lanes[0].prefix[:-1]])
            return tree_pass(model, cache, lanes[0].tree.tokens, layout.positions, layout.visible).astype(np.float64)
        cache = self._filled([lane.prefix[:-1] for lane in lanes])
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
            cache = self._filled([prefix])
            return np.concatenate([self._logits(cache, (token,)) for token in chain])

    def wide(self, prefix: History, chain: History) -> Rows:
        """The same rows from one pass over the whole chain."""
        with self.kernel.forced():
            return self._logits(self._filled([prefix]), chain)

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
        cache = self._filled([history[:-1]])
        keep_path(cache, 0, np.asarray(order))
        last = len(history) - 1
        seen = np.ones((1, len(history)), dtype=bool)
        rows = tree_pass(
            self.target.model, cache, np.array([history[-1]]), np.array([last]), seen, held=np.asarray(order)
        )
        return rows.astype(np.float64)

    def _logits(self, cache: object, tokens: Sequence[int]) -> Rows:
        return _wide(forward_with_cache(self.target.model, self._ids([tokens]), cache=cache)[0])

    def _filled(self, prefixes: Sequence[History]) -> Any:
        """The cell's cache after an ordinary run over prefixes of one length."""
        cache = empty_cache(self.cache, self.target)
        if prefixes[0]:
            forward_with_cache(self.target.model, self._ids(prefixes), cache=cache)
        return cache

    def _ids(self, lanes: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor([list(lane) for lane in lanes], device=self.target.model.device)


def _wide(rows: torch.Tensor) -> Rows:
    return np.asarray(rows.cpu().to(torch.float64).numpy())
