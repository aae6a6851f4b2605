"""Rows after the processors, for whole token sequences: transformers' own processors where it has them, and one text at a time.

The order and the formulas are those of ``tree_oracle.record.processors``. Everything is computed anew from the whole text, so
there is no state that could be left over from anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import (
    LogitsProcessor,
    MinNewTokensLengthLogitsProcessor,
    NoBadWordsLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
)

from tree_oracle.record import Limits, Processors


def processed_rows(
    rows: Float[np.ndarray, "k vocab"],
    histories: Sequence[Sequence[int]],
    prompt: int,
    limits: Limits,
    processors: Processors,
) -> Float[np.ndarray, "k vocab"]:
    """The rows as a token is chosen by them, in the dtype of ``rows``.

    Args:
        rows: for each history the row after its last token.
        histories: whole texts; the first ``prompt`` tokens of each are the prompt.
        prompt: how many tokens of each history were not emitted.
        limits: of which the end tokens and ``min_new`` are looked at.
        processors: what applies.
    """
    chain = _chain(prompt, limits, processors)
    found = [_processed(row, history, chain) for row, history in zip(rows, histories, strict=True)]
    return np.stack(found) if found else rows


def _processed(
    row: Float[np.ndarray, " vocab"], history: Sequence[int], chain: Sequence[LogitsProcessor]
) -> Float[np.ndarray, " vocab"]:
    ids, scores = cast(torch.LongTensor, torch.tensor([list(history)])), torch.from_numpy(row.copy())[None]
    for processor in chain:
        scores = cast(torch.FloatTensor, processor(ids, scores))
    return np.asarray(scores[0].numpy())


def _chain(prompt: int, limits: Limits, processors: Processors) -> list[LogitsProcessor]:
    chain: list[LogitsProcessor] = []
    if processors.bias:
        chain.append(SequenceBiasLogitsProcessor([[list(b.sequence), b.value] for b in processors.bias]))
    if processors.repetition != 1.0:
        chain.append(RepetitionPenaltyLogitsProcessor(processors.repetition))
    if processors.frequency or processors.presence:
        chain.append(_Counted(prompt, processors.frequency, processors.presence))
    if processors.banned:
        chain.append(NoBadWordsLogitsProcessor([list(sequence) for sequence in processors.banned]))
    if processors.grammar:
        chain.append(_Grammar(prompt, processors.grammar))
    if limits.min_new and limits.eos_ids:
        chain.append(MinNewTokensLengthLogitsProcessor(prompt, limits.min_new, list(limits.eos_ids)))
    return chain


class _Counted(LogitsProcessor):
    """Frequency and presence penalties over the emitted tokens."""

    def __init__(self, prompt: int, frequency: float, presence: float) -> None:
        self._prompt, self._frequency, self._presence = prompt, frequency, presence

    def __call__(self, input_ids: Int[Tensor, "1 t"], scores: Float[Tensor, "1 vocab"]) -> Float[Tensor, "1 vocab"]:
        counts = torch.bincount(input_ids[0, self._prompt :], minlength=scores.shape[-1]).to(scores.dtype)
        return scores - self._frequency * counts - self._presence * (counts > 0).to(scores.dtype)


class _Grammar(LogitsProcessor):
    """What the automaton does not allow after the emitted tokens."""

    def __init__(self, prompt: int, moves: tuple[tuple[int | None, ...], ...]) -> None:
        self._prompt, self._moves = prompt, moves

    def __call__(self, input_ids: Int[Tensor, "1 t"], scores: Float[Tensor, "1 vocab"]) -> Float[Tensor, "1 vocab"]:
        state: int | None = 0
        for token in input_ids[0, self._prompt :].tolist():
            state = None if state is None else self._moves[state][token % len(self._moves[state])]
        if state is None:
            return scores
        moves = self._moves[state]
        closed = torch.tensor([move is None for move in moves])[torch.arange(scores.shape[-1]) % len(moves)]
        return scores.masked_fill(closed, -torch.inf)
