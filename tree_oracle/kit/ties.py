"""Exact ties by construction: a twin of a word has that word's row in the head and in the embedding, bit for bit.

So both logits are the same sum of the same products, whatever comes before; and whichever of the two is chosen, the text goes
on alike. The smaller id is the word, the larger its twin. Whether a kernel really gives both the same bits is measured.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from tree_oracle.kit.language import TWINS, WORDS


def twins_of(seed: int) -> tuple[tuple[int, int], ...]:
    """The pairs of words and twins, the same for a seed."""
    words = np.random.default_rng([seed, 3]).permutation(WORDS)[: len(TWINS)].tolist()
    return tuple(zip(words, TWINS, strict=True))


def tied_model(model: Any, pairs: tuple[tuple[int, int], ...]) -> Any:
    """A copy in which every twin is its word."""
    found = copy.deepcopy(model)
    with torch.no_grad():
        for part in (found.get_input_embeddings(), found.get_output_embeddings()):
            for word, twin in pairs:
                part.weight[twin] = part.weight[word]
    return found
