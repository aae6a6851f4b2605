"""What ground truth must offer to a judge. Every implementation runs whole token sequences in order; none sees a tree."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec
import numpy as np
from jaxtyping import Float

from tree_oracle.record.limits import Continuation, Limits
from tree_oracle.record.round import LayerRows


class Grade(StrEnum):
    """Where the truth comes from. C and D cannot see a fault that both arms share."""

    EXACT = "A"  # the exact model
    INDEPENDENT = "B"  # an independent implementation of the same weights
    SAME_ENGINE = "C"  # the same engine with speculation off
    RECORDED = "D"  # rows that came with the record


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far rows of this target may differ without any fault, as measured, in logits.

    Rule: error of a tree row <= 2 x ``sequential`` + ``control``. ``wrong_history`` is the smallest change that one wrong
    token in the history made: the rule has power while it is larger than ``allowed``. All zero on the exact model, where
    ``allowed`` is 0 and rows are compared bit for bit: it needs no power.
    """

    sequential: float = 0.0  # largest error of the plain pass in the target's dtype against float64
    control: float = 0.0  # largest change between runs without any tree: repeated, batched, over a cached prefix
    wrong_history: float = 0.0
    # The room of a cache entry: 2 x (largest error of a cold run against float64), plus the largest change when the same
    # tokens are run in two pieces instead of one.
    cache: float = 0.0
    samples: int = 0  # control rows behind the figures
    origin: str = "measured on the spot"
    unusable: str = ""  # why the figures tell nothing, as the report says that they come from

    @property
    def allowed(self) -> float:
        """The largest difference from the float64 row that is not called a fault."""
        return 2 * self.sequential + self.control

    def by_chance(self, rows: int) -> float:
        """Of so many judged rows, how many exceed the largest of the control rows without any fault: about N / (n + 1).

        Judged and control rows are then drawn alike, so each is as likely as any other to be the largest. What is allowed is
        more than that largest one, so the figure is an upper one.
        """
        return rows / (self.samples + 1)

    @property
    def has_power(self) -> bool:
        """Every wrong history that was tried moved its row by more than is allowed, so rows that agree are evidence."""
        return not self.unusable and self.wrong_history > self.allowed

    @property
    def powerless(self) -> str:
        """Why rows that agree are no evidence; empty if they are."""
        if self.has_power:
            return ""
        return self.unusable or (
            f"{self.allowed:.3g} logits are allowed and one wrong token in the history moved a row by only "
            f"{self.wrong_history:.3g}"
        )


class Truth(Protocol):
    """Sequential runs of one target."""

    @property
    def grade(self) -> Grade: ...

    @property
    def exact(self) -> bool:
        """Rows are bit-equal in every correct implementation, so they are compared bit for bit."""
        ...

    @property
    def vocab_size(self) -> int: ...

    def rows(self, histories: Sequence[Sequence[int]]) -> Float[np.ndarray, "k vocab"]:
        """For each whole token sequence the row after its last token: float64, from a float64 run where not exact."""
        ...

    def greedy(self, prompt: Sequence[int], limits: Limits) -> Continuation:
        """Plain greedy decoding; among bit-equal maxima the smallest token id."""
        ...

    def cache(self, tokens: Sequence[int]) -> tuple[LayerRows, ...]:
        """The cache after an ordinary cold run over ``tokens``, in the target's own dtype (widened to float32)."""
        ...

    def reaches(self) -> tuple[int | None, ...]:
        """Of each layer of the cache, how many of the newest rows the next token can see; None: all."""
        ...

    def noise(self) -> Noise:
        """The measured noise floor, measured once and kept."""
        ...

    def error(self, history: Sequence[int]) -> float:
        """How far the row after ``history`` of the plain pass is off, in the target's dtype: the largest difference from the
        float64 row up to a constant shift. 0 where exact."""
        ...

    def cache_room(self, tokens: Sequence[int]) -> float:
        """What ``noise().cache`` is for all texts, measured for this one. 0 where exact."""
        ...
