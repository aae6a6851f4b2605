"""From a case to what an operator is handed: aimed at single keys, or balanced over all of them."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tree_oracle.checks.attend_aimed import aimed
from tree_oracle.checks.attend_arrays import Inputs
from tree_oracle.checks.attend_balanced import balanced
from tree_oracle.record import Case, UsageError

_MOST = 2**24  # numbers in one array: no file makes us run out of memory
_RIGHT_WIDTHS = (16, 64, 128, 192, 256)


def inputs_of(case: Case) -> Inputs:
    """The arrays of one case, the same for all of its trees; float32, read-only."""
    return _inputs(msgspec.json.encode(case))


@lru_cache(maxsize=128)
def _inputs(encoded: bytes) -> Inputs:
    case = msgspec.json.decode(encoded, type=Case)
    assert case.attend is not None
    make = balanced if case.attend.bits else aimed
    return make(case.attend, case.trees[0].parents)


def refuse_misfit(case: Case) -> None:
    """A case file may hold anything, and what no operator could compute must not be held against one.

    Raises:
        UsageError: sizes that do not fit together.
    """
    sizes = case.attend
    if sizes is None or not case.trees:
        raise UsageError("a case for attend holds no sizes or no tree")
    counts = {len(tree.parents) for tree in case.trees}
    if len(counts) > 1:
        raise UsageError(f"the trees of a case for attend have {sorted(counts)} nodes; expected as many each")
    if min(sizes.prefix_len, sizes.heads, sizes.groups) < 1 or min(sizes.window, sizes.salt) < 0:
        raise UsageError(f"{sizes} holds a size that is too small")
    if sizes.width not in _RIGHT_WIDTHS or sizes.heads % sizes.groups:
        raise UsageError(
            f"heads of width {sizes.width}, {sizes.heads} over {sizes.groups} groups; expected a width of {_RIGHT_WIDTHS} "
            "and a multiple of the groups"
        )
    (n,) = counts
    if sizes.heads * (sizes.prefix_len + n) * max(sizes.width, n) > _MOST:
        raise UsageError(f"{n} rows over {sizes.prefix_len - 1 + n} keys in {sizes.heads} heads are too many")
