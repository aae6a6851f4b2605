"""The work of one pass as trees grow: over N at a fixed depth, and over depth at a fixed N.

A tree of N nodes, root included, and depth B is a spine of B nodes with the others as leaves, spread over it from the root
down: there is one for 1 <= B <= N - 1, and the root alone. Of n rows behind c cached tokens a dense kernel computes n (c + n)
pairs, of which the block among nodes, n n, grows fourfold when N doubles; depth changes what is visible and nothing that is
computed.
"""

from __future__ import annotations

import msgspec

from tree_oracle.numerics.ledger import RoundWork
from tree_oracle.record import Case, Limits, TreeData, UsageError, counted


class SizeWork(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a target pass over a tree of this size held."""

    nodes: int
    depth: int
    work: RoundWork


def sized_parents(nodes: int, depth: int) -> tuple[int, ...]:
    """The parents of a tree of so many nodes, root included, and exactly this depth; a parent comes before its children.

    Raises:
        UsageError: there is no such tree.
    """
    if not (1 <= depth < nodes or (nodes, depth) == (1, 0)):
        raise UsageError(f"no tree of {counted(nodes, 'node')} has depth {depth}; expected 1 to {max(nodes - 1, 1)}")
    spine = range(-1, depth)
    return (*spine, *(leaf % depth for leaf in range(nodes - len(spine))))


def sized_case(nodes: int, depth: int, prefix: int, vocab_size: int) -> Case:
    """A session of one step over a tree of this size behind ``prefix`` tokens, the root included.

    Raises:
        UsageError: there is no such tree, or its siblings cannot be distinct.
    """
    if prefix < 1 or nodes > vocab_size:
        raise UsageError(
            f"{counted(nodes, 'node')} behind {counted(prefix, 'token')}; expected 1 token or more, and no more nodes than the "
            f"{vocab_size} of the vocabulary"
        )
    text = tuple((7 * place + 1) % vocab_size for place in range(prefix))
    tokens = (text[-1], *((node + 3) % vocab_size for node in range(1, nodes)))
    tree = TreeData(tokens, sized_parents(nodes, depth))
    return Case(prefix=text, trees=(tree,), limits=Limits(max_new_tokens=nodes + 1))
