"""The control of neighbours: the rows of a pass beside other tokens, which stand later and which no right row depends on.

    dense     the second half of the chain is other tokens; the rows of the first half have to keep their bits
    experts   a product is over the rows that go to one expert, and its last bits depend on how many these are. So only the last
              token is exchanged, for one that goes to the same experts in every layer: every product keeps its shape, and every
              row before the last one has to keep its bits

Where no token of those tried goes to the same experts, as in a model of many layers, nothing was asked and ``asked`` is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.numerics.inputs import History
from tree_oracle.numerics.passes import Passes
from tree_oracle.numerics.routing import Experts, has_experts, in_one_pass, watched

TRIED = 32  # other last tokens, each a pass; with four experts, two of them chosen in two layers, about one in 36 fits

Rows = Float[np.ndarray, "k vocab"]


@dataclass(slots=True)
class Beside:
    """What was seen of rows beside other tokens."""

    asked: int = 0  # passes whose rows were compared
    changed: int = 0  # rows that were not the same bit for bit

    def note(self, rows: Rows, others: Rows) -> None:
        """Compare two passes, row by row."""
        self.asked += 1
        self.changed += int((rows != others).any(axis=1).sum())


def look_beside(seen: Beside, passes: Passes, prefix: History, chain: History, wide: Rows) -> None:
    """Compare ``wide``, the rows of the chain in one pass, with passes beside other tokens; a chain of one has none."""
    vocab = passes.target.vocab_size
    if len(chain) < 2:
        return
    if not has_experts(passes.target.model):
        beside = passes.beside(prefix, chain, vocab)
        seen.note(wide[: len(beside)], beside)
        return
    _, chosen = _routed(passes, prefix, chain)
    for step in range(1, min(TRIED, vocab - 1) + 1):
        rows, others = _routed(passes, prefix, (*chain[:-1], (chain[-1] + step) % vocab))
        if np.array_equal(others[-1], chosen[-1]):
            seen.note(wide[:-1], rows[:-1])


def _routed(passes: Passes, prefix: History, chain: History) -> tuple[Rows, Experts]:
    """The rows of a chain in one pass, and the experts that each of them went to."""
    with watched(passes.target.model) as calls:
        rows = passes.wide(prefix, chain)
    chosen = in_one_pass(calls)
    return rows, np.zeros((len(chain), 0), int) if chosen is None else chosen
