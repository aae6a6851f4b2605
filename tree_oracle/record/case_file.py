"""A case file: one case that a check failed on, how the failure was found, and whether a new decoder shows it again."""

from __future__ import annotations

import msgspec

from tree_oracle.record.asked import Asked, Earlier, Recurs
from tree_oracle.record.case import Case
from tree_oracle.record.round import Round

CASE_FORMAT = "tree-oracle-case"
CASE_VERSION = 1


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is needed to see one result again, and the rounds that were seen."""

    format: str = CASE_FORMAT
    version: int = CASE_VERSION
    check: str
    target: str
    decoder: str
    case: Case
    rounds: tuple[Round, ...] = ()
    sentence: str = ""  # what was found
    asked: Asked | None = None  # of the run in which it was found; None: not kept
    recurs: Recurs | None = None  # as in the finding
    earlier: tuple[Earlier, ...] = ()
