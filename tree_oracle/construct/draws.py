"""Children drawn at random, with coins that are a function of a seed and of the node.

Draws without replacement: with one uniform u per token, tokens in ascending order of the arrival times -log(u) / q are a
sequence of draws without replacement from q, in order (the exponential race, as Sequoia draws). In logarithms the key is

    log q - log(-log u)        descending

which does not underflow. One draw of this kind is a plain draw from q. Coins are fresh for every node, and a node is its
history: which other nodes exist cannot change what is drawn below it. Tokens of probability zero are never drawn.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from tree_oracle.construct.draft import Law
from tree_oracle.construct.laws import History
from tree_oracle.construct.top import top
from tree_oracle.record import UsageError
from tree_oracle.tree.values import whole_number


class Draw(Protocol):
    """Chooses the children of a node in place of its most probable tokens."""

    def __call__(self, law: Law, count: int, history: History) -> Int[np.ndarray, " m"]:
        """At most ``count`` distinct tokens in the order of the draws; the same question always gets the same answer."""
        ...


@dataclass(frozen=True, slots=True)
class WithoutReplacement:
    """Draws without replacement.

    Raises:
        UsageError: the seed is no integer of at least 0.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, at_least=0)

    def __call__(self, law: Law, count: int, history: History) -> Int[np.ndarray, " m"]:
        """See ``Draw``.

        Raises:
            UsageError: ``count`` is no integer of at least 0.
        """
        return drawn(law, self.coins(len(law), history), whole_number("count", count, at_least=0))

    def coins(self, vocab: int, history: History) -> Float[np.ndarray, " vocab"]:
        """One uniform in [0, 1) per token, for the children of the node of this history."""
        # A digest, because numpy takes (0,) and (0, 0) for one seed, and is slow to take in a long one.
        node = ",".join(map(str, (self.seed, *history)))
        digest = hashlib.blake2b(node.encode(), digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest)).random(vocab)


SEED_0 = WithoutReplacement(seed=0)  # what a policy that draws uses unless it is told otherwise


def draw_children(draw: Draw, law: Law, count: int, history: History) -> Int[np.ndarray, " m"]:
    """What ``draw`` answers, checked.

    Raises:
        UsageError: no integers, more than ``count``, equal ones, or a token that the law does not have or never proposes.
    """
    given = draw(law, count, history)
    tokens = np.asarray(given)
    if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
        raise UsageError(f"the draw after {history} gives {given!r}; expected a row of integers")
    tokens = tokens.astype(np.int64)
    inside = ((tokens >= 0) & (tokens < len(law))).all()
    if not inside or len(set(tokens.tolist())) != len(tokens) or len(tokens) > count or (law[tokens] == -np.inf).any():
        raise UsageError(
            f"the draw after {history} gives tokens {tokens.tolist()}; expected at most {count} different ones that the law "
            f"over {len(law)} tokens allows"
        )
    return tokens


def drawn(law: Law, coins: Float[np.ndarray, " vocab"], count: int) -> Int[np.ndarray, " m"]:
    """The tokens that come first in the race that these coins decide, in order; equal arrivals by ascending token id."""
    with np.errstate(divide="ignore"):
        times = -np.log(coins)  # in (0, inf]: a coin of 0 never arrives
        return top(law - np.log(times), count)
