"""Numbers of other systems in the words of this project: budgets, depths, prefix lengths, accepted counts, positions.

This project counts candidates without the root, levels of candidates, prefix lengths with the root, and accepted
candidates without the bonus.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from tree_oracle.tree.candidate import CandidateTree
from tree_oracle.tree.formats.convention import AcceptCount, Budget, DepthParameter, Position, PrefixLength
from tree_oracle.tree.values import whole_number

_EXTRA_LEVELS = {DepthParameter.LEVELS: 0, DepthParameter.ONE_LESS: 1, DepthParameter.ONE_MORE: -1}


def candidates_of(budget: int, convention: Budget) -> int:
    """The most candidates, root excluded, that a system's budget allows.

    Raises:
        UsageError: no integer, or too small for the root alone.
    """
    root = int(convention is Budget.WITH_ROOT)
    return whole_number("budget", budget, at_least=root) - root


def budget_of(candidates: int, convention: Budget) -> int:
    """A number of candidates as the system counts it.

    Raises:
        UsageError: no integer of at least 0.
    """
    return whole_number("candidates", candidates, at_least=0) + int(convention is Budget.WITH_ROOT)


def levels_of(depth: int, convention: DepthParameter) -> int:
    """The levels of candidates that a system's depth parameter allows.

    Raises:
        UsageError: no integer, or fewer than no levels.
    """
    extra = _EXTRA_LEVELS[convention]
    return whole_number("depth", depth, at_least=max(0, -extra)) + extra


def prefix_len_of(length: int, convention: PrefixLength) -> int:
    """The number of committed tokens, the root among them.

    Raises:
        UsageError: no integer, or a prefix without a root.
    """
    missing = int(convention is PrefixLength.WITHOUT_ROOT)
    return whole_number("prefix length", length, at_least=1 - missing) + missing


def accepted_of(count: int, convention: AcceptCount) -> int:
    """The number of accepted candidates.

    Raises:
        UsageError: no integer, or fewer than no candidates.
    """
    extra = int(convention is AcceptCount.DRAFTS_AND_ONE)
    return whole_number("count", count, at_least=extra) - extra


def positions_of(
    tree: CandidateTree, prefix_len: int, convention: Position, *, limit: int | None = None
) -> Int[np.ndarray, " n"]:
    """The position of each node as the system writes it; ``limit`` clamps, as engines do at the context's end.

    Raises:
        UsageError: ``prefix_len`` or ``limit`` is no integer of at least 1.
    """
    cached = whole_number("prefix_len", prefix_len, at_least=1) - 1
    positions = tree.depths + (cached if convention is Position.ABSOLUTE else 0)
    if limit is not None:
        positions = np.minimum(positions, whole_number("limit", limit, at_least=1) - 1)
    return positions
