"""Projects that give tokens or a count beside the nodes of an accepted path: all must say the same path, root first."""

from __future__ import annotations

from collections.abc import Sequence

from tree_oracle.record import DecoderError


def check_emitted(emitted: Sequence[int], path: Sequence[int], tokens: Sequence[int]) -> None:
    """Refuse an answer whose tokens are not those of its nodes; ``tokens`` are those of the whole tree.

    Raises:
        DecoderError: they are others, or a node is none of the tree's.
    """
    wrong = [node for node in path if not 0 <= node < len(tokens)]
    if wrong:
        raise DecoderError(f"node {wrong[0]} is kept; expected nodes 0 to {len(tokens) - 1}")
    due = [tokens[node] for node in path]
    if list(emitted) != due:
        raise DecoderError(f"tokens {list(emitted)} are given for nodes {list(path)}; expected {due}, which these hold")


def check_count(count: int, most: int, what: str) -> None:
    """Refuse a count of kept nodes that no buffer of ``most`` entries holds, instead of reading as many as there are.

    Raises:
        DecoderError: it is none of 1 to ``most``.
    """
    if not 1 <= count <= most:
        raise DecoderError(f"{what} says that {count} nodes are kept, the root among them; expected 1 to {most}")
