"""What a draft may look at when it proposes the next token, and how every policy asks it.

| draft | sees | published examples |
| --- | --- | --- |
| ``MarginalDraft`` | the depth | Medusa, DFlash, DDTree: one law for all nodes of a level |
| ``Draft`` | the depth and the parent's token | TreeSpark, DSpark: the first-order Markov head |
| ``PathDraft`` | every token from the root on | EAGLE, Sequoia, SpecInfer: an autoregressive draft model |

Each kind is a case of the next one. A policy takes any of them and asks through ``Laws`` by a node's *history*: the tokens
from the root's to the node's own. Histories in which a draft sees the same are one question, asked once.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.draft import Draft, Law
from tree_oracle.construct.invalid import InvalidDraft
from tree_oracle.construct.top import top
from tree_oracle.record import UsageError
from tree_oracle.tree import CandidateTree

History: TypeAlias = tuple[int, ...]  # the root's token first, the node's own last

# Far below what any probability in use has, and so far above the least float64 that no path's sum becomes -inf, which stands
# for what is never proposed: a mask of the least finite number would.
_LOWEST = -1e300


class Sight(Enum):
    """What a draft looks at: each sees what the one before it sees, and more."""

    DEPTH = "the depth"
    PARENT = "the depth and the parent's token"
    PATH = "every token from the root on"


def histories_of(tree: CandidateTree) -> list[History]:
    """The history of each node, by slot."""
    histories: list[History] = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        histories.append((*histories[parent], token) if parent >= 0 else (token,))
    return histories


@runtime_checkable
class PathDraft(Protocol):
    """Anything that proposes tokens one at a time and may look at the whole path."""

    def log_probs_after(self, history: History) -> Law:
        """Log-probability of every token at depth ``len(history)``, below the node of this history.

        -inf stands for a token that is never proposed. The same question always gets the same answer.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MarginalDraft:
    """A draft that has one law for each depth, whatever stands above: the product law of block and multi-head drafts.

    Raises:
        InvalidDraft: ``laws`` is no table of at least one depth and one token.
    """

    laws: Float[np.ndarray, "depths vocab"]  # log-probabilities, depth 1 first

    def __post_init__(self) -> None:
        if self.laws.ndim != 2 or 0 in self.laws.shape:
            raise InvalidDraft(f"laws have shape {self.laws.shape}; expected (depths, vocab)")

    def log_probs(self, depth: int, parent_token: int) -> Law:
        """See ``Draft``. The parent does not matter.

        Raises:
            UsageError: the draft has no such depth.
        """
        if not 1 <= depth <= len(self.laws):
            raise UsageError(f"depth is {depth}; expected 1 to {len(self.laws)}")
        law: Law = self.laws[depth - 1]
        return law


AnyDraft: TypeAlias = Draft | PathDraft


class Ranked(NamedTuple):
    """The most probable tokens of one law by the rule of ``tree_oracle.construct.top``, and their log-probabilities."""

    tokens: Int[np.ndarray, " m"]
    edges: Float[np.ndarray, " m"]


NOTHING = Ranked(np.zeros(0, dtype=np.int64), np.zeros(0))


class Laws:
    """The laws of one draft, checked; the best tokens of each are looked for once.

    Raises:
        InvalidDraft: the object has neither ``log_probs`` nor ``log_probs_after``.
    """

    def __init__(self, draft: AnyDraft) -> None:
        if not isinstance(draft, PathDraft) and not hasattr(draft, "log_probs"):
            raise InvalidDraft(f"a draft is {type(draft).__name__}; expected a method log_probs or log_probs_after")
        self._draft = draft
        self._ranked: dict[tuple[Hashable, int], Ranked] = {}

    def after(self, history: History) -> Law:
        """The law below the node of this history, float64.

        Raises:
            InvalidDraft: not one log-probability per token, NaN, above 0, or so low that sums along a path overflow.
        """
        if isinstance(self._draft, PathDraft):
            law = self._draft.log_probs_after(history)
        else:
            law = self._draft.log_probs(len(history), history[-1])
        return _checked(law, f"the law at depth {len(history)} after token {history[-1]}")

    def top(self, history: History, count: int) -> Ranked:
        """Its ``count`` most probable tokens, fewer where fewer are possible.

        Raises:
            InvalidDraft: as for ``after``.
        """
        asked = self._seen(history), count
        if asked not in self._ranked:
            # Lists are kept and laws are not: a thousand laws over 150,000 tokens would take more than a gigabyte.
            law = self.after(history)
            tokens = top(law, count)
            self._ranked[asked] = Ranked(tokens, law[tokens])
        return self._ranked[asked]

    def _seen(self, history: History) -> Hashable:
        """What the draft sees of a history: where this is equal the laws are, bit for bit."""
        if isinstance(self._draft, PathDraft):
            return history
        return len(history) if isinstance(self._draft, MarginalDraft) else (len(history), history[-1])


def edges_of(laws: Laws, ranked: Ranked, history: History, tokens: list[int]) -> list[float]:
    """Log-probabilities of these tokens; NaN, which equals nothing, for tokens that the draft does not have."""
    known = dict(zip(ranked.tokens.tolist(), ranked.edges.tolist(), strict=True))
    if not set(tokens) <= known.keys():
        law = laws.after(history)
        known = {token: float(law[token]) if token < len(law) else np.nan for token in tokens}
    return [known[token] for token in tokens]


def _checked(given: object, place: str) -> Law:
    law = _array(given, place)
    if law.ndim != 1 or law.dtype.kind != "f" or not len(law):
        raise InvalidDraft(f"{place} has shape {law.shape} and dtype {law.dtype}; expected one float per token")
    wrong = ~(law <= 0)
    if wrong.any():
        token = int(wrong.argmax())
        raise InvalidDraft(f"{place} gives token {token} log-probability {law[token]}; expected at most 0")
    law = law.astype(np.float64, copy=False)
    deep = (law < _LOWEST) & (law > -np.inf)
    if deep.any():
        token = int(deep.argmax())
        raise InvalidDraft(
            f"{place} gives token {token} log-probability {law[token]}, whose sums overflow; expected -inf for never"
        )
    return law


def _array(given: object, place: str) -> np.ndarray:
    try:
        return np.asarray(given)
    except (TypeError, ValueError) as error:
        raise InvalidDraft(f"{place} is a {type(given).__name__} that numpy cannot read: {error}") from error
