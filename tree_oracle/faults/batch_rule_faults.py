"""Planted faults of sessions that several requests share: who leaves, and what was asked of each."""

from __future__ import annotations

from tree_oracle.decoder import BatchParts, Parts
from tree_oracle.faults import batch_rules
from tree_oracle.faults.fault import Fault

_LAST_LEAVES_FIRST = (
    "requests that leave together are taken out one after another, the last first",
    Parts(batch=BatchParts(stay=batch_rules.last_place_first)),
)
_ENDS_REVERSED = (
    "end tokens and stop sequences come in the opposite order",
    Parts(batch=BatchParts(rules=batch_rules.ends_in_any_order)),
)

BATCH_RULE_FAULTS = (
    Fault(
        "places-that-move-as-others-leave",
        "BATCH",
        "SESSION-01",
        "requests that leave together are taken out one after another, by places that have moved by then",
        "two requests that leave together, with another behind the first",
        "rows deleted in a loop over indices",
        Parts(batch=BatchParts(stay=batch_rules.places_that_move)),
        *_LAST_LEAVES_FIRST,
    ),
    Fault(
        "only-the-first-of-several-leaves",
        "BATCH",
        "SESSION-01",
        "of several requests that leave together only the first does",
        "two requests that leave together",
        "abort lists of which one entry is read per step",
        Parts(batch=BatchParts(stay=batch_rules.first_place_only)),
        *_LAST_LEAVES_FIRST,
    ),
    Fault(
        "processors-not-for-batches",
        "PATH-STATE",
        "PATHSTATE-02",
        "processors apply to a request that is alone, and to none of a batch",
        "processors, and two requests",
        "options that are dropped when requests are batched",
        Parts(batch=BatchParts(rules=batch_rules.without_processors)),
        *_ENDS_REVERSED,
    ),
    Fault(
        "stop-sequences-not-for-batches",
        "STOP",
        "SESSION-01",
        "stop sequences end a request that is alone, and none of a batch",
        "a stop sequence, and two requests",
        "stopping criteria that look at the first row only, or at none",
        Parts(batch=BatchParts(rules=batch_rules.without_stops)),
        *_ENDS_REVERSED,
    ),
    Fault(
        "minimum-not-for-batches",
        "STOP",
        "SESSION-01",
        "a minimum length applies to a request that is alone, and to none of a batch",
        "an end token that would come too early, and two requests",
        "options that are dropped when requests are batched",
        Parts(batch=BatchParts(rules=batch_rules.without_minimum)),
        *_ENDS_REVERSED,
    ),
    Fault(
        "context-not-for-batches",
        "STOP",
        "SESSION-01",
        "the room in the context ends a request that is alone, and none of a batch",
        "a context that is full before the cap, and two requests",
        "one length for the whole batch where each request has its own",
        Parts(batch=BatchParts(rules=batch_rules.without_context)),
        *_ENDS_REVERSED,
    ),
    Fault(
        "history-of-the-first-request",
        "PATH-STATE",
        "PATHSTATE-02",
        "the rows of every request of a batch are processed with the history of the first",
        "two requests with other prompts, and a penalty",
        "one processor object for the whole batch",
        Parts(batch=BatchParts(process=batch_rules.history_of_first)),
        "the requests are processed from the last to the first",
        Parts(batch=BatchParts(process=batch_rules.processed_from_last)),
    ),
)
