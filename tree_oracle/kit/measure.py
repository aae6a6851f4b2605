"""What is measured of the models of a kit, always by plain runs of what lies on disk.

margin    by how many logits the chosen token leads, in float64, over the best that is not bit-equal to it
quiet     every margin along the text is at least factor x floor, the floor being that of ``record.Noise`` in the kit's format
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from tree_oracle.kit.language import FIRST, SWITCH, WORDS
from tree_oracle.kit.model import Count, Floor, Quiet, Tied
from tree_oracle.record import Limits
from tree_oracle.target import SequentialTruth, Target, load_target

LONGEST = 13  # tokens of a prompt
DTYPES = ("float64", "float32", "bfloat16")

_ALIKE = 8  # tokens of the text that two prompts are compared by

Text = tuple[int, ...]


def loaded(folder: Path, dtype: str = "float32") -> Target:
    """One of the checkpoints as every other target."""
    return load_target(f"dir:{folder}", dtype=dtype)


def floor_of(folder: Path, dtype: str) -> Floor:
    """The noise floor of a checkpoint in one number format."""
    return Floor(dtype, SequentialTruth(loaded(folder, dtype)).noise().allowed)


def candidates(seed: int) -> Iterator[Text]:
    """Prompts without end: 6 to 13 words, the first half of them with a switch in a place of its own."""
    draw = np.random.default_rng([seed, 4])
    while True:
        for size in range(FIRST, LONGEST + 1):
            prompt = draw.integers(0, WORDS, size)
            if draw.random() < 0.5:
                prompt[draw.integers(0, size)] = SWITCH
            yield tuple(prompt.tolist())


def rows_along(truth: SequentialTruth, prompt: Text, text: Text) -> Float[np.ndarray, "n vocab"]:
    """The row that each token of a text was chosen by, in float64."""
    return truth.rows([(*prompt, *text[:place]) for place in range(len(text))])


def margins_of(rows: Float[np.ndarray, "n vocab"], text: Text) -> tuple[float, ...]:
    """By how much each token leads over the best other logit that is not bit-equal; negative if it is not the choice."""
    found = []
    for row, token in zip(rows, text, strict=True):
        others = np.delete(row, np.flatnonzero(row == row[token]))
        found.append(float(row[token] - others.max()))
    return tuple(found)


def quiet_prompt(truth: SequentialTruth, prompt: Text, length: int) -> Quiet:
    """A prompt with its greedy text and margins."""
    text = truth.greedy(prompt, Limits(length)).tokens
    return Quiet(prompt, text, margins_of(rows_along(truth, prompt, text), text))


def tied_prompt(truth: SequentialTruth, prompt: Text, length: int, twins: Sequence[tuple[int, int]]) -> Tied:
    """A prompt with its texts under both tie rules; the second is the first with every twinned word replaced."""
    twin = dict(twins)
    text = truth.greedy(prompt, Limits(length)).tokens
    margins = margins_of(rows_along(truth, prompt, text), text)
    return Tied(prompt, text, tuple(twin.get(token, token) for token in text), margins)


def ties_hold(folder: Path, tied: Sequence[Tied], twins: Sequence[tuple[int, int]], dtype: str) -> bool:
    """Whether word and twin are the two bit-equal maxima at every tie, in single rows and in one wide pass over the text."""
    target, twin = loaded(folder, dtype), dict(twins)
    truth = SequentialTruth(target)
    for one in tied:
        whole = _wide(target.model, (*one.prompt, *one.largest))[len(one.prompt) - 1 : -1]
        histories = [(*one.prompt, *one.largest[:place]) for place in range(len(one.largest))]
        for rows in (truth.plain_rows(histories), whole):
            for row, token in zip(rows, one.smallest, strict=True):
                if np.flatnonzero(row == row.max()).tolist() != sorted({token, twin.get(token, token)}):
                    return False
    return True


def agreement(drafter: Target, quiet: Sequence[Quiet]) -> Count:
    """How often the drafter's own choice after the target's text is the target's."""
    found = of = 0
    for one in quiet:
        rows = _wide(drafter.model, (*one.prompt, *one.text))[len(one.prompt) - 1 : -1]
        found += int((rows.argmax(axis=1) == np.array(one.text)).sum())
        of += len(one.text)
    return Count(found, of)


def whole_prefix(target: Target, quiet: Sequence[Quiet]) -> Count:
    """In how many places of the prompts a switch (or a word, where one stood) changes the first tokens of the text."""
    found = of = 0
    for one in quiet:
        changed = [_with_other(one.prompt, place) for place in range(len(one.prompt))]
        texts = _greedy(target.model, changed, min(_ALIKE, len(one.text)))
        found += sum(text != one.text[: len(text)] for text in texts)
        of += len(changed)
    return Count(found, of)


def _with_other(prompt: Text, place: int) -> Text:
    return (*prompt[:place], SWITCH if prompt[place] != SWITCH else 0, *prompt[place + 1 :])


def _greedy(model: Any, prompts: Sequence[Text], length: int) -> list[Text]:
    """Greedy texts of equally long prompts, in one batch without a cache."""
    texts = torch.tensor(prompts)
    with torch.no_grad():
        for _ in range(length):
            texts = torch.cat([texts, model(texts, use_cache=False).logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return [tuple(text) for text in texts[:, len(prompts[0]) :].tolist()]


def _wide(model: Any, text: Text) -> Float[np.ndarray, "n vocab"]:
    """All rows of one ordinary pass."""
    with torch.no_grad():
        rows: Float[np.ndarray, "n vocab"] = model(torch.tensor([text]), use_cache=False).logits[0].double().numpy()
    return rows


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many prompts of each set, and how long their texts are."""

    prompts: int
    length: int


def choose_quiet(folder: Path, seed: int, wanted: Wanted, least: float, most: int) -> tuple[Quiet, ...]:
    """The first quiet prompts among ``most`` candidates."""
    truth, found = SequentialTruth(loaded(folder)), []
    for _, prompt in zip(range(most), candidates(seed), strict=False):
        one = quiet_prompt(truth, prompt, wanted.length)
        if len(one.text) == wanted.length and min(one.margins) >= least:
            found.append(one)
        if len(found) == wanted.prompts:
            break
    return tuple(found)


def choose_tied(
    folder: Path, seed: int, wanted: Wanted, least: float, most: int, twins: Sequence[tuple[int, int]]
) -> tuple[Tied, ...]:
    """The first prompts among ``most`` candidates with a tie in their texts and nothing else that is close."""
    truth, found = SequentialTruth(loaded(folder)), []
    for _, prompt in zip(range(most), candidates(seed + 1), strict=False):
        one = tied_prompt(truth, prompt, wanted.length, twins)
        if one.smallest != one.largest and len(one.smallest) == wanted.length and min(one.margins) >= least:
            found.append(one)
        if len(found) == wanted.prompts:
            break
    return tuple(found)
