"""Trees whose accepted path is chosen beforehand.

Whether a fault shows depends on *which* branch is accepted: the last child, a path of scattered slots, one that ends
at an inner node. Chance rarely accepts such a branch. So the shape and the ``goal`` are drawn first; the caller then
asks its target for the greedy tokens after the root and writes them along the path, and a greedy walk follows it.

Where equal siblings are allowed, one that is stored before a node of the path may come to hold the same token. The walk
then follows that one: the tokens are the scripted ones as far as it goes, the nodes are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tree_oracle.record import TreeData, UsageError
from tree_oracle.strategies.trees import candidate_trees
from tree_oracle.tree import CandidateTree


@dataclass(frozen=True, slots=True)
class ScriptedTree:
    """A tree in canonical form and the node where acceptance is to end; tokens on the path to it are placeholders."""

    parents: tuple[int, ...]
    tokens: tuple[int, ...]
    goal: int
    distinct_siblings: bool = False

    @property
    def path(self) -> tuple[int, ...]:
        """The nodes to be accepted, in path order: from below the root to the goal."""
        return CandidateTree(self.tokens, self.parents).path(self.goal)[1:]

    @property
    def goal_depth(self) -> int:
        """How many nodes are to be accepted."""
        return len(self.path)

    def to_data(self) -> TreeData:
        """The tree with its placeholders."""
        return TreeData(self.tokens, self.parents)

    def with_path_tokens(self, root_token: int, path_tokens: Sequence[int]) -> CandidateTree:
        """The tree with these tokens at the root and along ``path``.

        Where siblings must be distinct, a sibling that holds the scripted token gets the placeholder in exchange. A child
        of the goal may hold the target's next choice by chance; the walk then goes on beyond the goal.

        Raises:
            UsageError: not one token per node of the path.
            InvalidTree: a token is negative, or siblings that must be distinct were equal to begin with.
        """
        path = self.path
        if len(path_tokens) != len(path):
            raise UsageError(f"{len(path_tokens)} tokens for a path of {len(path)} nodes to node {self.goal}")
        tokens = [root_token, *self.tokens[1:]]
        for node, token in zip(path, path_tokens, strict=True):
            if self.distinct_siblings:
                self._make_way(tokens, node, token)
            tokens[node] = token
        return CandidateTree(tokens, self.parents, distinct_siblings=self.distinct_siblings)

    def _make_way(self, tokens: list[int], node: int, token: int) -> None:
        for sibling, parent in enumerate(self.parents):
            if parent == self.parents[node] and tokens[sibling] == token:
                tokens[sibling] = tokens[node]


def scripted_trees(
    *,
    vocab_size: int,
    max_nodes: int = 12,
    min_nodes: int = 1,
    max_depth: int | None = None,
    distinct_siblings: bool = False,
) -> st.SearchStrategy[ScriptedTree]:
    """A tree as from ``candidate_trees`` and any of its nodes as the goal; shrinks to the root as goal.

    Raises:
        UsageError: no tree meets the bounds.
    """

    def script(tree: CandidateTree, pick: int) -> ScriptedTree:
        # A number that is too large means the last node, so that a goal there stays there while nodes are taken away.
        goal = min(pick, len(tree) - 1)
        return ScriptedTree(tuple(tree.parents.tolist()), tuple(tree.tokens.tolist()), goal, distinct_siblings)

    trees = candidate_trees(
        vocab_size=vocab_size,
        max_nodes=max_nodes,
        min_nodes=min_nodes,
        max_depth=max_depth,
        distinct_siblings=distinct_siblings,
    )
    return st.builds(script, trees, st.integers(0, max_nodes - 1))
