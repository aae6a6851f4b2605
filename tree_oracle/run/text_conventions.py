"""How a decoder hands over texts, where it is not as the definition asks but in a usual way."""

from __future__ import annotations

from typing import Any

from tree_oracle.checks import answers
from tree_oracle.checks.guard import call, protect
from tree_oracle.checks.read_round import are_rounds
from tree_oracle.record import Limits, TreeOracleError
from tree_oracle.run.small_trees import SMALL
from tree_oracle.run.subject import Subject

_LIMITS = Limits(max_new_tokens=6)
_ONE = "one text is answered and not a list of texts: one entry is wanted for each prompt, so answer [tokens]"
_BEFORE = "the prompt stands before each text: answer the new tokens alone, without the prompt"


def text_hint(subject: Subject) -> str:
    """What ``generate`` seems to follow; empty where its answers are rounds, no texts, or texts of new tokens alone.

    On two prompts of unlike length, neither of which plain greedy decoding repeats behind itself.
    """
    told = [_told(subject, prompt) for prompt, _ in SMALL]
    if _ONE in told:
        return _ONE
    return _BEFORE if set(told) == {_BEFORE} else ""


def _told(subject: Subject, prompt: tuple[int, ...]) -> str:
    answer = call("generate", subject.decoder.generate, [list(prompt)], _LIMITS)
    return protect("generate", lambda: _read(answer, prompt, subject))


def _read(answer: Any, prompt: tuple[int, ...], subject: Subject) -> str:
    if _is_text(answer, subject):
        return _ONE
    (entry,) = answers.sequence(answer, "generate", 1)
    return _BEFORE if not are_rounds(entry) and _begins_with(entry, prompt, subject) else ""


def _is_text(answer: Any, subject: Subject) -> bool:
    try:
        answers.tokens(answer, "generate", subject.truth.vocab_size)
    except TreeOracleError:
        return False
    return len(answer) > 1


def _begins_with(text: Any, prompt: tuple[int, ...], subject: Subject) -> bool:
    """Whether the text repeats its whole prompt, which the right one does not."""
    right = subject.truth.greedy(prompt, _LIMITS).tokens
    shown = answers.tokens(text, "generate", subject.truth.vocab_size)
    return shown[: len(prompt)] == prompt != right[: len(prompt)]
