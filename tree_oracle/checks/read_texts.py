"""Reading one text that was generated or recorded: its tokens alone, or its rounds, each behind those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tree_oracle.checks import answers
from tree_oracle.checks.guard import protect
from tree_oracle.checks.read_round import are_rounds, read_round
from tree_oracle.record import AdapterError, Round

_NAMED = 4  # keys of a mapping that are named


def read_rounds(
    rounds: Sequence[Round], prompt: tuple[int, ...], vocab_size: int, *, prompt_only: bool = False
) -> tuple[Round, ...]:
    """The rounds of one text that were recorded, read as those that ``generate`` answers: nobody is called, and nothing is
    copied to be compared afterwards.

    Args:
        prompt_only: for checks of whole texts. What was committed before it only the first round of a text shows, since over n
            rounds it takes n^2 tokens.

    Raises:
        AdapterError, DecoderError: as for ``read_text``.
    """
    read = read_text(list(rounds), prompt, vocab_size, prompt_only=prompt_only)
    return tuple(msgspec.structs.replace(round_, request=0) for round_ in read)


def read_text(entry: Any, prompt: tuple[int, ...], vocab_size: int, *, prompt_only: bool = False) -> tuple[Round, ...]:
    """Rounds if the decoder shows rounds; otherwise one round that knows nothing but its tokens.

    Raises:
        AdapterError: no text, or a round that cannot be read.
        DecoderError: reading it raised, or a row holds NaN.
    """
    return protect("generate", lambda: _text(entry, prompt, vocab_size, prompt_only))


def _text(entry: Any, prompt: tuple[int, ...], vocab_size: int, prompt_only: bool) -> tuple[Round, ...]:
    refuse_mapping(
        entry, "an entry of what generate answers is", "the new tokens of one prompt, or a list of its rounds"
    )
    if not are_rounds(entry):
        return (Round(emitted=answers.tokens(entry, "generate", vocab_size), prefix=prompt),)
    rounds: list[Round] = []
    for shown in answers.entries(entry, "generate", "rounds"):
        before = (None if prompt_only else _after(rounds[-1])) if rounds else prompt
        rounds.append(read_round(shown, before, None, vocab_size))
    return tuple(rounds)


def _after(round_: Round) -> tuple[int, ...]:
    return (*(round_.prefix or ()), *round_.emitted)


def refuse_mapping(answer: Any, what: str, expected: str) -> None:
    """A mapping has many tokens or rounds by name, of which nobody here knows which are meant.

    Raises:
        AdapterError: it is one.
    """
    if isinstance(answer, Mapping):
        names = ", ".join(repr(name)[:40] for name, _ in zip(answer, range(_NAMED), strict=False))
        raise AdapterError(f"{what} a {type(answer).__name__} with keys {names or 'none'}; expected {expected}")
