"""Every published policy by name: what documentation and checks read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tree_oracle.construct import (
    caddtree,
    calibrated,
    chain,
    ddtree,
    eagle1,
    eagle2,
    jetspec,
    medusa,
    opttree,
    sequoia,
    specinfer,
    taps,
    treespark,
)
from tree_oracle.construct.published import Published
from tree_oracle.record import UsageError
from tree_oracle.record.names import by_name

_SINGLE = (
    treespark,
    calibrated,
    medusa,
    eagle1,
    eagle2,
    opttree,
    sequoia,
    specinfer,
    ddtree,
    caddtree,
    taps,
    jetspec,
)

POLICIES: Mapping[str, Published] = MappingProxyType(
    by_name((*(module.PUBLISHED for module in _SINGLE), *chain.PUBLISHED))
)


def find_policy(name: str) -> Published:
    """The entry of this name or alias.

    Raises:
        UsageError: there is none.
    """
    for entry in POLICIES.values():
        if name == entry.name or name in entry.aliases:
            return entry
    known = sorted({name for entry in POLICIES.values() for name in (entry.name, *entry.aliases)})
    raise UsageError(f"no policy {name!r}; expected one of {', '.join(known)}")
