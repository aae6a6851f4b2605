"""What the processors must know of one text, as a small state that one token takes to the next.

A decoder does not go back to the beginning of the text for every node. It keeps sets, counts, the last few tokens and the state
of an automaton, one of each *per node*: a node's state is its parent's and one token more. That is what makes processors hard
to get right in a tree, so the reference does it in the same way, and it never shares a state between two branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from tree_oracle.record import Limits, Processors


@dataclass(frozen=True, slots=True)
class Rules:
    """What applies to one request: its processors, and of its limits the minimum length."""

    processors: Processors = field(default_factory=Processors)
    min_new: int = 0
    eos_ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, limits: Limits, processors: Processors | None) -> Rules:
        """The rules of a request."""
        return cls(processors or Processors(), limits.min_new, limits.eos_ids)

    @property
    def idle(self) -> bool:
        """Whether every row stays as it is."""
        return self.processors == Processors() and not (self.min_new and self.eos_ids)


@dataclass(frozen=True, slots=True)
class PathState:
    """What is known of a text. ``state`` is None once the automaton has had no move."""

    seen: frozenset[int] = frozenset()  # prompt and emitted tokens
    counts: Mapping[int, int] = field(default_factory=dict)  # emitted tokens
    tail: tuple[int, ...] = ()  # the last tokens, as many as may begin a sequence
    state: int | None = 0
    emitted: int = 0


def start(prompt: Sequence[int], rules: Rules) -> PathState:
    """The state after a prompt."""
    return PathState(frozenset(prompt), tail=_tail(tuple(prompt), rules.processors))


def follow(before: PathState, token: int, rules: Rules) -> PathState:
    """The state one emitted token later."""
    moves = rules.processors.grammar
    state = before.state
    if moves and state is not None:
        state = moves[state][token % len(moves[state])]
    counts = {**before.counts, token: before.counts.get(token, 0) + 1}
    tail = _tail((*before.tail, token), rules.processors)
    return PathState(before.seen | {token}, counts, tail, state, before.emitted + 1)


def follow_all(state: PathState, tokens: Iterable[int], rules: Rules) -> PathState:
    """The state behind all these tokens."""
    for token in tokens:
        state = follow(state, int(token), rules)
    return state


def _tail(text: tuple[int, ...], processors: Processors) -> tuple[int, ...]:
    return text[max(len(text) - processors.longest + 1, 0) :] if processors.longest > 1 else ()


def shaped(row: Float[np.ndarray, " vocab"], state: PathState, rules: Rules) -> Float[np.ndarray, " vocab"]:
    """The row as a token is chosen by it, in its own dtype. The order is that of ``tree_oracle.record.processors``."""
    found, processors = row.copy(), rules.processors
    for entry in processors.bias:
        if _stands(entry.sequence, state):
            found[entry.sequence[-1]] += entry.value
    _penalise(found, state, processors)
    for sequence in processors.banned:
        if _stands(sequence, state):
            found[sequence[-1]] = -np.inf
    if processors.grammar and state.state is not None:
        found[_closed(len(found), processors.grammar[state.state])] = -np.inf
    if state.emitted < rules.min_new:
        found[list(rules.eos_ids)] = -np.inf
    return found


def _stands(sequence: tuple[int, ...], state: PathState) -> bool:
    """Whether the text ends with all of a sequence but its last token."""
    begun = sequence[:-1]
    return not begun or state.tail[-len(begun) :] == begun


def _penalise(row: Float[np.ndarray, " vocab"], state: PathState, processors: Processors) -> None:
    if processors.repetition != 1.0:
        seen = sorted(state.seen)
        values = row[seen]
        row[seen] = np.where(values < 0, values * processors.repetition, values / processors.repetition)
    for token, count in state.counts.items():
        row[token] -= processors.frequency * count
        row[token] -= processors.presence


def _closed(vocab_size: int, moves: Sequence[int | None]) -> Bool[np.ndarray, " vocab"]:
    return np.array([move is None for move in moves])[np.arange(vocab_size) % len(moves)]
