"""Choosing checks by id or family. A filter that matches nothing is an error that names what is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tree_oracle.checks.check import CHECKS, Check
from tree_oracle.record import UsageError


def choose(ids: Sequence[str] = (), families: Sequence[str] = ()) -> tuple[Check, ...]:
    """The checks named by id or family, by rung, then id; all of them if nothing is named.

    Raises:
        UsageError: a name matches nothing.
    """
    known_families = sorted({found.family for found in CHECKS.values()})
    wanted = {_match(name, list(CHECKS), "check") for name in ids}
    groups = {_match(name, known_families, "family") for name in families}
    catalogue = sorted(CHECKS.values(), key=lambda found: (found.rung, found.id))
    if not wanted and not groups:
        return tuple(catalogue)
    return tuple(found for found in catalogue if found.id in wanted or found.family in groups)


def _match(name: str, known: Sequence[str], what: str) -> str:
    if name.upper() in known:
        return name.upper()
    near = get_close_matches(name.upper(), known, n=1, cutoff=0.0)
    raise UsageError(f"no {what} {name!r}; the nearest is {near[0]!r}")
