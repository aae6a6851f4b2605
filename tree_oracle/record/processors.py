"""What is done to a row before a token is chosen by it, and which tokens it depends on: those of one path.

With the prompt p, the emitted tokens e (those of a node's own path included, and nothing else), c(t) = how often t is in e:

    bias         l(t) += the values of the sequences that t would complete behind p e
    repetition   l(t) /= repetition where l(t) > 0, else l(t) *= repetition;     t in p e
    frequency    l(t) -= frequency c(t)
    presence     l(t) -= presence                                                t in e
    banned       l(t) = -inf      where t would complete a banned sequence behind p e
    grammar      l(t) = -inf      where the automaton, after e, has no move for t
    min_new      l(t) = -inf      for end tokens, while e has fewer than ``Limits.min_new`` tokens

in this order. Bias, repetition and banned sequences are transformers' processors of these names, which look at the prompt too;
frequency and presence follow the convention of the OpenAI interface and of vLLM, which count what was emitted.

The automaton starts in state 0 before the first emitted token. ``grammar[state][token % len(grammar[state])]`` is the
state after the token, or None where the token is not allowed: so small a table speaks of a vocabulary of any size. Behind
a token that was not allowed, where no text comes and a drafted branch may, the grammar rules nothing out.
"""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import msgspec

from tree_oracle.record.errors import UsageError
from tree_oracle.record.limits import Sequence

State: TypeAlias = tuple[int | None, ...]


class Bias(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is added to the logit of the last token of a sequence, where the others stand before it."""

    sequence: Sequence
    value: float


class Processors(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which processors apply, and with which values. The defaults change nothing.

    Raises:
        UsageError: a value that no processor takes: a penalty that is no finite float, a sequence that is empty or named
            twice, an automaton with ragged states, a state that allows nothing, or a move to a state that there is not.
    """

    repetition: Annotated[float, msgspec.Meta(gt=0)] = 1.0  # above 1: what was there before is made less likely
    frequency: float = 0.0
    presence: float = 0.0
    bias: tuple[Bias, ...] = ()
    banned: tuple[Sequence, ...] = ()
    grammar: tuple[State, ...] = ()

    def __post_init__(self) -> None:
        for name in ("repetition", "frequency", "presence"):
            _refuse_value(name, getattr(self, name))
        if not self.repetition > 0:
            raise UsageError(f"repetition is {self.repetition}; expected a number above 0")
        for entry in self.bias:
            _refuse_value("a bias", entry.value)
        _refuse_sequences("bias", tuple(entry.sequence for entry in self.bias))
        _refuse_sequences("banned", self.banned)
        _refuse_grammar(self.grammar)

    @property
    def applied(self) -> tuple[str, ...]:
        """The names of those that change something."""
        usual = Processors()
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) != getattr(usual, name))

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence; 0 where there is none."""
        return max(map(len, (*self.banned, *(entry.sequence for entry in self.bias))), default=0)


def _refuse_value(name: str, value: object) -> None:
    if not isinstance(value, float) or not math.isfinite(value):
        raise UsageError(f"{name} is {value!r}; expected a finite float")


def _refuse_sequences(name: str, sequences: tuple[object, ...]) -> None:
    for sequence in sequences:
        if not isinstance(sequence, tuple) or not sequence or not all(_is_token(token) for token in sequence):
            raise UsageError(f"{name} holds the sequence {sequence!r}; expected a tuple of one token or more")
    twice = [sequence for place, sequence in enumerate(sequences) if sequence in sequences[:place]]
    if twice:
        raise UsageError(f"{name} names the sequence {twice[0]!r} twice")


def _is_token(token: object) -> bool:
    return isinstance(token, int) and token >= 0


def _refuse_grammar(grammar: tuple[State, ...]) -> None:
    for number, state in enumerate(grammar):
        if not isinstance(state, tuple) or len(state) != len(grammar[0]) or not state:
            raise UsageError(f"state {number} of the grammar is {state!r}; expected one move per class of tokens")
        moves = [move for move in state if move is not None]
        if not moves:
            raise UsageError(f"state {number} of the grammar allows nothing")
        if any(not 0 <= move < len(grammar) for move in moves):
            raise UsageError(
                f"state {number} of the grammar moves to {moves}; there are states 0 to {len(grammar) - 1}"
            )
