"""A synthetic language in which one wrong or missing token anywhere before can change the next one.

    token_{t+1} = P[f_t][group(token_{t-5})](token_t)        f_t = 1 if the switch token stands anywhere in token_0 .. token_t

P holds 16 different permutations of the 56 words, two for each of 8 groups of words. So the next token needs the last one, the
one five places before it (found by position alone), and every token there is, since any of them could be the switch. The switch
is never produced, and acts as the first word where a word is asked for. A text begins with six tokens of free choice.

Of the 64 tokens 56 are words, one is the switch, six are twins, which stand in no text (``tree_oracle.kit.ties``), and the last
ends texts. A drafter is taught another language: the same, but after half of the words the permutation of the next group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

WORDS, GROUPS, FAR = 56, 8, 5
SWITCH = WORDS
TWINS = tuple(range(SWITCH + 1, 63))
END = 63
VOCAB = 64
FIRST = FAR + 1  # tokens of free choice

Tokens = Int[np.ndarray, "texts n"]


@dataclass(frozen=True, slots=True)
class Language:
    """The tables of one language."""

    moves: Int[np.ndarray, "2 groups words"]  # the permutations
    groups: Int[np.ndarray, " words"]
    misled: Int[np.ndarray, " words"]  # 1 after which words a drafter is taught the permutation of the next group

    @classmethod
    def of(cls, seed: int) -> Language:
        """The language of a seed; every one has the same grammar and other tables."""
        draw = np.random.default_rng([seed, 1])
        moves = np.stack([draw.permutation(WORDS) for _ in range(2 * GROUPS)]).reshape(2, GROUPS, WORDS)
        groups = draw.permutation(WORDS) % GROUPS
        misled = np.zeros(WORDS, dtype=np.int64)
        misled[draw.permutation(WORDS)[: WORDS // 2]] = 1
        return cls(moves, groups, misled)

    def next_tokens(self, texts: Tokens, *, misled: bool = False) -> Tokens:
        """The token due after each place of each text, from place ``FAR`` on.

        Args:
            texts: tokens below ``SWITCH`` + 1.
            misled: as a drafter is taught.

        Returns:
            texts x (n - FAR).
        """
        words = np.where(texts == SWITCH, 0, texts)
        switched = np.maximum.accumulate(texts == SWITCH, axis=1).astype(np.int64)[:, FAR:]
        now, group = words[:, FAR:], self.groups[words[:, : texts.shape[1] - FAR]]
        if misled:
            group = (group + self.misled[now]) % GROUPS
        found: Tokens = self.moves[switched, group, now]
        return found

    def texts(self, draw: np.random.Generator, count: int, length: int) -> Tokens:
        """Random words, half of the texts with one switch among the first tokens: every history is met, also wrong ones."""
        found: Tokens = draw.integers(0, WORDS, (count, length))
        with_switch = np.flatnonzero(draw.random(count) < 0.5)
        found[with_switch, draw.integers(0, FIRST, len(with_switch))] = SWITCH
        return found
