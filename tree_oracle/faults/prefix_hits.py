"""Prefixes of two requests that are taken to be the same by less than all of their tokens, and a detour to the right way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Int

from tree_oracle.decoder.batch_parts import Share, Tokens

Alike = Callable[[Tokens, Tokens], bool]


def by(alike: Alike) -> Share:
    """Copy the longest stretch of cached rows whose tokens are alike in this way, from whichever request has it."""

    def share(place: int, texts: Sequence[Tokens], lengths: Int[np.ndarray, " rows"]) -> tuple[int, int]:
        due = texts[place][:-1]
        hits = [_longest(due, text[: int(length)], alike) for text, length in zip(texts, lengths, strict=True)]
        donor = max(range(len(hits)), key=hits.__getitem__)
        return donor, hits[donor]

    return share


def _longest(some: Tokens, others: Tokens, alike: Alike) -> int:
    counts = range(min(len(some), len(others)), 0, -1)
    return next((count for count in counts if alike(some[:count], others[:count])), 0)


def same_set(some: Tokens, others: Tokens) -> bool:
    """Fault: the same tokens, in whatever order."""
    return set(some) == set(others)


def same_ends(some: Tokens, others: Tokens) -> bool:
    """Fault: the same first and the same last token."""
    return some[0] == others[0] and some[-1] == others[-1]


def same_tokens(some: Tokens, others: Tokens) -> bool:
    """Twin: every token is the same, the last compared first."""
    return some[::-1] == others[::-1]
