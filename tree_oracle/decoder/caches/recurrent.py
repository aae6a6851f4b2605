"""A recurrent model in integers, and a cache of its states: one snapshot per node, one convolution window per path.

Model: with inputs ``x_t = embed[token_t]`` (residues modulo P = 2^31 - 1), a causal convolution over the last W of them and a
state S of one layer after another,

    u_t = sum over j < W of kernel[W-1-j] * x_(t-j)      inputs before the first token are zero
    S_t = decay * S_(t-1) + u_t^3 + 1
    the next layer's input is S_t, and logits_t = S_t of the last layer times an output matrix,

all modulo P, in int64 without rounding: every wrong token, order, state or window changes every later row. There is no cache
row per token, so nothing can be cut or gathered: a node starts from the *state after its parent* and the *inputs along its
path*, and a commit puts the snapshot of the last kept node in the request's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from tree_oracle.record import UsageError

P = 2**31 - 1  # a product of two residues stays below 2^62

Vector = Int[np.ndarray, " width"]


@dataclass(frozen=True, slots=True)
class States:
    """All that a recurrent model keeps of a history.

    Attributes:
        states: one per layer, layers x width.
        windows: the last W - 1 inputs of each layer, oldest first, layers x (W - 1) x width.
    """

    states: Int[np.ndarray, "layers width"]
    windows: Int[np.ndarray, "layers past width"]

    def same_as(self, other: States) -> bool:
        """Bit for bit."""
        return np.array_equal(self.states, other.states) and np.array_equal(self.windows, other.windows)


class RecurrentModel:
    """Weights drawn from a seed.

    Args:
        vocab_size: tokens.
        layers: recurrent layers, each with a convolution of its own.
        width: residues in an input, a state and a row of the window.
        window: inputs that a convolution looks at, its own among them.
        seed: of the weights.

    Raises:
        UsageError: one of the sizes is below 1.
    """

    def __init__(
        self, vocab_size: int = 61, *, layers: int = 2, width: int = 4, window: int = 4, seed: int = 0
    ) -> None:
        if min(vocab_size, layers, width, window) < 1:
            sizes = f"vocab_size {vocab_size}, layers {layers}, width {width}, window {window}"
            raise UsageError(f"{sizes}; expected at least 1 of each")
        random = np.random.default_rng(seed)
        self.vocab_size, self.layers, self.width, self.window = vocab_size, layers, width, window
        self._embed = random.integers(1, P, (vocab_size, width))
        self._kernel = random.integers(1, P, (layers, window, width))
        self._decay = random.integers(1, P, (layers, width))
        self._output = random.integers(1, P, (width, vocab_size))

    def start(self) -> States:
        """What is kept of no history."""
        return States(
            np.zeros((self.layers, self.width), dtype=np.int64),
            np.zeros((self.layers, self.window - 1, self.width), dtype=np.int64),
        )

    def step(self, before: States, token: int) -> States:
        """What is kept after one more token.

        Raises:
            UsageError: a token outside of the vocabulary.
        """
        if not 0 <= token < self.vocab_size:
            raise UsageError(f"token {token}; expected 0 to {self.vocab_size - 1}")
        states, windows = before.states.copy(), before.windows.copy()
        new = self._embed[token]
        for layer in range(self.layers):
            seen = np.concatenate([windows[layer], new[None]])  # oldest first, this input last
            windows[layer] = seen[1:]
            mixed = _sum(seen * self._kernel[layer] % P)
            states[layer] = (states[layer] * self._decay[layer] + _cube(mixed) + 1) % P
            new = states[layer]
        return States(states, windows)

    def row(self, after: States) -> Int[np.ndarray, " vocab"]:
        """The logits after a history: residues, which are compared as they are."""
        return _sum(after.states[-1][:, None] * self._output % P)

    def run(self, tokens: Sequence[int], start: States | None = None) -> States:
        """A cold run, token by token.

        Raises:
            UsageError: as for ``step``.
        """
        found = self.start() if start is None else start
        for token in tokens:
            found = self.step(found, token)
        return found


class RecurrentCache:
    """The states of one request, and of the nodes of a round that is not committed."""

    def __init__(self, model: RecurrentModel, committed: States | None = None) -> None:
        self._model = model
        self.committed = model.start() if committed is None else committed
        self._nodes: list[States] = []

    def append(self, tokens: Sequence[int]) -> None:
        """Add committed tokens, such as those of a prompt.

        Raises:
            UsageError: a token outside of the vocabulary, or a round that is not committed.
        """
        self._refuse_round()
        self.committed = self._model.run(tokens, self.committed)

    def draft(self, tokens: Sequence[int], parents: Sequence[int]) -> Int[np.ndarray, "n vocab"]:
        """Run all nodes of a tree, root first, each from the state after its parent; the row after each of them.

        Raises:
            UsageError: a round that is not committed, a parent that is not stored before its node, or a foreign token.
        """
        self._refuse_round()
        nodes: list[States] = []
        for node, (token, parent) in enumerate(zip(tokens, parents, strict=True)):
            if not (parent == -1 if node == 0 else 0 <= parent < node):
                raise UsageError(
                    f"node {node} has parent {parent}; expected -1 for the root, an earlier node for others"
                )
            nodes.append(self._model.step(self.committed if node == 0 else nodes[parent], token))
        self._nodes = nodes
        return np.stack([self._model.row(after) for after in nodes])

    def commit(self, kept: Sequence[int]) -> None:
        """Keep the history down to the last of these nodes, a path from the root. None is a rollback.

        Raises:
            UsageError: a node that the round does not have.
        """
        wrong = [node for node in kept if not 0 <= node < len(self._nodes)]
        if wrong:
            raise UsageError(f"node {wrong[0]} is to be kept; the round has {len(self._nodes)} nodes")
        if len(kept):
            self.committed = self._nodes[kept[-1]]
        self._nodes = []

    def fork(self) -> RecurrentCache:
        """Another request with the same history. Snapshots are never written to, so they may be shared.

        Raises:
            UsageError: a round that is not committed.
        """
        self._refuse_round()
        return RecurrentCache(self._model, self.committed)

    def _refuse_round(self) -> None:
        if self._nodes:
            raise UsageError(f"a round of {len(self._nodes)} nodes is not committed")


def _sum(residues: Int[np.ndarray, "terms width"]) -> Vector:
    return np.asarray(residues.sum(axis=0) % P)  # fewer than 2^32 terms below 2^31


def _cube(x: Vector) -> Vector:
    return np.asarray(x * x % P * x % P)
