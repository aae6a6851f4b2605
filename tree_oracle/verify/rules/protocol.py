"""What a verification rule is: chance only from the coin, knowledge only from the laws.

A *node rule* decides at one node: which of the siblings, in the order in which they were proposed, is accepted, or from which
law the target's own token is drawn instead. A *whole-tree rule* decides over a drafted tree. ``Walk`` makes the second of the
first: it goes down while children are accepted, and at a node without children the target's own law is drawn from.

A verdict holds the law of the last token and not the token, unless the rule has drawn it already: then the caller makes the
last toss, and enumeration need not make it at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from tree_oracle.record import UsageError
from tree_oracle.verify.coin import Coin
from tree_oracle.verify.probabilities import Law

ROOT = 0
Bonus: TypeAlias = Law | int  # a law still to be drawn from, or the token itself


class Siblings(NamedTuple):
    """The children of one node."""

    tokens: tuple[int, ...]  # in the order in which they were proposed
    draft: Law  # what they were proposed from


class Verdict(NamedTuple):
    """What a node rule decided. Exactly one of the two is None."""

    child: int | None  # place among the siblings
    bonus: Bonus | None


class NodeRule(Protocol):
    """A rule for one node with at least one child."""

    def __call__(self, coin: Coin, target: Law, siblings: Siblings) -> Verdict: ...


class DraftTree(Protocol):
    """A drafted tree with the laws at its nodes; node 0 is the root. Children are drawn when they are first asked for."""

    def children(self, node: int) -> tuple[int, ...]:
        """The children of ``node`` in the order in which they were proposed."""
        ...

    def token(self, node: int) -> int: ...

    def target(self, node: int) -> Law:
        """The target's law of the token after ``node``."""
        ...

    def draft(self, node: int) -> Law:
        """The law that the children of ``node`` were proposed from."""
        ...


class Outcome(NamedTuple):
    """What a whole-tree rule decided."""

    accepted: tuple[int, ...]  # nodes in path order, the root excluded
    bonus: Bonus


class TreeRule(Protocol):
    """A rule over a whole drafted tree."""

    def __call__(self, coin: Coin, tree: DraftTree) -> Outcome: ...


def accepted(child: int) -> Verdict:
    """The sibling at place ``child`` is accepted."""
    return Verdict(child, None)


def drawn_from(bonus: Bonus) -> Verdict:
    """No sibling is accepted."""
    return Verdict(None, bonus)


def check_verdict(verdict: Verdict, siblings: Siblings) -> None:
    """Refuse the answer of a node rule that decides nothing.

    Raises:
        UsageError: both a child and a bonus, or neither, or a child that does not exist.
    """
    child, bonus, count = *verdict, len(siblings.tokens)
    if (child is None) == (bonus is None) or (child is not None and not 0 <= child < count):
        raise UsageError(f"the rule answered {verdict}; expected a child below {count}, or None and a bonus")


def paths_of(tree: DraftTree) -> list[tuple[int, ...]]:
    """The path to every leaf without the root, depth first in sibling order; draws the whole tree. The root alone is a leaf."""
    found, open_paths = [], [tuple[int, ...]()]
    while open_paths:
        path = open_paths.pop()
        children = tree.children(path[-1] if path else ROOT)
        if not children:
            found.append(path)
        open_paths += [(*path, child) for child in reversed(children)]
    return found


def token_of(coin: Coin, bonus: Bonus) -> int:
    """The bonus token, drawn now if it has not been."""
    return coin.draw(bonus) if isinstance(bonus, Law) else bonus


@dataclass(frozen=True, slots=True)
class Walk:
    """A node rule as a whole-tree rule."""

    rule: NodeRule

    def __call__(self, coin: Coin, tree: DraftTree) -> Outcome:
        """See ``TreeRule``.

        Raises:
            UsageError: the node rule decided nothing.
        """
        node, path = ROOT, list[int]()
        while children := tree.children(node):
            siblings = Siblings(tuple(map(tree.token, children)), tree.draft(node))
            verdict = self.rule(coin, tree.target(node), siblings)
            check_verdict(verdict, siblings)
            if verdict.bonus is not None:
                return Outcome(tuple(path), verdict.bonus)
            assert verdict.child is not None
            node = children[verdict.child]
            path.append(node)
        return Outcome(tuple(path), tree.target(node))
