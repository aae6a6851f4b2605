"""Approximate: Medusa's typical acceptance.

    x is typical  iff  p(x) > min(epsilon, delta exp(-H)),   H = -sum_x p(x) log(p(x) + 1e-5)
    accept the longest prefix of typical tokens over all paths, among equals the one of largest sum of log p, then the first;
    draw from p where it ends

Tokens are kept for being likely enough, not as often as they are likely. The entropy is taken in floats, which decides only
which tokens are typical: the law that follows is rational all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law
from tree_oracle.verify.rules.protocol import ROOT, DraftTree, Outcome, paths_of

_ENTROPY_SHIFT = 1e-5  # Medusa's own


@dataclass(frozen=True, slots=True)
class Typical:
    """The whole-tree rule with Medusa's default parameters.

    Raises:
        UsageError: a parameter is negative.
    """

    epsilon: float = 0.3
    delta: float = 0.09

    def __post_init__(self) -> None:
        if self.epsilon < 0 or self.delta < 0:
            raise UsageError(f"epsilon {self.epsilon} and delta {self.delta}; expected numbers that are not negative")

    def __call__(self, coin: Coin, tree: DraftTree) -> Outcome:
        """See ``TreeRule``."""
        prefixes = [self._typical_prefix(tree, path) for path in paths_of(tree)]
        path = max(prefixes, key=lambda path: (len(path), _log_score(tree, path)))
        return Outcome(path, tree.target(path[-1] if path else ROOT))

    def threshold(self, target: Law) -> float:
        """A token must be more probable than this."""
        entropy = -sum(float(p) * math.log(float(p) + _ENTROPY_SHIFT) for p in target.values)
        return min(self.epsilon, self.delta * math.exp(-entropy))

    def _typical_prefix(self, tree: DraftTree, path: tuple[int, ...]) -> tuple[int, ...]:
        for length, (parent, node) in enumerate(zip((ROOT, *path), path, strict=False)):
            target = tree.target(parent)
            if not target[tree.token(node)] > self.threshold(target):
                return path[:length]
        return path


def _log_score(tree: DraftTree, path: tuple[int, ...]) -> float:
    steps = zip((ROOT, *path), path, strict=False)
    return sum(math.log(tree.target(parent)[tree.token(node)]) for parent, node in steps)
