"""One explanation of one result that is not a pass."""

from __future__ import annotations

import msgspec

from tree_oracle.record.asked import Earlier, Recurs
from tree_oracle.record.case import Case
from tree_oracle.record.ranges import Count
from tree_oracle.record.status import Status


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was expected, what was seen, where, and how to see it again."""

    status: Status
    sentence: str  # one full sentence that names the fault
    expected: str = ""
    seen: str = ""
    round: Count | None = None
    node: Count | None = None
    drawing: str = ""  # the tree, the node marked
    of_commit: bool = False  # what is wrong may be the commit that the round starts from
    before: str = ""  # then, under a line of words, the tree of the round before, what was kept of it marked
    causes: tuple[str, ...] = ()  # suspects that show exactly the same on every case that they were tried on
    certain: bool = False  # the one cause was told apart from all other suspects on several cases
    uncertain: str = ""  # why no cause is certain, where any are named
    contradicted_by: Case | None = (
        None  # a case on which no suspect shows what the decoder does, where one fits the others
    )
    ruled_out: tuple[str, ...] = ()  # suspects that show something else
    diagnosed_on: Count = 0  # cases that the suspects were tried on
    case: Case | None = None
    replay: str = ""  # id of the case
    recurs: Recurs | None = None  # whether a new decoder fails on the case too; None: nobody tried
    earlier: tuple[Earlier, ...] = ()  # requests after which a new decoder fails on it, where it does not alone
