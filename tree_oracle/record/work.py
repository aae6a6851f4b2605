"""What a round cost, and what the ranks of a group hold of it: everything beside its own answer.

``Call`` is seen at the target from outside, ``Work`` is what the decoder says or what a counted draft saw. Counts by depth
begin with depth 1, the root's children.
"""

from __future__ import annotations

import msgspec

from tree_oracle.record.limits import EndReason
from tree_oracle.record.ranges import Count, Number


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call of the target during a round, seen at the model itself."""

    tokens: tuple[Number, ...]  # empty: not one row of token ids
    past: Count = 0  # rows of the cache that was handed in, 0 without one


class Work(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Counts of one round. ``None`` means not shown, never zero."""

    target_passes: Count | None = None
    draft_passes: Count | None = None  # of the draft's backbone
    stages: tuple[Count, ...] | None = None  # by depth, the parents that the draft's head was asked about
    packed: tuple[Count, ...] | None = None  # by depth, the candidates of the tree that was verified
    # What the decoder's own counters say of the tokens that are emitted here, in one round or, where it shows none, in several.
    rounds: Count | None = None  # that verified a draft
    drafted: Count | None = None
    accepted: Count | None = None


class Peer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The same round as another rank of the group has it. Fields as in ``Round``; what a rank does not show is ``None``."""

    rank: Count
    prefix: tuple[Number, ...] | None = None
    tokens: tuple[Number, ...] | None = None
    parents: tuple[Number, ...] | None = None
    accepted: tuple[Number, ...] | None = None
    bonus: Number | None = None
    emitted: tuple[Number, ...] | None = None
    kept: tuple[Number, ...] | None = None
    end: EndReason | None = None
