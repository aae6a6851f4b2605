"""What a run was asked to try, and what came before a request: as much as it takes to have the same again."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tree_oracle.record.case import Case


class ToleranceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tolerance report that the noise floor was taken from, by its name and by its content."""

    path: str
    sha256: str


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a run was asked."""

    checks: tuple[str, ...] = ()  # in the order in which they ran; none: not known
    cases: int | None = None  # generated per check and seam; None: not known
    seed: int | None = None  # of these; None: the same cases every time
    tolerance: ToleranceFile | None = None  # None: the floor was measured on the spot
    device: str = ""
    dtype: str = ""
    attention: str = ""


class Earlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that the decoder answered before, and the seam that it came through."""

    seam: str
    case: Case


class Recurs(StrEnum):
    """Whether a failure is seen again on a new decoder."""

    ALONE = "alone"  # its case is enough
    AFTER_OTHERS = "after others"  # not alone, but after the earlier requests that are told
    NOT_SEEN = "not seen again"  # not alone, and no earlier requests were found that bring it back
