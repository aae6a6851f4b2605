"""What a cell is measured on: prefixes, trees and chains, made on the CPU from a seed, the same on every device.

An instance is one pass: ``batch`` prefixes of L tokens, each with a tree of ``width`` rows, root included. Shapes alternate
between chance (any earlier node is the parent: bushy, siblings and scattered branches), a chain and a star, which are the two
ends of what a mask can be. Beside each tree stands a *chain* of as many tokens behind the same prefix: the same amount of work
without any tree, on which the control rows run.

Wrong histories are the histories of nodes with one thing wrong, of four kinds:

    token      one token is another one
    dropped    one token is missing: an ancestor or a prefix column lost
    added      one token too many: a sibling that leaks through the mask
    swapped    two neighbouring tokens have changed places: positions by slot

A change that the model cannot see is no wrong history: where every layer has a window, changes lie within its reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree

History = tuple[int, ...]

KINDS = ("token", "dropped", "added", "swapped")
SHAPES = ("chance", "chance", "chain", "star")


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of a batch: a prefix, a tree whose root is the prefix's last token, and a chain of as many tokens."""

    prefix: History
    tree: CandidateTree
    chain: History

    @property
    def histories(self) -> list[History]:
        """The whole token sequence of each node, by following parents."""
        found: list[History] = [self.prefix]
        parents, tokens = self.tree.parents.tolist(), self.tree.tokens.tolist()
        for node in range(1, len(tokens)):
            found.append((*found[parents[node]], tokens[node]))
        return found


@dataclass(frozen=True, slots=True)
class Instance:
    """One tree pass."""

    shape: str
    lanes: tuple[Lane, ...]


def instances(seed: int, count: int, *, vocab: int, prefix: int, width: int, batch: int) -> list[Instance]:
    """``count`` instances; the same arguments give the same ones everywhere.

    Raises:
        UsageError: a prefix, width or batch below 1, or a vocabulary of fewer than two tokens.
    """
    for name, value, least in (
        ("prefix", prefix, 1),
        ("width", width, 1),
        ("batch", batch, 1),
        ("vocabulary", vocab, 2),
    ):
        if value < least:
            raise UsageError(f"{name} {value} is below {least}")
    draw = np.random.default_rng([seed, prefix, width, batch])
    found = []
    for number in range(count):
        shape = SHAPES[number % len(SHAPES)]
        found.append(Instance(shape, tuple(_lane(draw, shape, vocab, prefix, width) for _ in range(batch))))
    return found


def wrong_histories(
    seed: int, histories: Sequence[History], vocab: int, reach: int | None
) -> list[tuple[str, int, History]]:
    """Wrong histories, one of each kind for each history that has one: the kind, the history's number, the wrong history.

    ``reach``: as for ``target.reach.reach_of``.
    """
    draw = np.random.default_rng([seed, len(histories)])
    found = []
    for number, history in enumerate(histories):
        first = 0 if reach is None else max(len(history) - reach, 0)
        for kind in KINDS:
            wrong = _wrong(draw, kind, history, first, vocab)
            if wrong is not None and _seen(wrong, reach) != _seen(history, reach):
                found.append((kind, number, wrong))
    return found


def _seen(history: History, reach: int | None) -> History:
    """What a row after this history can depend on."""
    return history if reach is None else history[-reach:]


def _lane(draw: np.random.Generator, shape: str, vocab: int, prefix: int, width: int) -> Lane:
    text = tuple(draw.integers(0, vocab, prefix).tolist())
    parents = [-1, *(_parent(draw, shape, node) for node in range(1, width))]
    tokens = [text[-1], *draw.integers(0, vocab, width - 1).tolist()]
    return Lane(text, CandidateTree(tokens, parents), tuple(draw.integers(0, vocab, width).tolist()))


def _parent(draw: np.random.Generator, shape: str, node: int) -> int:
    if shape == "chain":
        return node - 1
    return 0 if shape == "star" else int(draw.integers(0, node))


def _wrong(draw: np.random.Generator, kind: str, history: History, first: int, vocab: int) -> History | None:
    """The history with one thing wrong at or after ``first``; None where that changes nothing."""
    at = int(draw.integers(first, len(history)))
    other = (history[at] + 1 + int(draw.integers(vocab - 1))) % vocab
    if kind == "token":
        return (*history[:at], other, *history[at + 1 :])
    if kind == "added":
        return (*history[:at], other, *history[at:])
    if at + 1 == len(history):
        return None  # the node's own token: without it the row is another node's, which is another kind of fault
    if kind == "dropped":
        return (*history[:at], *history[at + 1 :])
    swapped = (*history[:at], history[at + 1], history[at], *history[at + 2 :])
    return None if swapped == history else swapped
