"""Greedy verification: walk the tree along the target's own choices.

Law (TreeSpark, Proposition 2). Let ``rows[v]`` be the target's next-token scores after the path through node ``v``,
equal to those of a sequential run on that path, and let both decoders break ties alike. Then for *any* prefix-closed
tree

    walk(tree, rows).emitted(tree)  ==  the first tokens of plain greedy decoding.

The tree decides only *how many* tokens one round emits, never *which*.

Ties go to the smallest token id. Of equal siblings the first by slot is followed. They share their history but not
their subtrees, so another choice among them may match more: ``longest`` is the most that any choice would have
matched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tree_oracle.tree import CandidateTree
from tree_oracle.verify.rows import check_rows

ROOT = 0


@dataclass(frozen=True, slots=True)
class Walk:
    """The outcome of one greedy verification."""

    accepted: tuple[int, ...]  # nodes in path order, root excluded
    bonus: int  # the target's choice where the path ends
    longest: (
        int  # nodes that the best choice among equal siblings would have accepted; len(accepted) where none are equal
    )

    def emitted(self, tree: CandidateTree) -> tuple[int, ...]:
        """The tokens that the round commits: the accepted ones, then the bonus."""
        return (*(int(tree.tokens[node]) for node in self.accepted), self.bonus)


def walk(tree: CandidateTree, rows: Float[np.ndarray, "n vocab"]) -> Walk:
    """Follow the child that equals the argmax of its parent's row; stop where there is none.

    Raises:
        InvalidRows: the rows do not fit the tree, or one holds a NaN or nothing but -inf, visited or not.
    """
    check_rows(tree, rows)
    choices = rows.argmax(axis=1).tolist()  # the first of equal maxima: the smallest token id
    here, accepted = ROOT, []
    while matching := _matching(tree, here, choices[here]):
        here = matching[0]
        accepted.append(here)
    return Walk(tuple(accepted), choices[here], _longest(tree, choices))


def _matching(tree: CandidateTree, node: int, choice: int) -> list[int]:
    return [child for child in tree.children(node) if tree.tokens[child] == choice]


def _longest(tree: CandidateTree, choices: list[int]) -> int:
    reached, length = [ROOT], 0
    while reached := [child for node in reached for child in _matching(tree, node, choices[node])]:
        length += 1
    return length
