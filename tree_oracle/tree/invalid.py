"""What can be wrong with a tree handed in from outside, as one exception with a kind and the node at fault.

Of several faults in one input the first in the order of ``TreeFault`` is reported, so that a test can say which it
expects.
"""

from __future__ import annotations

from enum import StrEnum

from tree_oracle.record import TreeOracleError


class TreeFault(StrEnum):
    """The kinds of fault, in the order in which they are looked for."""

    DTYPE = "wrong dtype"  # anything but integers (tokens, parents) or real numbers (log-probabilities)
    LENGTH = "wrong length"  # not one-dimensional, or not one entry per node
    ORPHAN = "orphan"  # the parent is no slot of this tree
    SELF_PARENT = "self-parent"
    NO_ROOT = "no root"
    TWO_ROOTS = "two roots"
    CYCLE = "cycle"
    TOKEN = "token out of range"
    DUPLICATE_SIBLINGS = "duplicate siblings"
    LOG_PROBABILITY = "log-probability out of range"
    PARENT_AFTER_CHILD = "parent after child"  # a tree, but not in canonical form


class InvalidTree(TreeOracleError, ValueError):
    """A tree that is none, or is not in the form asked for."""

    def __init__(self, kind: TreeFault, node: int | None, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.node = node  # the node at fault, by its slot as handed in; None: no single node is
        self.detail = detail

    def __reduce__(self) -> tuple[type[InvalidTree], tuple[TreeFault, int | None, str]]:
        return InvalidTree, (self.kind, self.node, self.detail)
