"""When a generation ends, as one value handed to every decoder and to the plain loop alike.

Convention: the end token is emitted and is the last one emitted; so is the whole of a stop sequence, which is found in the
emitted tokens alone, never in the prompt. ``max_new_tokens`` counts every emitted token, those included; ``max_length``
bounds prompt plus emitted tokens. Where several hold at the same token, the reason is the first in the order of
``EndReason``. While fewer than ``min_new`` tokens are emitted no end token can be chosen: its logit is -inf, and the best of
the others is emitted. Stop sequences and caps end a text that is shorter than that all the same (transformers' convention).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

from tree_oracle.record.counted import counted
from tree_oracle.record.errors import UsageError
from tree_oracle.record.ranges import Count, Token

Sequence: TypeAlias = Annotated[tuple[Token, ...], msgspec.Meta(min_length=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where generation must stop. ``eos_ids`` may hold none, one or several end tokens.

    Raises:
        UsageError: a stop sequence without tokens, or one that is no tuple; a minimum below 0.
    """

    max_new_tokens: Count
    eos_ids: tuple[Token, ...] = ()
    max_length: Count | None = None
    stop: tuple[Sequence, ...] = ()  # the text ends as soon as its last tokens are one of these
    min_new: Count = 0  # as many tokens come before the first end token

    def __post_init__(self) -> None:
        if not isinstance(self.stop, tuple) or not all(isinstance(sequence, tuple) for sequence in self.stop):
            raise UsageError(
                f"stop is {self.stop!r}; expected a tuple of tuples of tokens"
            )  # a list would equal no text
        if () in self.stop:
            raise UsageError("a stop sequence is empty; expected at least one token in each")
        if self.min_new < 0:
            raise UsageError(f"min_new is {self.min_new}; expected 0 or more")


class EndReason(StrEnum):
    """Why nothing more is emitted."""

    EOS = "eos"
    STOP = "stop"  # a stop sequence is complete
    CAP = "cap"  # max_new_tokens reached
    CONTEXT = "context"  # max_length reached


class Continuation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens after a prompt, end token included, and why they end (None: they do not end here)."""

    tokens: tuple[int, ...]
    end: EndReason | None = None


def limit_words(limits: Limits) -> str:
    """Every limit that a text has, in words, and that it has no end token if there is none."""
    told = [f"at most {counted(limits.max_new_tokens, 'token')}"]
    told += [f"in a context of {limits.max_length}"] if limits.max_length is not None else []
    told += [f"end tokens {list(limits.eos_ids)}" if limits.eos_ids else "no end token"]
    told += [f"stop sequences {' '.join(str(list(sequence)) for sequence in limits.stop)}"] if limits.stop else []
    told += [f"at least {limits.min_new} before an end token"] if limits.min_new else []
    return ", ".join(told)
