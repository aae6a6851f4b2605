"""How much a tree is expected to be followed (TreeSpark, Eq. 12; DDTree, Proposition 1).

Let Y be drawn from a law P and let A be the depth of the deepest prefix of Y in a prefix-closed tree with distinct siblings. A
is at least d exactly when the first d tokens of Y are a node of depth d, and such nodes are disjoint events, so

    E[A] = sum over d of P(A >= d) = sum over all nodes below the root of P(their path)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tree_oracle.construct.laws import History, histories_of
from tree_oracle.tree import CandidateTree


def expected_accepted(tree: CandidateTree, law: Callable[[History, int], Fraction]) -> Fraction:
    """E[A], exactly, where ``law`` gives the probability of a token after a history, the root's token first in it."""
    reached: list[Fraction] = [Fraction(1)]
    histories = histories_of(tree)
    for history, parent in zip(histories[1:], tree.parents.tolist()[1:], strict=True):
        reached.append(reached[parent] * law(history[:-1], history[-1]))
    return sum(reached[1:], Fraction(0))
