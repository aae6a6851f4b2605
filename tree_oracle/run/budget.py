"""How much is tried, and the two profiles.

``ci`` has no randomness: listed and frozen cases, the same in every run, with a digest to show for it. ``deep`` explores:
ten times as many cases from a fresh seed, which is printed and repeats the run.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from tree_oracle.record import UsageError

CI, DEEP = "ci", "deep"
PROFILES = (CI, DEEP)

_DEEPER = 10
_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is tried per check and source."""

    cases: int = 25  # generated, on top of the listed ones
    shrink_runs: int = 200
    diagnose: bool = True  # look for the one wrong part that would show the same
    seed: int | None = None  # None: the same cases every time


USUAL = Budget()


def profile_budget(profile: str | None, *, cases: int | None = None, seed: int | None = None) -> Budget:
    """The budget of a profile, with another number of cases or a given seed if one is given; None is ``ci`` without its name.

    Raises:
        UsageError: an unknown profile, or a seed for ``ci``.
    """
    if profile not in (None, *PROFILES):
        raise UsageError(f"profile {profile!r} is none of {', '.join(PROFILES)}")
    if profile == CI and seed is not None:
        raise UsageError(f"--profile ci judges the same cases every time, so it takes no seed; got {seed}")
    if profile != DEEP:
        return Budget(cases=USUAL.cases if cases is None else cases, seed=seed)
    return Budget(
        cases=_DEEPER * USUAL.cases if cases is None else cases,
        seed=secrets.randbelow(_SEEDS) if seed is None else seed,
    )
