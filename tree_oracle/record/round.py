"""One round of speculative decoding (draft, verify, commit) as seen from outside.

Everything that a check sees is a ``Round``. Each source of rounds (tokens, tap, step record, driven methods, trace) fills
the fields it knows; only ``emitted`` is required. A check whose fields are missing is *not observable*.

Conventions: node 0 is the root, the last committed token, at depth 0 and position ``len(prefix) - 1``; slots are storage
order; the columns of ``visible`` are first the ``len(prefix) - 1`` cached tokens, then the nodes by slot.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tree_oracle.record.array import Array
from tree_oracle.record.limits import EndReason
from tree_oracle.record.ranges import Count, Number
from tree_oracle.record.tree_data import TreeData
from tree_oracle.record.work import Call, Peer, Work


class RowKind(StrEnum):
    """What the rows are declared to be. A constant shift of logits is no fault; of log-probabilities it is."""

    LOGITS = "logits"
    LOG_PROBABILITIES = "log-probabilities"
    PROBABILITIES = "probabilities"


class ScoreKind(StrEnum):
    """What a decoder's own score of a node is declared to be, always under the row of the node's parent."""

    PROBABILITY = "probability"
    LOG_PROBABILITY = "log-probability"
    LOGIT = "logit"


class DraftLaw(StrEnum):
    """How the siblings of one node were proposed."""

    DETERMINISTIC = "deterministic"
    INDEPENDENT = "independent draws"
    WITHOUT_REPLACEMENT = "draws without replacement in order"
    CUSTOM = "custom joint"


class LayerRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one layer of the cache holds for one request: heads x rows x width, keys and values."""

    keys: Array
    values: Array


class Attended(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an attention operator answered."""

    out: Array  # heads x n x width
    dtype: str = "float32"  # that it computed in, as it declares


class Round(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of one round. ``None`` means not shown, never zero."""

    emitted: tuple[Number, ...]  # tokens committed by this round in order, bonus last when it was emitted
    prefix: tuple[Number, ...] | None = None  # committed tokens before the round, root last
    tokens: tuple[Number, ...] | None = None  # per node, root first
    parents: tuple[Number, ...] | None = None  # per node, -1 for the root
    depths: tuple[Number, ...] | None = None
    positions: tuple[Number, ...] | None = None
    visible: Array | None = None  # bool, n x (len(prefix) - 1 + n), True where the row attends
    rows: Array | None = None  # float, n x vocabulary; row v is the law of the token after node v
    row_kind: RowKind = RowKind.LOGITS
    processed: Array | None = None  # float, n x vocabulary; row v after the processors, with the history of node v
    scores: Array | None = (
        None  # float64, one per node, the root's entry is ignored; may be -inf, which JSON numbers cannot be
    )
    score_kind: ScoreKind = ScoreKind.LOG_PROBABILITY
    draft_law: DraftLaw | None = None
    coins: tuple[float, ...] | None = None  # in [0, 1), in the order of use
    accepted: tuple[Number, ...] | None = None  # nodes followed, in path order, root excluded
    bonus: Number | None = None  # the target's own token where the path ends, whether or not it was emitted
    kept: tuple[Number, ...] | None = None  # nodes whose cache rows stay, in cache order
    cache: tuple[LayerRows, ...] | None = None  # the whole cache after the commit, layer by layer
    pools: tuple[Array, ...] | None = None  # every pool after a move, entry x element, integers; packed ones unpacked
    length: Number | None = None  # rows of the request after a move
    pages: tuple[Number, ...] | None = None  # its block table after a move
    attended: Attended | None = None  # from made-up queries, keys and values
    end: EndReason | None = None
    started_ns: Number | None = None
    ended_ns: Number | None = None
    rank: Count = 0
    request: Count = 0  # which request of a session, in the order of admission
    control: bool = False  # same weights, no tree: a floor may be taken from it
    calls: tuple[Call, ...] | None = None  # of the target, in order, while this round alone was under way
    work: Work | None = None
    pool: TreeData | None = None  # everything that was drafted, of which the tree is a part; root first
    peers: tuple[Peer, ...] | None = None  # the same round on the other ranks of the group
    kernel: str | None = None  # attention kernel seen to run
    graph: str | None = None  # captured graph replayed, if any
