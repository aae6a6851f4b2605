"""Two ways to turn logits into the log-probabilities that a tree is scored by.

Training scores in single precision: a log-softmax in float32. Serving scores in the precision of its input (TreeSpark, D.4):
the logit is selected, the maximum subtracted and the difference exponentiated in bfloat16, and only the normaliser is summed
in float32:

    s(i) = bf16(z_i - max z) - log(sum over j of bf16(exp(bf16(z_j - max z))))

With 8 bits of precision many scores are equal, so near a boundary the two choose different sets of nodes, and neither is wrong.
What is committed cannot differ: the target decides it, and any prefix-closed tree gives the same greedy sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from jaxtyping import Float

from tree_oracle.construct.draft import Law
from tree_oracle.construct.invalid import InvalidDraft

Logits: TypeAlias = Float[np.ndarray, " vocab"]
Scorer: TypeAlias = Callable[[Logits], Law]


class LogitSource(Protocol):
    """A draft before its softmax, such as ``MarkovDraft``."""

    def logits(self, depth: int, parent_token: int) -> Logits:
        """As ``Draft.log_probs``, but any real numbers; -inf for a token that is never proposed."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A draft whose log-probabilities are what a scorer makes of its logits."""

    source: LogitSource
    scorer: Scorer

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """See ``Draft``.

        Raises:
            InvalidDraft: no token has a finite logit.
        """
        logits = self.source.logits(depth, parent_token)
        if not np.isfinite(logits.max()):
            raise InvalidDraft(f"the largest logit is {logits.max()}; expected a finite one")
        return self.scorer(logits)


def single_precision(logits: Logits) -> Law:
    """Log-softmax in float32."""
    shifted = logits.astype(np.float32) - np.float32(logits.max())
    return np.asarray(shifted - np.log(np.exp(shifted).sum(dtype=np.float32)))


def input_precision(logits: Logits) -> Law:
    """Select, subtract and exponentiate in bfloat16, normalise in float32. float32 that may be -inf."""
    given = bfloat16(logits)
    shifted = bfloat16(given - given.max())
    total = bfloat16(np.exp(shifted)).sum(dtype=np.float32)
    return np.asarray(shifted - np.log(total))


def bfloat16(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The nearest bfloat16 values, of two equally near ones the even one; as float32, which holds them exactly."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    odd = (bits >> 16) & 1
    rounded = ((bits + 0x7FFF + odd) >> 16) << 16
    return np.asarray(rounded.astype(np.uint32).view(np.float32))
