"""The parts of a round that keep a state per path: whose history a row is processed with, and what a round leaves behind.

Three places decide: the state at every node (``track``), what is done to the rows (``shape``), and the state from which
the next round starts (``carry``). A planted fault replaces exactly one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.decoder.path_state import PathState, Rules, follow, follow_all, shaped, start
from tree_oracle.record import Limits, Processors
from tree_oracle.tree import CandidateTree

Rows: TypeAlias = Float[np.ndarray, "n vocab"]


@dataclass(frozen=True, slots=True)
class Walked:
    """What a round came to: the nodes followed, and the tokens emitted by it."""

    accepted: tuple[int, ...]
    emitted: tuple[int, ...]


def track(rules: Rules, root: PathState, tree: CandidateTree) -> list[PathState]:
    """The state at every node: its parent's, and its own token."""
    states = [root]
    for node in range(1, len(tree)):
        states.append(follow(states[int(tree.parents[node])], int(tree.tokens[node]), rules))
    return states


def shape(rules: Rules, states: Sequence[PathState], tree: CandidateTree, rows: Rows) -> Rows:
    """Every row, processed with the state of its own node."""
    return np.stack([shaped(row, state, rules) for row, state in zip(rows, states, strict=True)])


def carry(rules: Rules, states: Sequence[PathState], tree: CandidateTree, walked: Walked) -> PathState:
    """The state after the round: the root's, and every emitted token. What was rejected leaves nothing."""
    return follow_all(states[0], walked.emitted, rules)


Track = Callable[[Rules, PathState, CandidateTree], list[PathState]]
Shape = Callable[[Rules, Sequence[PathState], CandidateTree, Rows], Rows]
Carry = Callable[[Rules, Sequence[PathState], CandidateTree, Walked], PathState]


@dataclass(frozen=True, slots=True)
class PathParts:
    """How a decoder keeps the history of every path."""

    track: Track = field(default=track)
    shape: Shape = field(default=shape)
    carry: Carry = field(default=carry)


class Path:
    """The history of one request, from round to round."""

    def __init__(self, parts: PathParts, prompt: Sequence[int], limits: Limits, processors: Processors | None) -> None:
        self._parts, self._rules = parts, Rules.of(limits, processors)
        self._root = start(prompt, self._rules)
        self._states: list[PathState] = []

    def processed(self, tree: CandidateTree, rows: Rows) -> Rows | None:
        """The rows as tokens are chosen by them; None where nothing applies."""
        if self._rules.idle:
            return None
        self._states = self._parts.track(self._rules, self._root, tree)
        return self._parts.shape(self._rules, self._states, tree, rows)

    def commit(self, tree: CandidateTree, walked: Walked) -> None:
        """The round is over."""
        if not self._rules.idle:
            self._root = self._parts.carry(self._rules, self._states, tree, walked)
