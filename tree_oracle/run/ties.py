"""Which tie rule a decoder follows: the one it declares, or the one that its own plain run shows.

A decoder declares ``tie_rule`` as ``"smallest id"`` or ``"largest id"``, or offers ``plain(prompts, limits)``, its own decoding
without speculation, from which the rule is read wherever rows tie bit for bit. Without either, or where ``plain`` is not
implemented, the smallest id is the rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tree_oracle.checks import answers
from tree_oracle.checks.guard import call, protect
from tree_oracle.record import AdapterError, DecoderError, Limits, TieRule, Truth, Unsupported

_EXPECTED = (
    "a method plain(prompts, limits) is taken for the decoder's own run without speculation, one list of tokens per prompt, by "
    "which its tie rule is told; expected that, another name for it, or a declared tie_rule"
)
_PROMPTS = ((1, 2, 3), (5, 8), (4,), (9, 7, 6, 5))
_LENGTH = 12


def tie_rule_of(decoder: Any, truth: Truth) -> TieRule:
    """The decoder's tie rule.

    Raises:
        AdapterError: ``tie_rule`` is no rule that there is, or ``plain`` does not answer as the plain run of a decoder.
        DecoderError: the plain run mixes rules.
    """
    declared = getattr(decoder, "tie_rule", None)
    if declared is not None:
        try:
            return TieRule(declared)
        except ValueError as error:
            raise AdapterError(f"tie_rule is {declared!r}; expected one of {', '.join(TieRule)}") from error
    if not callable(getattr(decoder, "plain", None)):
        return TieRule.SMALLEST
    try:
        return _read_from_plain_runs(decoder, truth)
    except Unsupported:  # a stub
        return TieRule.SMALLEST


def _read_from_plain_runs(decoder: Any, truth: Truth) -> TieRule:
    fitting = set(TieRule)
    for prompt in _PROMPTS:
        text = _plain(decoder, prompt, truth.vocab_size)
        for place, token in enumerate(text):
            (row,) = truth.rows([(*prompt, *text[:place])])
            fitting &= _rules(token, row)
        if not fitting:
            raise DecoderError(f"the plain run on prompt {list(prompt)} breaks ties by no single rule")
    return TieRule.SMALLEST if TieRule.SMALLEST in fitting else TieRule.LARGEST


def _plain(decoder: Any, prompt: tuple[int, ...], vocab_size: int) -> tuple[int, ...]:
    def read() -> tuple[int, ...]:
        answer = call("plain", decoder.plain, [list(prompt)], Limits(_LENGTH))
        (entry,) = answers.sequence(answer, "plain", 1)
        return answers.tokens(entry, "plain", vocab_size)

    try:
        return protect("plain", read)
    except (AdapterError, DecoderError) as error:
        raise AdapterError(f"{error}; {_EXPECTED}") from error


def _rules(token: int, row: np.ndarray) -> set[TieRule]:
    """The rules under which this token may be chosen; a token that is no maximum says nothing of ties."""
    maxima = np.flatnonzero(row == row.max()).tolist()
    if len(maxima) < 2 or token not in maxima:
        return set(TieRule)
    return {rule for rule, best in ((TieRule.SMALLEST, maxima[0]), (TieRule.LARGEST, maxima[-1])) if token == best}
